/**
 * Actions of operators: leadership transfers, and voters that are demoted to learners and promoted
 * again.
 */
import { setTimeout as delay } from "node:timers/promises";
import type { Nemesis, Target } from "./nemesis.js";

const STEP_MS = 300;
/** Other faults may prevent the promotion while they last. */
const PROMOTE_MS_MAX = 120_000;

export const transfer: Nemesis = {
  name: "transfer",
  about: "leadership is repeatedly transferred to another node",
  async begin(target, random) {
    const ids = target.nodes.map(({ id }) => id);
    let isOver = false;
    let count = 0;
    const handing = (async () => {
      while (!isOver && !target.signal.aborted) {
        const id = random.pick(ids);
        const leads = await target.admin((admin) => admin.transferLeadership(id));
        if (leads !== undefined) count += 1;
        await delay(STEP_MS);
      }
    })();
    return {
      get what() {
        return `leadership transferred ${count} times`;
      },
      async end() {
        isOver = true;
        await handing;
      },
    };
  },
};

export const membership: Nemesis = {
  name: "membership",
  about: "a voter is demoted to a learner, and promoted again at the end",
  async begin(target, random) {
    const { id } = random.pick(target.nodes);
    const giveBack = target.reserve(id);
    if (giveBack === undefined) return nothing("no vote can be spared at the moment");
    await target.admin((admin) => admin.demoteMember(id));
    return {
      what: `node ${id} is a learner`,
      async end() {
        await promoted(target, id);
        giveBack();
      },
    };
  },
};

/** Resolves when the node votes, or when the run is given up. Rejects if it takes too long. */
export async function promoted(target: Target, id: number): Promise<void> {
  const deadlineMs = performance.now() + PROMOTE_MS_MAX;
  while (!target.signal.aborted) {
    const isDone = await target.admin(async (admin) => {
      await admin.promoteMember(id);
      return true;
    });
    if (isDone === true) return;
    if (performance.now() > deadlineMs) {
      throw new Error(`node ${id} could not be promoted within ${PROMOTE_MS_MAX} ms`);
    }
    await delay(STEP_MS);
  }
}

export function nothing(why: string) {
  return { what: `nothing: ${why}`, end: async () => undefined };
}
