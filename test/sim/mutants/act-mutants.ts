/** Bugs of compare and act, in the table and in the doors that use it. */
import type { Mutant } from "./mutant.js";

export const ACT_MUTANTS: readonly Mutant[] = [
  {
    name: "act-compares-the-first-key",
    rule: "8.10: every key of an act must be as its step says",
    scenario: "scripts at doors",
    file: "src/lockfsm/commands/act.ts",
    find: "    if (before === undefined ? !isFree(state, owner, step) : hold === undefined) return NOT_SO;\n",
    replace:
      "    const isSo = before === undefined ? isFree(state, owner, step) : hold !== undefined;\n    if (compared.length === 0 && !isSo) return NOT_SO;\n",
    seeds: [191],
  },
  {
    name: "act-ignores-conditions",
    rule: "8.10: a key that is only compared must be as its step says, too",
    scenario: "scripts at doors",
    file: "src/lockfsm/commands/act.ts",
    find: '  if (after === undefined)\n    return key === undefined || (typeof key !== "number" && key.holdCount === 0);\n',
    replace: "  if (after === undefined) return true;\n",
    seeds: [191],
  },
  {
    name: "act-done-in-part",
    rule: "8.10: if a key is not as its step says, nothing is done",
    scenario: "scripts at doors",
    file: "src/lockfsm/commands/act.ts",
    find: "    compared.push({ step, owner, hold });\n",
    replace:
      "    compared.push({ step, owner, hold });\n    if (hold !== undefined) perform(state, 0, { step, owner, hold });\n",
    seeds: [279],
  },
  {
    name: "act-without-values",
    rule: "8.10: a hold whose value has changed is not as its step says",
    scenario: "scripts that count holders",
    file: "src/lockfsm/commands/act.ts",
    find: " || isDue(state, claim) || claim.value !== before) return undefined;",
    replace: " || isDue(state, claim)) return undefined;",
    seeds: [191],
  },
  {
    name: "act-keeps-the-time",
    rule: "8.10: a hold lasts as long as its last act says",
    scenario: "scripts at doors",
    file: "src/lockfsm/commands/act.ts",
    find: "  if (ttlMs !== undefined) changeLease(state, hold, { endsAt, ttlMs });\n",
    replace: "",
    seeds: [191],
  },
  {
    name: "snapshot-without-counts",
    rule: "a snapshot holds how often a lock in a hash is held",
    scenario: "scripts that count holders",
    file: "src/lockfsm/snapshot/reader.ts",
    find: "  extras.value = record.value;\n",
    replace: '  extras.value = record.value.replace(/"\\d+"\\]/g, \'"1"]\');\n',
    seeds: [191],
  },
  {
    name: "script-done-once-more",
    rule: "a script whose effect counts is not run once more",
    scenario: "scripts that count holders",
    file: "src/doors/redis/script-runs.ts",
    find: '      if (typeof done === "object") return this.#reached(meaning, done);\n    }\n',
    replace:
      '      if (typeof done === "object" && (i > 0 || effects.length === 0)) return this.#reached(meaning, done);\n    }\n',
    seeds: [191],
  },
  {
    name: "script-in-several-acts",
    rule: "what a script does to several keys is one command",
    scenario: "scripts that lock two keys",
    file: "src/doors/redis/locks/lease-calls.ts",
    find: "    const tokens = await this.#held.client.leases.compareAndAct(steps);\n",
    replace:
      "    const { leases } = this.#held.client;\n    const each = await Promise.all(steps.map((step) => leases.compareAndAct([step])));\n    const tokens = each.includes(undefined) ? undefined : each.flatMap((one) => one ?? []);\n",
    seeds: [131],
  },
  {
    name: "script-compares-what-it-changes",
    rule: "what a script has looked at must still be so when its effects count",
    scenario: "scripts at doors",
    file: "src/doors/redis/scripts/imagined-keys.ts",
    find: "    return changes.length === 0 ? [] : effects;\n",
    replace: "    return changes;\n",
    seeds: [191],
  },
  {
    name: "script-answered-by-its-guess",
    rule: "a script whose guess was wrong is answered by what there is",
    scenario: "scripts at doors",
    file: "src/doors/redis/locks/lease-calls.ts",
    find: "    return tokens;\n  }\n\n  #stepOf(",
    replace: "    return tokens ?? wishes.map(() => 0);\n  }\n\n  #stepOf(",
    seeds: [191],
  },
];
