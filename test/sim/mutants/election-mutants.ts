/** Bugs of coming to lead, staying it and handing it over. */
import type { Mutant } from "./mutant.js";

export const ELECTION_MUTANTS: readonly Mutant[] = [
  {
    name: "vote-of-an-earlier-term",
    rule: "a vote counts in its own term",
    file: "src/raft/election.ts",
    find: "  if (message.granted && message.term !== expectedTerm) return;\n",
    replace: "",
    seeds: [8],
  },
  {
    name: "pre-vote-off",
    rule: "11: nobody disturbs by asking for votes unasked",
    file: "src/raft/election.ts",
    find: "if (canStand(state)) startPreVote(state);",
    replace: "if (canStand(state)) startElection(state, false);",
    seeds: [1],
  },
  {
    name: "vote-beside-a-live-leader",
    rule: "11: loyalty to a leader that was heard",
    file: "src/raft/election.ts",
    find: "    if (hasLiveLeader(state) && !message.isTransfer) return;\n",
    replace: "",
    seeds: [8],
  },
  {
    name: "pre-vote-beside-a-live-leader",
    rule: "11: loyalty to a leader that was heard",
    file: "src/raft/election.ts",
    find: "const isLoyal = hasLiveLeader(state) || awaitsLeader(state, message);",
    replace: "const isLoyal = awaitsLeader(state, message);",
    seeds: [8],
  },
  {
    name: "refused-pre-vote-teaches-nothing",
    rule: "12: a refused pre-vote teaches the higher term",
    file: "src/raft/election.ts",
    find: "if (message.term > state.term && !(isPreVote && message.granted)) {",
    replace: "if (message.term > state.term && !isPreVote) {",
    seeds: [4],
  },
  {
    name: "leader-without-quorum-goes-on",
    rule: "13: a leader without a quorum stops everything that keeps others quiet",
    file: "src/raft/leadership.ts",
    find: "const healthyAtMs = Math.min(quorumHeardMs(state, leadership), state.durability.oldestPendingMs);",
    replace: "const healthyAtMs = state.durability.oldestPendingMs;",
    seeds: [1],
  },
  {
    name: "leader-with-a-hung-disk-goes-on",
    rule: "18: a leader that waits for its disk steps down",
    file: "src/raft/leadership.ts",
    find: "const healthyAtMs = Math.min(quorumHeardMs(state, leadership), state.durability.oldestPendingMs);",
    replace: "const healthyAtMs = quorumHeardMs(state, leadership);",
    seeds: [12],
  },
  {
    name: "transfer-not-given-up",
    rule: "17: a transfer is given up after an election timeout",
    file: "src/raft/timers.ts",
    find: "  if (transfer !== undefined && nowMs >= transfer.deadlineMs) abandonTransfer(state, leadership);\n",
    replace: "",
    seeds: [20],
  },
];
