/** Bugs that break no promise except one about time, and bugs of clocks that stand still. */
import type { Mutant } from "./mutant.js";

export const TIME_MUTANTS: readonly Mutant[] = [
  {
    name: "closed-link-tells-nothing",
    rule: "a closed connection of the leader hastens the election",
    file: "src/raft/raft.ts",
    find: "    if (closed && isAwaited(state, peer)) hastenElection(state);\n",
    replace: "",
    seeds: [47],
  },
  {
    name: "hand-over-by-pre-vote",
    rule: "17: the target of a hand-over stands at once",
    file: "src/raft/election.ts",
    find: "  startElection(state, true);\n}",
    replace: "  startPreVote(state);\n}",
    seeds: [47],
  },
  {
    name: "hand-over-keeps-back",
    rule: "nothing is kept back while leadership is handed over",
    file: "src/raft/majority-first.ts",
    find: "leadership.isChangeOpen || leadership.transfer !== undefined;",
    replace: "leadership.isChangeOpen;",
    seeds: [151],
  },
  {
    name: "spare-delay-without-a-timer",
    rule: "nothing is kept back for longer than spareDelayMs",
    file: "src/raft/majority-first.ts",
    find: "  leadership.frontsDeadlineMs = Math.min(leadership.frontsDeadlineMs, dueMs);\n",
    replace: "",
    seeds: [118],
  },
  {
    name: "late-timer-is-silence",
    rule: "a late timer is a pause of this process and no silence of others",
    file: "src/raft/state.ts",
    find: "  if (lateMs > heartbeatIntervalMs) state.isLate = true;\n",
    replace: "",
    seeds: [395],
  },
  {
    name: "sleep-not-counted",
    rule: "a lease goes on while the machine of its client sleeps",
    file: "src/client/session-lease/lease-clock.ts",
    find: "return monotonicMs + this.#skippedMs;",
    replace: "return monotonicMs;",
    seeds: [243],
  },
  {
    name: "sleep-behind-a-step-back",
    rule: "a wall clock that is set back hides no sleep",
    file: "src/client/session-lease/lease-clock.ts",
    find: "if (Math.abs(stepMs) > TOLERANCE_MS) this.#onStep",
    replace: "if (stepMs > TOLERANCE_MS) this.#onStep",
    seeds: [243],
  },
];
