/**
 * Makes a plan that fails smaller while it still breaks the same rule: fewer faults, fewer clients,
 * fewer things to do. (Zeller and Hildebrandt, Simplifying and Isolating Failure-Inducing Input,
 * 2002.) Parts of a plan draw from streams of their own, so what is left does what it did.
 */
import type { ClientPlan } from "../plan/client-plan.js";
import type { SimPlan } from "../plan/plan.js";

/** Whether a plan still breaks the rule. */
export type StillFails = (plan: SimPlan) => Promise<boolean>;

export async function minimise(
  plan: SimPlan,
  stillFails: StillFails,
  triesMax: number,
): Promise<SimPlan> {
  let triesLeft = triesMax;
  const attempt = async (candidate: SimPlan): Promise<boolean> => {
    if (triesLeft <= 0) return false;
    triesLeft -= 1;
    return stillFails(candidate);
  };
  let least = plan;
  for (;;) {
    const before = JSON.stringify(least).length;
    const faults = await fewest(least.faults, (some) => attempt({ ...least, faults: some }));
    least = { ...least, faults };
    const { restore } = least;
    if (restore !== undefined) {
      const second = await fewest(restore.faults, (some) => {
        return attempt({ ...least, restore: { ...restore, faults: some } });
      });
      least = { ...least, restore: { ...restore, faults: second } };
    }
    if (least.owners !== undefined) {
      const owners = await fewest(least.owners, (some) => attempt({ ...least, owners: some }));
      least = { ...least, owners };
    }
    const { doors } = least;
    if (doors !== undefined) {
      const owners = await fewest(doors.owners, (some) => {
        return attempt({ ...least, doors: { ...doors, owners: some } });
      });
      least = { ...least, doors: { ...doors, owners } };
    }
    const clients = await fewest(least.clients, (some) => attempt({ ...least, clients: some }));
    least = { ...least, clients };
    least = await withFewerActions(least, attempt);
    if (JSON.stringify(least).length >= before || triesLeft <= 0) return least;
  }
}

/** The fewest items for which `isEnough` was seen to hold: whole halves go first, then less. */
async function fewest<T>(
  items: readonly T[],
  isEnough: (some: readonly T[]) => Promise<boolean>,
): Promise<readonly T[]> {
  let left = items;
  let size = Math.ceil(left.length / 2);
  while (size >= 1) {
    let hasShrunk = false;
    for (let from = 0; from < left.length; ) {
      const rest = [...left.slice(0, from), ...left.slice(from + size)];
      if (await isEnough(rest)) {
        left = rest;
        hasShrunk = true;
      } else {
        from += size;
      }
    }
    if (size === 1 && !hasShrunk) break;
    size = size === 1 ? 1 : Math.ceil(size / 2);
  }
  return left;
}

async function withFewerActions(plan: SimPlan, isEnough: StillFails): Promise<SimPlan> {
  let least = plan;
  for (const { host } of plan.clients) {
    for (;;) {
      const clients = least.clients.map(
        (client): ClientPlan =>
          client.host === host ? { ...client, actions: Math.floor(client.actions / 2) } : client,
      );
      const candidate = { ...least, clients };
      const isSmaller = clients.some(({ actions }, at) => actions !== least.clients[at]?.actions);
      if (!isSmaller || !(await isEnough(candidate))) break;
      least = candidate;
    }
  }
  return least;
}
