/** What a node tells whoever watches it. Types only. */
import type { PeerMessage } from "../../../src/net/index.js";
import type { Raft } from "../../../src/raft/index.js";
import type { LogLevel } from "../../../src/server/ports.js";
import type { DataDirectory } from "../../../src/storage/index.js";
import type { CrashKind } from "./node-disk.js";
import type { SimNode } from "./sim-node.js";
import type { CoreWatch } from "./watched-core.js";
import type { LogWatch } from "./watched-log.js";

export interface NodeWatch {
  /** The directory is open, nothing runs on it yet. */
  onBoot(node: SimNode, directory: DataDirectory): void;
  onStarted(node: SimNode): void;
  /** Asked before its driver starts. */
  coreOf(node: SimNode, raft: Raft): CoreWatch;
  /** `isRefused`: its files are damaged for good. */
  onStartFailed(node: SimNode, error: unknown, isRefused: boolean): void;
  onCrash(node: SimNode, kind: CrashKind): void;
  /** It is down, and its disk is empty. */
  onWiped(node: SimNode): void;
  /** Its driver cannot go on. `isRemoved`: because the cluster has other members now. */
  onFailed(node: SimNode, error: Error, isRemoved: boolean): void;
  /** A message of another node reached it. */
  onReceive(node: SimNode, message: PeerMessage): void;
  /** A turn of its loop ended. */
  afterTurn(node: SimNode): void;
  onLogged(node: SimNode, level: LogLevel, event: string, fields?: Record<string, unknown>): void;
  logOf(node: SimNode): LogWatch;
}
