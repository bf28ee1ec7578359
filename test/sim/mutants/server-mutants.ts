/** Bugs of the driver: order of effects, the cluster clock, reads. */
import type { Mutant } from "./mutant.js";

export const SERVER_MUTANTS: readonly Mutant[] = [
  {
    name: "deferred-messages-leave-early",
    rule: "nothing of sendAfter leaves before its write is durable",
    file: "src/server/driver/deferred-messages.ts",
    find: "      if (first.seq > durableSeq) return;\n",
    replace: "",
    seeds: [1],
  },
  {
    name: "clock-runs-fast",
    rule: "cluster time never runs faster than true time",
    file: "src/server/commands/cluster-clock.ts",
    find: "      this.#stamp += wholeMs;",
    replace: "      this.#stamp += 2 * wholeMs;",
    seeds: [6_000_011],
  },
  {
    name: "clock-begins-anew",
    rule: "a new leader goes on from the last stamp in its log",
    file: "src/server/commands/entry-schedule.ts",
    find: "    this.#clock.start(base, nowMs);",
    replace: "    this.#clock.start(0, nowMs);",
    seeds: [1],
  },
  {
    name: "read-from-local-table",
    rule: "a read waits until its index is applied",
    file: "src/server/reads/reads.ts",
    find: "      if (placed.index > index) still.push(placed);",
    replace: "      if (placed.index > index + 1_000) still.push(placed);",
    seeds: [6_000_003],
  },
  {
    name: "stamps-by-the-wall-clock",
    rule: "expiry never depends on a wall clock",
    file: "src/server/commands/proposer.ts",
    find: "this.#schedule.countTime(nowMs);",
    replace: "this.#schedule.countTime(clock.wallMs());",
    seeds: [6_000_011],
  },
  {
    name: "stamps-in-the-log-forgotten",
    rule: "a new leader goes on from the last stamp in its log, committed or not",
    file: "src/server/commands/entry-schedule.ts",
    find: "lastStampAfter(raft, appliedIndex) ?? table.stamp",
    replace: "table.stamp",
    seeds: [1],
  },
  {
    name: "leader-ends-leases-by-itself",
    rule: "nothing ends but by an entry: who leads may be deposed and not know it",
    file: "src/server/commands/proposer.ts",
    find: "    const stamp = this.#schedule.countTime(nowMs);\n",
    replace:
      "    const stamp = this.#schedule.countTime(nowMs);\n" +
      "    const { raft, table } = this.#parts;\n" +
      "    const index = raft.appliedIndex + nowMs / 1e9;\n" +
      "    const nobody = { toSession: () => {}, attached: () => {} };\n" +
      "    const isDue = (table.nextDueAt ?? stamp + 1) <= stamp;\n" +
      "    if (isDue) table.apply({ index, stamp, wallMs: 0, commands: [] }, nobody);\n",
    seeds: [1],
  },
  {
    name: "watch-that-ended-has-work",
    rule: "a node turns for what is to be told, and for nobody who is gone",
    file: "src/server/reads/watches.ts",
    find: "    this.#serveBehind(nowMs);\n",
    replace: "    if (this.#behind.size > 0) this.#serveBehind(nowMs);\n",
    seeds: [210_000_167],
  },
  {
    name: "known-peers-forgotten",
    rule: "a voter on another directory than before is refused by all who met it, over restarts",
    file: "src/net/peers/known-peers.ts",
    find: "this.#peers = new Map(known);",
    replace: "this.#peers = new Map([...known].slice(0, 0));",
    seeds: [37],
  },
  {
    name: "refusal-of-the-leader-told",
    rule: "2.3: a leader's refusal is never told to a client",
    file: "src/server/commands/forwarding.ts",
    find: '    if (reason === "notLeader") return;\n',
    replace:
      '    for (let i = 0; i < this.#underWay.length; i += 1) {\n      const batch = this.#underWay.at(i);\n      const first = batch?.id === id ? batch.commands.find(({ sequence }) => sequence > 0) : undefined;\n      if (first !== undefined && first.session > 0) {\n        const { attachment, sequence } = first;\n        attachment.isRefusing = true;\n        attachment.expected = sequence;\n        attachment.connection.send({ kind: 15, sequence, status: 28 });\n      }\n    }\n    if (reason === "notLeader") return;\n',
    seeds: [6_000_006],
  },
  {
    name: "admitted-after-a-refusal",
    rule: "2.4: after a refusal other numbers are dropped",
    file: "src/server/commands/admission.ts",
    find: "    if (sequence === expected) return true;\n",
    replace: "    if (sequence === expected || (isRefusing && sequence > expected)) return true;\n",
    seeds: [3],
  },
  {
    name: "weak-refused-like-strong",
    rule: "2.5: weak calls are refused only where there is no room at all",
    file: "src/server/commands/capacity.ts",
    find: "if (isStrong(command) || command.op === OP.open) {",
    replace: "if (isStrong(command) || command.op !== OP.keepalive) {",
    seeds: [5],
  },
  {
    name: "kept-no-longer-than-a-pulse",
    rule: "2.3: what was admitted stays until it was executed",
    file: "src/server/commands/kept-commands.ts",
    find: '          return "number" in command && command.number === message.number;',
    replace: '          return !("number" in command) || command.number === message.number;',
    seeds: [8],
  },
  {
    name: "kept-sent-in-any-order",
    rule: "2.3: what is kept goes again in the order of its numbers",
    file: "src/server/commands/kept-commands.ts",
    find: "    return all.sort((a, b) => a.order - b.order);",
    replace: "    return all.sort((a, b) => b.order - a.order);",
    seeds: [6_000_002],
  },
  {
    name: "pause-is-made-up-for",
    rule: "a pause of the leader's process is lost to cluster time",
    file: "src/server/commands/cluster-clock.ts",
    find: "      this.#stamp += this.#turnMsMax;\n      this.#anchorMs = nowMs;",
    replace: "      this.#stamp += this.#turnMsMax;\n      this.#anchorMs += this.#turnMsMax;",
    seeds: [6],
  },
];
