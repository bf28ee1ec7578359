/** Bugs of the lock table and its snapshots. */
import type { Mutant } from "./mutant.js";

export const TABLE_MUTANTS: readonly Mutant[] = [
  {
    name: "sequence-applied-twice",
    rule: "a sequence is executed once and answered alike for ever",
    file: "src/lockfsm/executing.ts",
    find: "  if (slot !== undefined) {\n    if (slot.state",
    replace: "  if (slot !== undefined && command.op !== OP.release) {\n    if (slot.state",
    seeds: [3],
  },
  {
    name: "session-epoch-ignored",
    rule: "only the newest attachment speaks for a session",
    file: "src/lockfsm/executing.ts",
    find: "  if (epoch !== session.attachEpoch) return;\n",
    replace: "",
    seeds: [16],
  },
  {
    name: "grant-to-the-dead",
    rule: "no grant without a live session",
    file: "src/lockfsm/granting.ts",
    find: "if (request.blockedCount === 0 && !request.isOverAt(state.stamp)) grant(state, request);",
    replace: "if (request.blockedCount === 0) grant(state, request);",
    seeds: [29],
  },
  {
    name: "waiter-not-woken",
    rule: "what a hold's end lets through is granted in that step",
    file: "src/lockfsm/ending.ts",
    find: "    place.key.removeHold(place);\n    advance(state, place.key);",
    replace: "    place.key.removeHold(place);",
    seeds: [1],
  },
  {
    name: "barger-before-the-queue",
    rule: "grants follow the order of arrival",
    file: "src/lockfsm/acquiring.ts",
    find: '    if (key !== undefined && !key.admits(item.mode === "exclusive")) return false;',
    replace: "    if (key?.firstHold !== undefined) return false;",
    seeds: [1],
  },
  {
    name: "cancel-leaks-the-hold",
    rule: "a cancel that comes behind the grant gives the hold up",
    file: "src/lockfsm/giving-up.ts",
    find: "  giveUpHold(state, hold, END_REASON.cancelled);\n",
    replace: "",
    seeds: [1],
  },
  {
    name: "token-from-a-local-counter",
    rule: "tokens come from the log and rise for ever",
    file: "src/lockfsm/token-counter.ts",
    find: "    this.#next = token + 1;\n    return token;",
    replace:
      "    this.#next = token + 1;\n    return Math.floor(performance.now() * 1_000) + token;",
    seeds: [1],
  },
  {
    name: "snapshot-without-tokens",
    rule: "a snapshot holds the next token",
    file: "src/lockfsm/snapshot-writer.ts",
    find: "    body.uint(this.#nextToken);\n    body.uint(state.nextNumber);",
    replace: "    body.uint(this.#nextToken + 1);\n    body.uint(state.nextNumber);",
    seeds: [3],
  },
  {
    name: "snapshot-changed-while-written",
    rule: "a snapshot is the table of one moment",
    file: "src/lockfsm/saving.ts",
    find: "    hold.savedIn = this.epoch;\n    this.keepSession(hold.session);\n    writer.hold(hold);",
    replace: "    hold.savedIn = this.epoch;",
    seeds: [3],
  },
];
