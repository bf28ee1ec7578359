/** What a node tells whoever watches it. Types only. */
import type { PeerIdentity, PeerMessage } from "../../../../src/net/index.js";
import type { Raft } from "../../../../src/raft/index.js";
import type { LogLevel } from "../../../../src/server/ports.js";
import type { DataDirectory } from "../../../../src/storage/index.js";
import type { CrashKind } from "../disk/node-disk.js";
import type { LogWatch } from "../disk/watched-log.js";
import type { SimNode } from "./sim-node.js";
import type { CoreWatch } from "./watched-core.js";

export interface NodeWatch {
  /** The directory is open, nothing runs on it yet. */
  onBoot(node: SimNode, directory: DataDirectory): void;
  onStarted(node: SimNode): void;
  /** Asked before its driver starts. */
  coreOf(node: SimNode, raft: Raft): CoreWatch;
  /** `isRefused`: its files are damaged for good. */
  onStartFailed(node: SimNode, error: unknown, isRefused: boolean): void;
  onCrash(node: SimNode, kind: CrashKind): void;
  /** It is down, and what it promised is not on its disk any more. */
  onWiped(node: SimNode): void;
  /** Behind `onWiped`: its disk is as it was at some time before. */
  onPutBack(node: SimNode): void;
  /** Behind `onWiped`: its directory is a fresh one, which waits to be told everything. */
  onRecovered(node: SimNode): void;
  /** Nothing is lost by it: it may be repeated. */
  onRecoveryFailed(node: SimNode, error: unknown): void;
  /** It lets in, or is let in by, a node that says this of itself. */
  onMet(node: SimNode, identity: PeerIdentity): void;
  /** Its driver cannot go on. `isRemoved`: because the cluster has other members now. */
  onFailed(node: SimNode, error: Error, isRemoved: boolean): void;
  /** A message of another node reached it. */
  onReceive(node: SimNode, message: PeerMessage): void;
  /** A turn of its loop ended. */
  afterTurn(node: SimNode): void;
  onLogged(node: SimNode, level: LogLevel, event: string, fields?: Record<string, unknown>): void;
  logOf(node: SimNode): LogWatch;
  /** It wrote a snapshot of everything up to `index`, with these members, encoded. */
  onSnapshot(node: SimNode, index: number, configuration: Uint8Array): void;
}
