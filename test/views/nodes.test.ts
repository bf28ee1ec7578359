/** The nodes of a cluster, a line each. */
import { expect, test } from "vitest";
import { NODE_COLUMNS, type NodeRow, nodeState, phraseText } from "../../src/views/index.js";

const ROW: NodeRow = {
  id: 1,
  answers: "yes",
  words: { role: "follower", leader: 2, term: 3, commitIndex: 42, appliedIndex: 42 },
  role: "",
  lagEntries: 0,
  endpoint: "ws://db-1:7411",
  problem: "",
};

function withWords(changes: object): NodeRow {
  return { ...ROW, words: { ...ROW.words, ...changes } as NodeRow["words"] };
}

const role = (row: NodeRow): string => phraseText(NODE_COLUMNS.role.cell(row));

test("a node is in the state of the worst that is wrong with it, in a word", () => {
  expect(nodeState(ROW)).toEqual({ level: "good", word: "answers" });
  expect(nodeState(withWords({ isDraining: true, isDiskFull: true }))).toEqual({
    level: "bad",
    word: "disk full",
  });
  expect(nodeState(withWords({ appliedIndex: 1, commitIndex: 5_000 })).word).toBe("lags");
  expect(nodeState(withWords({ role: "quarantined" })).word).toBe("quarantined");
  expect(nodeState({ ...ROW, answers: undefined, words: undefined }).level).toBe("asking");
});

test("a node that does not answer is unreachable, and nothing that it once said is shown", () => {
  const silent: NodeRow = { ...ROW, answers: "no", words: undefined, silentMs: 12_400 };
  expect(nodeState(silent).word).toBe("unreachable, last heard 12s ago");
  const { pid, term, commit, applied } = NODE_COLUMNS;
  expect([pid, term, commit, applied].map(({ cell }) => cell(silent))).toEqual(Array(4).fill("-"));
  expect(role(silent)).toBe("-");
  expect(role({ ...silent, role: "learner" })).toBe("learner");
});

test("a node that only the leader speaks for answers, with the role that the leader knows", () => {
  const unasked: NodeRow = { ...ROW, answers: "unasked", words: undefined, role: "follower" };
  expect([role(unasked), nodeState(unasked).word]).toEqual(["follower", "answers"]);
});

test("a node that asks for votes is electing, and a role of a later version is shown safely", () => {
  expect(role(withWords({ role: "preCandidate" }))).toBe("electing");
  expect(role(withWords({ role: "candidate" }))).toBe("electing");
  expect(role(withWords({ role: "x\u001b[2J" }))).toBe("x\\u{1b}[2J");
});
