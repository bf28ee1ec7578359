/**
 * The interface of a nemesis: one kind of fault that can be begun and ended. A custom nemesis is a
 * module that exports one of these as `nemesis`; `docs/jepsen-lite.md` shows how. It must decide by
 * `random` alone, so that a seed repeats its decisions.
 */
import type { RandomStream } from "../../lab/random-stream.js";
import type { ClientProcess } from "../clients/client-process.js";
import type { Network } from "../cluster/network.js";
import type { NodeProcess } from "../cluster/node-process.js";
import type { Volume } from "../cluster/volumes.js";
import type { Admin } from "../sdk.js";

export interface Nemesis {
  /** Lower-case words with hyphens. */
  readonly name: string;
  /** One line for `--help` and the report. */
  readonly about: string;
  /** It uses nothing specific to Holdfast, so peers can get it too; default: it may. */
  readonly isForPeers?: boolean;
  /** Only done on request, because some machines cannot do it; default: it is usual. */
  readonly isUnusual?: boolean;
  /** What every node has to be started with. */
  readonly needs?: "volumes" | "platters" | "paced-clocks";
  /**
   * Why it cannot be done on this machine, in one line; called before anything is started. A
   * requested nemesis that cannot be done ends the run.
   */
  refusal?(setting: NemesisSetting): Promise<string | undefined>;
  /** Begins the fault. Resolves when it is active. */
  begin(target: Target, random: RandomStream): Promise<Fault>;
}

/**
 * Thrown by a fault if the cluster does not do what an operator asks of it to begin or to end the fault,
 * however long it is asked. That is a result of the run, not a failure of it.
 */
export class StuckError extends Error {
  override readonly name = "StuckError";
}

/** What is known before there is a cluster. */
export interface NemesisSetting {
  readonly nodes: number;
  readonly network: "proxies" | "namespaces";
}

/** An active fault. */
export interface Fault {
  /** What was done to which process, for people: `kill -9 of node 2, the leader`. */
  readonly what: string;
  /** For damage to a file: its kind, and all kinds that there were to choose from. */
  readonly file?: DamagedFile;
  /** Ends it: everything that this fault changed is as before. Called once. */
  end(): Promise<void>;
}

/** `log/N.seg` is every segment of the log; `everything` is the whole directory. */
export interface DamagedFile {
  readonly kind: string;
  readonly kinds: readonly string[];
}

/** What can be attacked. */
export interface Target {
  readonly nodes: readonly NodeProcess[];
  /** The client processes as they are now; a killed one is replaced. */
  readonly clients: readonly ClientProcess[];
  readonly network: Network;
  readonly ttlMs: number;
  /** Aborted when the run must end: all waits end. */
  readonly signal: AbortSignal;
  /** The last leader that was seen. */
  readonly leaderId: number | undefined;
  /** Fewer than half of the nodes. */
  readonly minority: number;
  /** The next client that gets a grant, or `undefined` if none does within this time. */
  nextHolder(milliseconds: number): Promise<ClientProcess | undefined>;
  /** As `nextHolder`, for the next client that begins to hand a hold over, or to take one up. */
  nextHandOver(milliseconds: number): Promise<ClientProcess | undefined>;
  /** Kills the client and starts another one in its place. */
  replaceClient(client: ClientProcess): Promise<void>;
  /** Sends a request to the cluster; `undefined` if that failed or was refused. Not for peers. */
  admin<T>(work: (admin: Admin) => Promise<T>): Promise<T | undefined>;
  /** The access token of an identity that may do everything; `undefined`: the cluster is open. */
  readonly accessToken: string | undefined;
  /** File systems of limited size, if this machine allows them. */
  readonly volumes: readonly Volume[];
  /**
   * Reserves a node whose disk will be damaged, or returns `undefined` if no more nodes may be
   * damaged now. Call the returned function when the node is intact again.
   */
  reserve(id: number): (() => void) | undefined;
}
