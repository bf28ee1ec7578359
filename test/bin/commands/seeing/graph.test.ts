/** What `holdfast graph` prints below the present waits. */
import { expect, test } from "vitest";
import { refusedLines } from "../../../../bin/commands/seeing/graph.js";
import type { RefusedDeadlock } from "../../../../src/index.js";

const lock = { mode: "exclusive", owner: 1 } as const;
const WALL_MS = Date.UTC(2026, 10, 23, 12, 0, 0);

test("a refused deadlock is told as a ring of waits that begins with the one that was refused", () => {
  const refused: RefusedDeadlock[] = [
    {
      wallMs: WALL_MS,
      cycle: [
        { ...lock, session: 6, sessionName: "billing", identity: "anonymous", key: "a\u001b[2J" },
        { ...lock, session: 8, sessionName: "", identity: "ci", key: "b" },
        { ...lock, session: 0, sessionName: "", identity: "", owner: 0, key: "" },
      ],
    },
  ];
  const [, heading, when, columns, ...rows] = refusedLines(refused);
  expect(heading).toBe("REFUSED LATELY");
  expect(when).toMatch(/ {2}a deadlock of 3$/);
  expect(columns).toContain("WHO WAITED");
  expect(rows).toHaveLength(3);
  expect(rows[0]).toMatch(/^refused +billing +1 +.*a.*exclusive +session 8 as ci +1$/);
  expect(rows[0]).not.toContain("\u001b");
  expect(rows[1]).toMatch(/^ +session 8 as ci +1 +b +exclusive +somebody +-$/);
  expect(rows[2]).toMatch(/^ +somebody +- +another key +exclusive +billing +1$/);
});

test("without any nothing is printed", () => {
  expect(refusedLines([])).toEqual([]);
});
