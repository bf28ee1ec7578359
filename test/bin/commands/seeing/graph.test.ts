/** What `holdfast graph` prints below the current waits. */
import { expect, test } from "vitest";
import { possibleLines, refusedLines } from "../../../../bin/commands/seeing/graph.js";
import type { RefusedDeadlock } from "../../../../src/index.js";

const lock = { mode: "exclusive", task: 1 } as const;
const WALL_MS = Date.UTC(2026, 10, 23, 12, 0, 0);

test("a refused deadlock is shown as a ring of waits that begins with the one that was refused", () => {
  const refused: RefusedDeadlock[] = [
    {
      wallMs: WALL_MS,
      cycle: [
        { ...lock, session: 6, sessionName: "billing", identity: "anonymous", key: "a\u001b[2J" },
        { ...lock, session: 8, sessionName: "", identity: "ci", key: "b" },
        { ...lock, session: 0, sessionName: "", identity: "", task: 0, key: "" },
      ],
    },
  ];
  const [, heading, when, ...sentences] = refusedLines(refused);
  expect(heading).toBe("REFUSED LATELY");
  expect(when).toMatch(/ {2}a deadlock of 3$/);
  expect(sentences).toHaveLength(4);
  expect(sentences[0]).toMatch(
    /^ {2}billing \(task 1\) asked for a.* \(exclusive\), which session 8 as ci/,
  );
  expect(sentences[0]).not.toContain("\u001b");
  expect(sentences.at(-1)).toBe("  So the request of billing (task 1) was refused.");
});

test("a possible deadlock says for how long it has lasted, and is not called one", () => {
  const waits = { ...lock, session: 6, sessionName: "billing", identity: "anonymous" };
  const cycle = [
    { ...waits, key: "a" },
    { ...waits, task: 2, key: "b" },
  ];
  const [, heading, when, ...rows] = possibleLines([{ waitingMs: 90_000, cycle }]);
  expect([heading, when]).toEqual(["POSSIBLE DEADLOCKS", "for 1m 30s  perhaps a deadlock of 2"]);
  expect(rows[0]).toMatch(/^ {2}billing \(task 1\) waits for a.* \(exclusive\), which billing/);
  expect(rows.join(" ")).toMatch(/billing \(task 2\) waits for\s+b/);
});

test("without any nothing is printed", () => {
  expect([refusedLines([]), possibleLines([])]).toEqual([[], []]);
});
