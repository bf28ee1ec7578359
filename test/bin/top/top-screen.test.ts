/** The screen of `holdfast top`, line by line. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { displayWidth } from "../../../bin/text/display-width.js";
import { screenLines, screenText } from "../../../bin/top/top-screen.js";
import type { TopEvent } from "../../../bin/top/top-state.js";
import {
  AT_MS,
  dead,
  keyView,
  type LockOf,
  locksSeen,
  next,
  node,
  nodesSeen,
  stateAfter,
} from "./top-world.js";

const WIDE = { columns: 80, rows: 24 };
const SMALL = { columns: 40, rows: 10 };
const NODES: TopEvent = { type: "nodes", seen: nodesSeen([node(1), node(2), node(3)]) };
const LOCKS: readonly LockOf[] = [
  { key: "jobs/nightly", waiters: 5 },
  { key: "orders/1001", holder: "注文処理", waiters: 2, heldMs: 65_000 },
  { key: "注文/東京/大阪/1", holder: "worker-3" },
  { key: "evil\u202e\u001b[2Jkey", holder: "a\u001b[31mb" },
];
const SEEN: TopEvent = { type: "locks", seen: locksSeen(LOCKS) };

test("80 by 24: what is wrong, how many locks there are, one line a lock, and the keys", () => {
  const lines = screenText(stateAfter(WIDE, NODES, SEEN));
  expect(lines).toHaveLength(24);
  expect(lines.slice(0, 9)).toEqual([
    "holdfast top  locks                                                     22:41:07",
    "All is well: 3 nodes serve, node 2 leads.",
    "4 locks, most waiters first",
    "  KEY                    MODE        HELD BY               FOR    LEASE  WAITING",
    "> jobs/nightly           exclusive   billing-7            4.2s      14s        5",
    "  orders/1001            exclusive   注文処理           1m 05s      14s        2",
    "  注文/東京/大阪/1       exclusive   worker-3             4.2s      14s        0",
    "  evil\\u{202…{1b}[2Jkey  exclusive   a\\u{1b}[31mb         4.2s      14s        0",
    "",
  ]);
  expect(lines.at(-1)).toBe("Enter one lock  / prefix  s sort  c cluster  p pause  ? help  q quit");
});

test("40 by 10: fewer columns, fewer lines, the same facts first", () => {
  expect(screenText(stateAfter(SMALL, NODES, SEEN))).toEqual([
    "holdfast top  locks             22:41:07",
    "All is well: 3 nodes serve, node 2 leads",
    "4 locks, most waiters first",
    "  KEY              HELD BY       WAITING",
    "> jobs/nightly     billing-7           5",
    "  orders/1001      注文処理            2",
    "  注文/東…/大阪/1  worker-3            0",
    "  evil\\u{…}[2Jkey  a\\u{1b}[31mb        0",
    "",
    "? help  q quit",
  ]);
});

describe("of any size, with any names and after any keys", () => {
  const name = fc.oneof(
    fc.string({ unit: "grapheme", minLength: 1, maxLength: 60 }),
    fc.string({ unit: "binary", minLength: 1, maxLength: 60 }),
  );
  const key = fc.constantFrom(
    ..."clps?/aq".split(""),
    ...["up", "down", "pageUp", "pageDown", "home", "end", "enter", "escape", "backspace"],
  );

  test("it has as many lines as the terminal, none wider, and only visible characters", () => {
    fc.assert(
      fc.property(
        fc.record({
          columns: fc.integer({ min: 1, max: 200 }),
          rows: fc.integer({ min: 1, max: 60 }),
        }),
        fc.array(name, { maxLength: 40 }),
        fc.array(key, { maxLength: 12 }),
        name,
        (size, names, keys, problem) => {
          const locks = names.map((each, at) => ({ key: each, holder: each, waiters: at % 3 }));
          const seen: TopEvent = { type: "locks", seen: locksSeen(locks) };
          const broken = { ...dead(3), problem };
          const after: TopEvent = { type: "nodes", seen: nodesSeen([node(1), node(2), broken]) };
          const state = next(stateAfter(size, NODES, seen, after), ...keys);
          const view = keyView({ key: state.lockKey ?? "k", holder: problem, waiters: 3 });
          const why = { key: "k", request: null, keys: [], possibleDeadlock: [] };
          const shown = next(state, { type: "lock", seen: { view, why, wallMs: AT_MS } });
          const lines = screenLines(shown).map((line) => line.map(({ text }) => text).join(""));
          expect(lines).toHaveLength(size.rows);
          for (const line of lines) {
            expect(displayWidth(line)).toBeLessThanOrEqual(size.columns);
            expect(line).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
          }
        },
      ),
    );
  });
});

describe("a node", () => {
  const DIED: TopEvent = { type: "nodes", seen: nodesSeen([dead(1), node(2), node(3)]) };

  test("that dies is named at once, in the view of locks too, and in the view of the cluster why", () => {
    const state = stateAfter(WIDE, NODES, SEEN, DIED);
    const lines = screenText(state);
    expect(lines[1]).toBe("Problem: Node 1 does not answer; if one more fails, the cluster stops.");
    expect(lines.at(-2)).toBe("22:41:07  node 1 does not answer any more: ECONNREFUSED");
    const cluster = screenText(next(state, "c")).join("\n");
    expect(cluster).toContain("   1  -            unreachable            -");
    expect(cluster).toContain("node 1: ECONNREFUSED");
    expect(cluster).toContain("Problem: Node 1 does not answer; if one more fails");
  });

  test("that leads after another is named with its term", () => {
    const seen = nodesSeen(
      [node(1), node(2, { role: "follower" }), node(3, { role: "leader" })],
      3,
      6,
    );
    const lines = screenText(stateAfter(WIDE, NODES, { type: "nodes", seen }));
    expect(lines.at(-2)).toBe("22:41:07  node 3 leads now (term 6), after node 2");
  });

  test("is missing as a leader: the first word says that nothing is granted", () => {
    const seen = nodesSeen([node(1), dead(2), dead(3)], 0);
    const lines = screenText(stateAfter(WIDE, NODES, { type: "nodes", seen }));
    expect(lines[1]).toMatch(
      /^Down: The cluster has no leader, so it grants nothing: 1 of 3 voters/,
    );
  });
});

test("a pause is announced with its time, and a cluster that does not answer with its reason", () => {
  const state = stateAfter(WIDE, NODES, SEEN, "p");
  expect(screenText(state)[0]).toContain("PAUSED since 22:41:07 (p goes on)");
  expect(screenText(next(state, "p"))[0]).not.toContain("PAUSED");
  const failed = next(state, { type: "failed", text: "no \u001b[0m leader", wallMs: AT_MS });
  expect(screenText(failed)[1]).toBe(
    "NO ANSWER since 22:41:07, trying again: no \\u{1b}[0m leader",
  );
  expect(screenText(next(failed, SEEN)).at(-2)).toBe("22:41:07  the cluster answers again");
});

test("one lock is shown with its holder, its queue in order, and why the first one waits", () => {
  const view = keyView({ key: "jobs/nightly", waiters: 2 });
  const blocker = {
    sessionName: "billing-7",
    key: "jobs/nightly",
    mode: "exclusive",
    token: 4711,
  } as const;
  const why = {
    key: "jobs/nightly",
    request: null,
    keys: [
      {
        key: "jobs/nightly",
        mode: "exclusive",
        isEligible: false,
        aheadCount: 0,
        blockers: [{ ...blocker, identity: "anonymous", session: 7, holder: "session" }],
        cooldowns: [],
        expectedWaitMs: 450,
      },
    ],
    possibleDeadlock: [],
  } as const;
  const asked = stateAfter(WIDE, NODES, SEEN, "enter");
  const lines = screenText(next(asked, { type: "lock", seen: { view, why, wallMs: AT_MS } }));
  expect(lines[2]).toBe("jobs/nightly");
  expect(lines.slice(3, 13)).toEqual([
    "HELD BY    MODE       SESSION   FOR  LEASE LEFT  TOKEN",
    "billing-7  exclusive        7  4.2s         14s   4711",
    "",
    "#  WAITING   MODE       REQUEST  FOR",
    "1  worker-1  exclusive      7/1   1s",
    "2  worker-2  exclusive      7/1   2s",
    "",
    "WHY THE FIRST ONE WAITS",
    "A new request would wait because billing-7 (exclusive, token 4711) holds it.",
    "Usually this takes about 450ms.",
  ]);
});
