/**
 * What clients sent under which number, compared with what was executed
 * (docs/internals/semantics.md, 1.6 and 2). A number stands for what was last sent under it in
 * its epoch, and a refused command is not executed. Calls take effect in the order in which they
 * were made, except that weak ones may pass strong ones.
 */
import { isStrong, type SequencedCommand } from "../../../../src/protocol/index.js";
import type { Said } from "../../clients/client-watch.js";
import { canonicalTextOf } from "../canonical-text.js";
import type { Fail } from "../violation.js";

/** The latest executed calls of one session. */
interface Executed {
  /** The latest strong one. */
  strong: number;
  any: number;
}

export class ProgramOrder {
  readonly #fail: Fail;
  readonly #said = new Map<string, Said>();
  readonly #refused = new Set<string>();
  readonly #executed = new Map<number, Executed>();

  constructor(fail: Fail) {
    this.#fail = fail;
  }

  onSaid(said: Said): void {
    const { session, epoch, command } = said;
    const name = `${session}/${epoch}/${command.sequence}`;
    this.#refused.delete(name);
    this.#said.set(name, said);
  }

  /** Nor what was sent behind it. Returns what was refused. */
  onRefused(session: number, epoch: number, sequence: number): SequencedCommand | undefined {
    const refused = this.#said.get(`${session}/${epoch}/${sequence}`)?.command;
    for (let number = sequence; ; number += 1) {
      const name = `${session}/${epoch}/${number}`;
      if (!this.#said.delete(name)) break;
      this.#refused.add(name);
    }
    return refused;
  }

  onExecuted(session: number, epoch: number, command: SequencedCommand): void {
    const name = `${session}/${epoch}/${command.sequence}`;
    const said = this.#said.get(name);
    this.#said.delete(name);
    if (said === undefined) {
      const isRefused = this.#refused.has(name);
      this.#fail(
        "refused is not executed",
        `${name} ${isRefused ? "was refused" : "was not said"}, and op ${command.op} is executed`,
      );
    } else if (canonicalTextOf(said.command) !== canonicalTextOf(command)) {
      const what = `${canonicalTextOf(command)} is executed, ${canonicalTextOf(said.command)} was said last`;
      this.#fail("program order", `${name}: ${what}`);
    } else if (said.order !== undefined) this.#inOrder(session, said.order, command);
  }

  #inOrder(session: number, order: number, command: SequencedCommand): void {
    const before = this.#executed.get(session) ?? { strong: 0, any: 0 };
    const isStrongCall = isStrong(command);
    const latest = isStrongCall ? before.strong : before.any;
    if (latest > order) {
      const what = `call ${order}, op ${command.op}, is executed behind call ${latest}`;
      this.#fail("program order", `session ${session}: ${what}`);
    }
    before.any = Math.max(before.any, order);
    if (isStrongCall) before.strong = Math.max(before.strong, order);
    this.#executed.set(session, before);
  }
}
