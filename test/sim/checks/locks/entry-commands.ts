/** The commands of one entry, found by the messages that they caused. */
import type { TableCommand } from "../../../../src/lockfsm/index.js";
import {
  type AttachCommand,
  attachKeyOf,
  OP,
  type SequencedCommand,
} from "../../../../src/protocol/index.js";

export class EntryCommands {
  readonly #numbered = new Map<string, SequencedCommand>();
  readonly #attaches = new Map<string, AttachCommand>();
  /** Something in the entry takes holds away at once. */
  readonly isForcing: boolean;
  /** What is asked for by those who do not wait for what others hold. */
  readonly #stealing = new Set<string>();

  constructor(commands: readonly TableCommand[]) {
    let isForcing = false;
    for (const { session, epoch, command } of commands) {
      if (command === undefined) continue;
      if ("now" in command && command.now) isForcing = true;
      if (command.op === OP.acquire && command.options?.steal === true) {
        for (const { key } of command.items) this.#stealing.add(key);
      }
      if ("nonce" in command) this.#attaches.set(attachKeyOf(command), command);
      else if ("sequence" in command) {
        // A record of no session has a credential in place of the epoch; answers have neither.
        const name = `${session}/${session === 0 ? 0 : epoch}/${command.sequence}`;
        // Only the first of several copies may be executed.
        if (!this.#numbered.has(name)) this.#numbered.set(name, command);
      }
    }
    this.isForcing = isForcing;
  }

  /** What a reply to that number in that epoch says to have been executed. */
  executed(session: number, epoch: number, sequence: number): SequencedCommand | undefined {
    return this.#numbered.get(`${session}/${epoch}/${sequence}`);
  }

  /** Whether somebody in the entry steals one of these. */
  steals(keys: readonly string[]): boolean {
    return keys.some((key) => this.#stealing.has(key));
  }

  attach(key: string): AttachCommand | undefined {
    return this.#attaches.get(key);
  }
}
