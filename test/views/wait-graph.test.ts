/** Who waits for whom, and the deadlocks that were refused. */
import { expect, test } from "vitest";
import type { CycleMember, GraphTask } from "../../src/index.js";
import { cyclePhrases, phraseText, WAIT_COLUMNS, waitRows } from "../../src/views/index.js";

function member(sessionName: string, key: string): CycleMember {
  return { session: 1, sessionName, identity: "anonymous", task: 1, key, mode: "exclusive" };
}

test("a refused deadlock is a sentence for each wait, and one for the request that was refused", () => {
  expect(cyclePhrases([member("a", "k1"), member("b", "k2")]).map(phraseText)).toEqual([
    "a (task 1) asked for k1 (exclusive), which b (task 1) had before.",
    "b (task 1) waited for k2 (exclusive), which a (task 1) had before.",
    "So the request of a (task 1) was refused.",
  ]);
  expect(cyclePhrases([])).toEqual([]);
});

test("of a member in a key that the viewer may not observe nothing is said", () => {
  const hidden = { ...member("secret", ""), session: 0, task: 0 };
  expect(cyclePhrases([member("a", "k1"), hidden]).map(phraseText)).toEqual([
    "a (task 1) asked for k1 (exclusive), which somebody had before.",
    "somebody waited for another key, which a (task 1) had before.",
    "So the request of a (task 1) was refused.",
  ]);
});

test("a wait is a task, what it waits for, and the task that has it or is ahead", () => {
  const tasks = ["a", "b"].map((sessionName, at): GraphTask => {
    return { id: at + 1, session: at, sessionName, identity: "anonymous", task: 3 };
  });
  const edges = [
    { from: 1, to: 2, key: "k", mode: "shared", why: "holds" },
    { from: 2, to: 9, key: "k", mode: "shared", why: "ahead" },
  ] as const;
  const texts = waitRows(tasks, edges).map((row) =>
    Object.values(WAIT_COLUMNS).map(({ cell }) => phraseText(cell(row))),
  );
  expect(texts).toEqual([
    ["a (task 3)", "k", "shared", "b (task 3)", "holds it"],
    ["b (task 3)", "k", "shared", "somebody", "is ahead"],
  ]);
});
