/** What a node has durably noted about the other nodes: the directory of each. */
import type { PeerIdentity } from "../../../../src/net/index.js";

export class PeerMemory {
  readonly #noted = new Map<number, PeerIdentity>();

  note(identity: PeerIdentity): void {
    this.#noted.set(identity.nodeId, identity);
  }

  forget(): void {
    this.#noted.clear();
  }

  birthOf(id: number): string | undefined {
    return this.#noted.get(id)?.birth;
  }

  /** 0: it was never seen. */
  startOf(id: number): number {
    return this.#noted.get(id)?.incarnation ?? 0;
  }

  /** Whether that node was on another directory, or later on the same one. */
  knowsBetter({ nodeId, birth, incarnation }: PeerIdentity): boolean {
    const noted = this.#noted.get(nodeId);
    if (noted === undefined) return false;
    return noted.birth !== birth || noted.incarnation > incarnation;
  }
}
