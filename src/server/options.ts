/**
 * What starts a node: its options, which are the rows of one table (`src/node-options`), and what
 * only a program can give.
 */
import type { NodeSettings, NodeTuning } from "../node-options/index.js";
import type { NodeLogger } from "./ports.js";

export {
  type ClientLimits,
  type HostPort,
  NODE_TUNING_DEFAULTS,
  type NodeAddress as Founder,
  type NodeTuning,
} from "../node-options/index.js";

export type NodeOptions = NodeSettings & NodeMeans;

export interface NodeMeans {
  /**
   * Resolves to an access token for `join`, which a closed cluster needs unless this node has a TLS
   * certificate; called at each attempt. It is sent through TLS or to this machine only.
   */
  readonly joinToken?: () => Promise<string | undefined>;
  /** Ends a start that waits for other nodes. */
  readonly signal?: AbortSignal;
  readonly tuning?: Partial<NodeTuning>;
  readonly log?: NodeLogger;
}

/** A node that runs in this process. */
export interface RunningNode {
  readonly id: number;
  readonly endpoint: string;
  /** The port clients connect to, once it is known. */
  readonly clientPort: number;
  readonly peerPort: number;
  /** The port of Redis clients; 0 if it serves none. */
  readonly redisPort: number;
  /** The port that is a sentinel only; 0 if there is none. */
  readonly redisSentinelPort: number;
  /** Resolves when the node has ended: with the error that ended it, or undefined after `stop`. */
  readonly ended: Promise<Error | undefined>;
  /** Reads the TLS files again now. Does nothing without TLS. */
  reloadTls(): Promise<void>;
  /** Hands leadership over, sends clients to other nodes, and closes the files. */
  stop(): Promise<void>;
}
