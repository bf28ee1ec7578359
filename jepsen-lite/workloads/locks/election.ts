/** Elections: candidates lead one after the other, proclaim, and resign. */
import { acquire, hold, release } from "../lock-operations.js";
import type { Workload } from "../workload.js";

const KEYS_MAX = 2;

export const election: Workload = {
  name: "election",
  about: "candidates campaign, proclaim and resign; one leads at a time",
  model: "lock",
  compares: ["exactly-once"],
  workersMax: 2,
  async step(worker) {
    const { client, random } = worker;
    const key = random.pick(worker.keys.slice(0, KEYS_MAX));
    const contest = client.election(key);
    const waitMs = random.pick([500, 3_000]);
    const name = `candidate-${worker.process}`;
    const term = await acquire(worker, key, { waitMs }, () => contest.campaign(name, { waitMs }));
    if (term === undefined) return;
    await hold(worker, term, random.integer(5, 60));
    if (random.chance(0.5)) {
      const value = { token: term.token };
      await worker.record({ f: "update", key, value }, () => term.update(`${name} again`));
    }
    await release(worker, term, key);
  },
};
