/** Bugs that Holdfast itself once had, put back. */
import type { Mutant } from "./mutant.js";

export const CURED_MUTANTS: readonly Mutant[] = [
  {
    name: "directory-name-not-synced",
    rule: "a directory that a process before had made is made durable too",
    file: "src/storage/file-system.ts",
    find: 'if (code === "EEXIST") return syncName(fileSystem, parent);',
    replace: 'if (code === "EEXIST") return;',
    seeds: [210_000_394],
  },
  {
    name: "time-begins-at-zero",
    rule: "a stamp of 0 says that no entry executed the command",
    file: "src/server/commands/entry-schedule.ts",
    find: "const FIRST_STAMP = 1;",
    replace: "const FIRST_STAMP = 0;",
    seeds: [1],
  },
  {
    name: "full-disk-for-ever",
    rule: "a write without room may be repeated when there is room again",
    file: "src/storage/ordered-store.ts",
    find: "if (!isOutOfSpace(error)) this.#failure = error;",
    replace: "this.#failure = error;",
    seeds: [2064],
  },
  {
    name: "own-vote-counted-early",
    rule: "4: the own vote counts when it is durable",
    file: "src/raft/election.ts",
    find: 'return state.role === "preCandidate" || isDurable ? true : undefined;',
    replace: 'return state.role === "preCandidate" || isDurable || !isDurable ? true : undefined;',
    seeds: [3],
  },
  {
    name: "snapshot-by-a-newcomer",
    rule: "9: a snapshot names the members in force at its index",
    file: "src/server/snapshots/snapshots.ts",
    find: "this.isRestoring || !this.#taker.knowsMembers) return false;",
    replace: "this.isRestoring) return false;",
    seeds: [77_103],
  },
  {
    name: "members-not-told",
    rule: "9: a node that was away learns of members that it does not know",
    file: "src/server/driver/members.ts",
    find: '    for (const peer of peers) this.#send(peer, { type: "members", index, configuration: encoded });\n',
    replace: "",
    seeds: [210_000_246],
  },
  {
    name: "damaged-draft-ends-the-node",
    rule: "a part of a snapshot on which nobody counts is received anew",
    file: "src/storage/snapshots/stored-snapshots.ts",
    find: "if (damageOf(error) === undefined || snapshot.isComplete) throw error;",
    replace: "if (error !== undefined) throw error;",
    seeds: [],
  },
  {
    name: "upgrade-refused-for-its-end",
    rule: "who waits for an upgrade is told why the hold ended",
    file: "src/client/locks/hold.ts",
    find: "    if (result.status === ERROR_NUMBERS.NOT_HELD) return;\n",
    replace: "",
    seeds: [97_002_201],
  },
];
