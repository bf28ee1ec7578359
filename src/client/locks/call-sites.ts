/**
 * Where in the program locks were asked for, to explain deadlocks. Nothing is kept unless
 * `captureStacks` is on. Only calls of this client are known; of other sessions in a cycle there
 * are only names.
 */
import type { CycleMember, Result } from "../../protocol/index.js";
import type { Call } from "../calls/call.js";
import { AcquireCall } from "./acquire-call.js";
import { UpgradeCall } from "./hold.js";
import type { Holds } from "./holds.js";
import type { SequenceTable } from "./sequence-table.js";

/** Any function. */
type Callable = (...args: never[]) => unknown;

/** A member of `details.cycle` of a `DEADLOCK`: each waits for the next, the last for the first. */
export interface DeadlockedTask extends CycleMember {
  /** Stack of the waiting call. Only of this client, and with `captureStacks`. */
  readonly waitsAt?: string;
  /** Stack of the call that got, or waits for, what the previous task waits for. Likewise. */
  readonly blocksAt?: string;
}

export class CallSites {
  readonly #isOn: boolean;
  readonly #holds: Holds;
  readonly #waits: SequenceTable<Call>;

  constructor(isOn: boolean, holds: Holds, waits: SequenceTable<Call>) {
    this.#isOn = isOn;
    this.#holds = holds;
    this.#waits = waits;
  }

  /** The stack of the caller of `ceiling`; `undefined` if `captureStacks` is off. */
  capture(ceiling: Callable): string | undefined {
    if (!this.#isOn) return undefined;
    const site = new Error("asked for");
    // Engines other than V8 show the SDK's own calls above the caller's.
    Error.captureStackTrace?.(site, ceiling);
    return site.stack?.replace(/^Error: asked for\n/, "");
  }

  /**
   * The refusal of a request that was made at `refusedAt`, with the captured stacks of its cycle.
   */
  addTo(result: Result, session: number, refusedAt: string | undefined): Result {
    if (!this.#isOn || !("cycle" in result) || result.cycle === undefined) return result;
    const { cycle } = result;
    const traced = cycle.map((member, at): DeadlockedTask => {
      if (member.session !== session) return member;
      const wanted = cycle[(at + cycle.length - 1) % cycle.length]?.key ?? member.key;
      // The refused task comes first.
      const waitsAt = at === 0 ? refusedAt : this.#waiting(member.task, member.key);
      const blocksAt = this.#holding(member.task, wanted) ?? this.#waiting(member.task, wanted);
      return {
        ...member,
        ...(waitsAt !== undefined && { waitsAt }),
        ...(blocksAt !== undefined && { blocksAt }),
      };
    });
    return { ...result, cycle: traced };
  }

  #holding(task: number, key: string): string | undefined {
    for (const hold of this.#holds.all()) {
      if (hold.task.id === task && hasKey(hold.items, key)) return hold.askedAt;
    }
    return undefined;
  }

  #waiting(task: number, key: string): string | undefined {
    for (const call of this.#waits.all()) {
      if (call instanceof AcquireCall) {
        if (call.task.id === task && hasKey(call.wish.items, key)) return call.askedAt;
      } else if (call instanceof UpgradeCall && call.hold.task.id === task && call.key === key) {
        return call.hold.joinsOf(key)[0]?.askedAt;
      }
    }
    return undefined;
  }
}

function hasKey(items: readonly { readonly key: string }[], key: string): boolean {
  return items.some((item) => item.key === key);
}
