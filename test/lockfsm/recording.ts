/** An outbox that keeps what was said, for comparison, and may pass it on. */
import type { Outbox } from "../../src/lockfsm/index.js";
import type { Attached, SessionMessage } from "../../src/protocol/index.js";

export type Said =
  | { readonly session: number; readonly epoch: number; readonly message: SessionMessage }
  | { readonly attached: Attached };

export class Recording implements Outbox {
  readonly said: Said[] = [];
  readonly #listener: Outbox | undefined;

  constructor(listener?: Outbox) {
    this.#listener = listener;
  }

  toSession(session: number, epoch: number, message: SessionMessage): void {
    this.said.push({ session, epoch, message });
    this.#listener?.toSession(session, epoch, message);
  }

  attached(message: Attached): void {
    this.said.push({ attached: message });
    this.#listener?.attached(message);
  }
}
