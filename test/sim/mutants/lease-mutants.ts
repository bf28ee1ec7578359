/** Bugs of leases of named owners. */
import type { Mutant } from "./mutant.js";

export const LEASE_MUTANTS: readonly Mutant[] = [
  {
    name: "repeat-is-another-lease",
    rule: "8.3: a lease that is repeated keeps its token",
    scenario: "leases of owners",
    file: "src/lockfsm/commands/leases.ts",
    find: "    store(state, session, sequence, repeatLease(state, command, claim));",
    replace:
      "    endRow(state, claim.row, END_REASON.released);\n    takeAll(state, session, command);",
    seeds: [14],
  },
  {
    name: "repeat-shortens-a-lease",
    rule: "8.3: a lease that is repeated lasts no shorter than before",
    scenario: "leases of owners",
    file: "src/lockfsm/commands/leases.ts",
    find: "(wanted === 0 || wanted > before)",
    replace: "(wanted === 0 || wanted !== before)",
    seeds: [14],
  },
  {
    name: "request-not-compared",
    rule: "8.3: another request of an owner that has a claim is refused",
    scenario: "leases of owners",
    file: "src/lockfsm/commands/leases.ts",
    find: "  return lease?.request === request && !isDue(state, hold) && isOf(hold, items);",
    replace:
      '  return request !== "" && lease !== undefined && !isDue(state, hold) && isOf(hold, items);',
    seeds: [3],
  },
  {
    name: "late-copy-is-taken",
    rule: "8.4: a copy of a request that was given back takes nothing",
    scenario: "leases of owners",
    file: "src/lockfsm/commands/leases.ts",
    find: "  return items.some(({ key }) => leases.isGivenBack(key, owner, request, stamp));",
    replace:
      "  return items.some(({ key }) => leases.isGivenBack(key, owner, request, stamp + 60_000));",
    seeds: [3],
  },
  {
    name: "moved-wait-goes-last",
    rule: "8.3: a wait that is repeated keeps its place",
    scenario: "leases of owners",
    file: "src/lockfsm/commands/leases.ts",
    find: "    enqueue(state, session, command, wait, claim);",
    replace: "    enqueue(state, session, command, wait);",
    seeds: [17],
  },
  {
    name: "moved-wait-not-told",
    rule: "8.3: the take that is repeated ends with CANCELLED",
    scenario: "leases of owners",
    file: "src/lockfsm/commands/leases.ts",
    find: "    withdraw(state, claim, CANCELLED);\n    const wait",
    replace: "    withdraw(state, claim, QUOTA);\n    const wait",
    seeds: [17],
  },
  {
    name: "identity-of-an-owner-ignored",
    rule: "8.1: only sessions of the identity that took a lease find it",
    scenario: "leases of owners",
    file: "src/lockfsm/records/lease-index.ts",
    find: "OF_BEARERS : identity.number;",
    replace: "OF_BEARERS : identity.number * 0;",
    seeds: [72],
  },
  {
    name: "split-take-grants-some",
    rule: "8.2: a split take is granted as a whole or not at all",
    scenario: "leases of owners",
    file: "src/lockfsm/commands/leases.ts",
    find: "  if (!isAdmitted(state, missing)) return lockHeld(state, missing);",
    replace:
      "  if (!missing.some((item) => isAdmitted(state, [item]))) return lockHeld(state, missing);",
    seeds: [32],
  },
  {
    name: "extend-shortens",
    rule: "8.5: a lease that is extended lasts no shorter than before, unless exactly that is asked for",
    scenario: "leases of owners",
    file: "src/lockfsm/commands/leases.ts",
    find: "    if (wanted > endsAt) changeLease(",
    replace: "    if (wanted !== endsAt) changeLease(",
    seeds: [3],
  },
  {
    name: "extend-some-of-several",
    rule: "8.5: all keys of an extension are held, or nothing changes",
    scenario: "leases of owners",
    file: "src/lockfsm/commands/leases.ts",
    find: "    holds.push(claim);\n  }",
    replace: "    holds.push(claim);\n    extendOne(state, claim, command);\n  }",
    seeds: [3],
  },
];
