/**
 * Has it remembered, over restarts of this node, on which data the others came. A disk without room is
 * no reason to end for: what this process met it knows, and it is noted when there is room again.
 */
import type { PeerIdentity } from "../net/index.js";
import type { NodeId } from "../raft/index.js";
import type { DataDirectory } from "../storage/index.js";
import type { Logger } from "./ports.js";
import { isOutOfSpace } from "./snapshot-draft.js";

export class PeerNotes {
  readonly #directory: Pick<DataDirectory, "notePeer">;
  readonly #log: Logger;
  readonly #onFailure: (error: Error) => void;
  /** There was no room for these. */
  readonly #waiting = new Map<NodeId, PeerIdentity>();

  constructor(
    directory: Pick<DataDirectory, "notePeer">,
    log: Logger,
    onFailure: (error: Error) => void,
  ) {
    this.#directory = directory;
    this.#log = log;
    this.#onFailure = onFailure;
  }

  add(identity: PeerIdentity): void {
    this.#waiting.delete(identity.nodeId);
    this.#directory.notePeer(identity).catch((error: Error) => {
      if (isOutOfSpace(error)) this.#onFull(identity, error);
      else this.#onFailure(error);
    });
  }

  /** Tries again what there was no room for. */
  retry(): void {
    for (const identity of [...this.#waiting.values()]) this.add(identity);
  }

  #onFull(identity: PeerIdentity, error: Error): void {
    const { nodeId, incarnation } = identity;
    this.#log("warn", "peer not noted", { peer: nodeId, error: error.message });
    const later = this.#waiting.get(nodeId);
    if (later === undefined || later.incarnation < incarnation) this.#waiting.set(nodeId, identity);
  }
}
