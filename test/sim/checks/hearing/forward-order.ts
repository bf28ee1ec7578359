/**
 * Nodes forward the commands of a connection to the leader in the order of their numbers,
 * however often they repeat them (docs/internals/semantics.md, 2.3). A number may be left out
 * only if its command was executed.
 */
import type { PeerMessage } from "../../../../src/net/index.js";
import { decodeCommands } from "../../../../src/protocol/index.js";
import type { Fail } from "../violation.js";

export class ForwardOrder {
  readonly #fail: Fail;
  readonly #highestOf: (session: number) => number;
  /** The last number that went from one node to another, by session and epoch. */
  readonly #last = new Map<string, number>();

  /** `highestOf`: the highest number of a session that was executed. */
  constructor(fail: Fail, highestOf: (session: number) => number) {
    this.#fail = fail;
    this.#highestOf = highestOf;
  }

  onSend(from: number, to: number, message: PeerMessage): void {
    if (message.type !== "forward") return;
    for (const { session, epoch, command } of decodeCommands(message.records, 0)) {
      if (session === 0 || command === undefined || !("sequence" in command)) continue;
      const name = `${from} to ${to}, session ${session}/${epoch}`;
      const { sequence } = command;
      const next = Math.max(this.#last.get(name) ?? 0, this.#highestOf(session)) + 1;
      if (sequence > next) {
        this.#fail("forwarded in order", `${name}: ${sequence} goes where ${next} must go`);
      }
      this.#last.set(name, sequence);
    }
  }
}
