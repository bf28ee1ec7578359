/**
 * A closed cluster: three identities lock keys of their own, and try the others' keys, while an
 * administrator gives and takes their rights, and an intruder acts in several disguises. The
 * history says who asked, and who was given which right when.
 */
import { areaOf, LOCK_IDENTITIES } from "../../access/keyring.js";
import { acquire, hold, release } from "../lock-operations.js";
import { inspect } from "../watching.js";
import type { Worker, Workload } from "../workload.js";
import { intrude, limitKeyOf, listed } from "./intruder.js";

/** Few, so that requests wait while their rights change. */
const KEYS_MAX = 2;
const FORMER_SHARE = 0.08;
const TRESPASS_SHARE = 0.12;

export const identities: Workload = {
  name: "identities",
  about: "a closed cluster: three identities whose grants change, and an intruder",
  model: "lock",
  compares: ["exactly-once", "access", "denials"],
  identities: LOCK_IDENTITIES,
  background: intrude,
  async step(worker) {
    const { client, random } = worker;
    const area = areaFor(worker);
    const key = `${area}${random.below(Math.min(KEYS_MAX, worker.keys.length))}`;
    const choice = random.next();
    if (choice < 0.1) {
      await inspect(worker, key);
    } else if (choice < 0.14) {
      await worker.record({ f: "list" }, () => listed(client));
    } else if (choice < 0.18) {
      const limited = limitKeyOf(area);
      const limit = random.integer(1, 9);
      await worker.record({ f: "set-limit", key: limited }, () => client.setLimit(limited, limit));
    } else {
      const wish = { waitMs: random.pick([0, 300, 1_500]) };
      const take = (value: string) => client.acquire(key, { ...wish, value });
      const lock = await acquire(worker, key, wish, take);
      if (lock === undefined) return;
      await hold(worker, lock, random.integer(0, 30));
      await release(worker, lock, key);
    }
  },
};

/** Its own, mostly; now and then the one it had before, or one of another identity. */
function areaFor({ identity, keyring, random }: Worker): string {
  const numberOf = (name: string) => keyring.areas[name] ?? 1;
  const choice = random.next();
  if (choice < TRESPASS_SHARE) {
    const other = random.pick(LOCK_IDENTITIES.filter((name) => name !== identity));
    return areaOf(other, numberOf(other));
  }
  const own = numberOf(identity);
  const isFormer = choice < TRESPASS_SHARE + FORMER_SHARE;
  return areaOf(identity, isFormer ? Math.max(1, own - 1) : own);
}
