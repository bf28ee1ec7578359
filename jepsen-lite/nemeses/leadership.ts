/**
 * Actions of operators: leadership transfers, voters that are demoted to learners and promoted again,
 * and members that are removed and replaced by others with an empty directory.
 */
import { setTimeout as delay } from "node:timers/promises";
import { Patience } from "../harness/patience.js";
import type { Admin } from "../sdk.js";
import { emptied } from "./file-damage.js";
import { type Nemesis, StuckError, type Target } from "./nemesis.js";

const STEP_MS = 300;
const CHANGE_MS_MAX = 120_000;

export const transfer: Nemesis = {
  name: "transfer",
  about: "leadership is repeatedly transferred to another node",
  async begin(target, random) {
    let isOver = false;
    let count = 0;
    const handing = (async () => {
      while (!isOver && !target.signal.aborted) {
        const { member } = random.pick(target.nodes);
        const leads = await target.admin((admin) => admin.transferLeadership(member));
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
    const { id, member } = random.pick(target.nodes);
    const giveBack = target.reserve(id);
    if (giveBack === undefined) return nothing("no vote can be spared at the moment");
    await target.admin((admin) => admin.demoteMember(member));
    return {
      what: `node ${id} is a learner`,
      async end() {
        await promoted(target, member);
        giveBack();
      },
    };
  },
};

export const replace: Nemesis = {
  name: "replace",
  about: "a member is removed; its directory is wiped and added as another member at the end",
  async begin(target, random) {
    const node = random.pick(target.nodes);
    if (!node.hasNextMember) return nothing(`node ${node.id} has been every member that it can be`);
    const giveBack = target.reserve(node.id);
    if (giveBack === undefined) return nothing("no vote can be spared at the moment");
    // A node that was removed ends by itself.
    const mayNotEnd = node.letEnd();
    const gone = node.member;
    await settled(target, `member ${gone} could not be removed`, (admin) => removed(admin, gone));
    return {
      what: `node ${node.id} was removed, as member ${gone}`,
      async end() {
        const { dataDirectory, peerAddress } = node.plan;
        await node.whileDown(() => emptied(dataDirectory));
        const next = node.becomeNextMember(target.accessToken);
        await settled(target, `member ${next} could not be added`, (admin) =>
          admin.addMember(next, peerAddress),
        );
        node.start();
        await promoted(target, next);
        mayNotEnd();
        giveBack();
      },
    };
  },
};

/** Resolves when it is no longer a member, by this request or an earlier one without an answer. */
async function removed(admin: Admin, member: number): Promise<void> {
  const { members } = await admin.members();
  if (members.some(({ id }) => id === member)) await admin.removeMember(member);
}

/** Resolves when the member votes, or when the run is given up. */
export async function promoted(target: Target, member: number): Promise<void> {
  const failure = `member ${member} could not be promoted`;
  await settled(target, failure, (admin) => admin.promoteMember(member));
}

/**
 * Repeats a change of members until it is made: other faults may prevent it while they last. Rejects with
 * a `StuckError` if it never is.
 */
async function settled(
  target: Target,
  failure: string,
  change: (admin: Admin) => Promise<void>,
): Promise<void> {
  const patience = new Patience(CHANGE_MS_MAX);
  while (!target.signal.aborted) {
    const isDone = await target.admin(async (admin) => {
      await change(admin);
      return true;
    });
    if (isDone === true) return;
    if (!patience.lasts()) throw new StuckError(`${failure} in ${CHANGE_MS_MAX / 1_000} s`);
    await delay(STEP_MS);
  }
}

export function nothing(why: string) {
  return { what: `nothing: ${why}`, end: async () => undefined };
}
