/**
 * The names of anomalies: every check calls what it finds by one of them, begins with one plain
 * sentence, and lists the lines that show it in the order of time.
 */
import { readFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import {
  ANOMALIES,
  type AnomalyKind,
  checkHistory,
  lockModel,
  toEvent,
  type Violation,
  verdictText,
} from "../../jepsen-lite/checker/index.js";
import { resultOfAnswer } from "../../jepsen-lite/verdict/checker-answer.js";
import type { Line } from "./checker/histories.js";

const MS = 1_000_000;
const BIG = 3_764_820_767_670_000;

/** One line every 10 ms; a process with four digits is a worker of the client of its first digit. */
function eventsOf(lines: readonly Line[], firstMs = 7_000) {
  return lines.map(([process, type, f, value, more], position) => {
    const client = typeof process === "number" ? Math.floor(process / 1_000) : undefined;
    const time = (firstMs + 10 * position) * MS;
    return toEvent({ process, type, f, value, client, time, ...more }, position + 1, position);
  });
}

const onA = { key: "a" };
const by = (as: string | undefined) => (as === undefined ? onA : { ...onA, as });
const asks = (process: number, argument: object = {}, as?: string): Line => [
  process,
  "invoke",
  "acquire",
  argument,
  by(as),
];
const gets = (process: number, token: number, more: object = {}, as?: string): Line => [
  process,
  "ok",
  "acquire",
  { token, ...more },
  by(as),
];
const acquired = (
  process: number,
  token: number,
  argument: object = {},
  result: object = {},
): Line[] => [asks(process, argument), gets(process, token, result)];
const released = (process: number, token: number, isReleased = true): Line[] => [
  [process, "invoke", "release", { token }, onA],
  [process, "ok", "release", { released: isReleased }, onA],
];
const note = (process: number | "nemesis", f: string, value?: object): Line => [
  process,
  "info",
  f,
  value,
  process === "nemesis" ? {} : onA,
];
const change = (revision: number, kind: string, token: number, watch = "w"): Line =>
  note(9_000, "change", { watch, revision, kind, key: "a", token });

/** Afterwards nothing is allowed to clients that prove nothing. */
const denied: Line[] = [
  [9_000, "invoke", "grant", { identity: "anonymous", prefix: "", level: "none" }, { as: "local" }],
  [9_000, "ok", "grant", undefined, { as: "local" }],
];

/** By kind: a history in which it is the first thing that its own check finds. */
const PLANTED: Readonly<Partial<Record<AnomalyKind, readonly [check: string, lines: Line[]]>>> = {
  "two holders": [
    "exclusion",
    [...acquired(3_000, 5), ...acquired(1_000, 9), ...released(3_000, 5)],
  ],
  "too many permits": [
    "exclusion",
    [
      ...acquired(3_000, 5, { permits: 2, limit: 3 }),
      ...acquired(1_000, 9, { permits: 2, limit: 3 }),
    ],
  ],
  "token not larger": [
    "tokens",
    [...acquired(3_000, 9), ...released(3_000, 9), ...acquired(1_000, 5)],
  ],
  "token granted twice": [
    "tokens",
    [...acquired(3_000, 5), ...released(3_000, 5), ...acquired(1_000, 5)],
  ],
  "unknown token accepted": ["tokens", [...released(3_000, 5)]],
  "granted out of order": [
    "order",
    [
      ...acquired(0, 1),
      asks(3_000),
      note(3_000, "queued"),
      asks(1_000),
      ...released(0, 1),
      gets(1_000, 2),
      ...released(1_000, 2),
      gets(3_000, 3),
    ],
  ],
  "lease ended early": ["linearizable", [...acquired(3_000, 5), ...released(3_000, 5, false)]],
  "lease ended late": [
    "leases",
    [
      ...acquired(3_000, 5, { ttlMs: 1_000 }),
      asks(1_000),
      note(1_000, "queued"),
      note(3_000, "crash", { ttlMs: 1_000 }),
      [1_000, "ok", "acquire", { token: 6 }, { ...onA, time: 60_000 * MS }],
    ],
  ],
  "released twice": [
    "exactly-once",
    [...acquired(3_000, 5), ...released(3_000, 5), ...released(3_000, 5)],
  ],
  "phantom grant": ["exactly-once", [...acquired(3_000, 5), change(1, "granted", 7)]],
  "two heirs": [
    "heirs",
    [
      ...acquired(3_000, 5),
      [3_000, "invoke", "hand-over", { tokens: [5, 6] }],
      [3_000, "ok", "hand-over"],
      [1_000, "invoke", "adopt", { tokens: [5, 6] }],
      [1_000, "ok", "adopt", { grants: [{ token: 7 }, null] }],
      [2_000, "invoke", "adopt", { tokens: [5, 6] }],
      [2_000, "ok", "adopt", { grants: [null, { token: 8 }] }],
    ],
  ],
  "lost wake-up": [
    "wake-ups",
    [
      ...acquired(3_000, 5),
      asks(1_000),
      note("nemesis", "healed"),
      ...released(3_000, 5),
      note("nemesis", "settled"),
    ],
  ],
  "watch out of order": ["watches", [change(2, "granted", 5), change(1, "released", 5)]],
  "watch missed a change": [
    "watches",
    [
      change(1, "granted", 5),
      change(3, "granted", 7),
      change(1, "granted", 5, "v"),
      change(2, "released", 5, "v"),
      change(3, "granted", 7, "v"),
    ],
  ],
  "forbidden command took effect": [
    "access",
    [...denied, asks(3_000, {}, "anonymous"), gets(3_000, 5, {}, "anonymous")],
  ],
  "forbidden key shown": [
    "access",
    [
      ...denied,
      [3_000, "invoke", "list", undefined, { as: "anonymous" }],
      [3_000, "ok", "list", { keys: ["a"] }, { as: "anonymous" }],
    ],
  ],
  "allowed command refused": [
    "access",
    [
      asks(3_000, {}, "anonymous"),
      [3_000, "fail", "acquire", undefined, { ...onA, as: "anonymous", error: "FORBIDDEN" }],
    ],
  ],
  "denied command took effect": [
    "denials",
    [
      [3_000, "invoke", "acquire", { mark: "m" }, onA],
      [3_000, "fail", "acquire", undefined, { ...onA, error: "BUSY" }],
      [1_000, "invoke", "inspect", undefined, onA],
      [1_000, "ok", "inspect", { holds: [{ token: 5, mark: "m" }] }, onA],
    ],
  ],
  "unexplained answer": [
    "linearizable",
    [
      ...acquired(3_000, 5),
      [1_000, "invoke", "inspect", undefined, onA],
      [1_000, "ok", "inspect", { holds: [] }, onA],
    ],
  ],
};

function found(check: string, lines: readonly Line[], firstMs?: number): Violation | undefined {
  const { checks } = checkHistory(eventsOf(lines, firstMs), { model: lockModel });
  return checks.find((each) => each.check === check)?.violations[0];
}

describe("every kind that a check of locks can find", () => {
  test.each(Object.entries(PLANTED))("%s", (kind, [check, lines]) => {
    const { checks } = checkHistory(eventsOf(lines), { model: lockModel });
    const finding = checks.find((each) => each.check === check);
    expect(finding?.violations[0]?.kind).toBe(kind);
    expect(finding?.anomalies[kind as AnomalyKind]).toBeGreaterThan(0);
    for (const { text, steps, lines: where } of finding?.violations ?? []) {
      expect(text).not.toContain("\n");
      expect(steps.map(({ line }) => line)).toEqual(where);
      expect(where).toEqual([...where].sort((one, other) => one - other));
      const times = steps.map(({ timeNs = 0 }) => timeNs);
      expect(times).toEqual(times.toSorted((one, other) => one - other));
      expect(steps.length).toBeGreaterThan(0);
    }
  });

  test("none is left out but those that one history of locks cannot show", () => {
    const elsewhere = ["lost update", "no recovery", "node ended by itself"];
    expect([...Object.keys(PLANTED), ...elsewhere].sort()).toEqual(Object.keys(ANOMALIES).sort());
  });
});

test("two holders are described in one sentence, with who, when and by which tokens", () => {
  const [, lines] = PLANTED["two holders"] ?? ["", []];
  const violation = found("exclusion", lines);
  expect(violation?.text).toBe(
    "two clients held `a` from 7.030 s to 7.040 s: client 3 by token 5, client 1 by token 9",
  );
  expect(violation).toMatchObject({ keys: ["a"], fromNs: 7_030 * MS, toNs: 7_040 * MS });
  expect(violation?.steps.map(({ text }) => text)).toEqual([
    "client 3 (process 3000) asks: acquire `a`",
    "client 3 (process 3000) gets: acquire `a`, token 5",
    "client 1 (process 1000) asks: acquire `a`",
    "client 1 (process 1000) gets: acquire `a`, token 9",
    "client 3 (process 3000) asks: release `a` token 5",
  ]);
});

test("two workers of one client are told apart, and so are processes without a client", () => {
  const oneClient = found("exclusion", [...acquired(3_000, 5), ...acquired(3_001, 9)]);
  expect(oneClient?.text).toMatch(/^two workers of client 3 held `a`.*process 3000.*process 3001/);
  const bare = [...acquired(1, 5), ...acquired(2, 9)].map(([process, type, f, value, more], at) =>
    toEvent({ process, type, f, value, ...more }, at + 1, at),
  );
  const { checks } = checkHistory(bare, { model: lockModel });
  expect(checks.find(({ check }) => check === "exclusion")?.violations[0]?.text).toBe(
    "two processes held `a` at the same time: process 1 by token 5, process 2 by token 9",
  );
});

test("the search says what stands against an answer", () => {
  const reasonOf = (lines: Line[]) => found("linearizable", lines)?.text;
  expect(reasonOf([...acquired(3_000, 5), ...acquired(1_000, 9)])).toMatch(
    /: token 5 still held it$/,
  );
  expect(reasonOf([...acquired(3_000, 9), ...released(3_000, 9), ...acquired(1_000, 5)])).toMatch(
    /: token 9 had been granted before$/,
  );
  expect(reasonOf([...acquired(3_000, 5), ...released(3_000, 5, false)])).toMatch(
    /: nothing can have ended token 5 before$/,
  );
});

test("an answer without an explanation comes with all that was open then, and what became of it", () => {
  const lines: Line[] = [
    ...acquired(3_000, 5),
    asks(4_000),
    asks(2_000),
    [5_000, "invoke", "revoke", undefined, onA],
    [5_000, "fail", "revoke", undefined, { ...onA, error: "FORBIDDEN" }],
    [1_000, "invoke", "inspect", undefined, onA],
    [1_000, "ok", "inspect", { holds: [] }, onA],
    [2_000, "fail", "acquire", undefined, { ...onA, error: "LOCK_HELD" }],
    ...released(3_000, 5),
  ];
  const reasons = found("linearizable", lines)?.reasons ?? [];
  expect(reasons.filter((reason) => reason.startsWith("open then"))).toEqual([
    "open then: client 4 (process 4000) asks: acquire `a` (line 3); no answer until the end",
    "open then: client 2 (process 2000) asks: acquire `a` (line 4); " +
      "client 2 (process 2000) is refused: acquire `a` (LOCK_HELD) (line 9)",
  ]);
  const text = verdictText(checkHistory(eventsOf(lines), { model: lockModel })).replace(
    /\s+/g,
    " ",
  );
  expect(text).toContain("Open then: • process 4000 acquire `a` (line 3): no answer");
  expect(text).toContain("• process 2000 acquire `a` (line 4): fail in line 9");
});

test("a key is shown so that no terminal obeys it", () => {
  const odd = [...acquired(1_000, 5), ...acquired(2_000, 9)].map(
    ([process, type, f, value]): Line => [process, type, f, value, { key: "a\u001b[2J" }],
  );
  const text = verdictText(checkHistory(eventsOf(odd), { model: lockModel }));
  expect(text).not.toContain("\u001b");
});

test("the verdict of a history fits into 80 columns, long tokens by what differs", () => {
  const lines = [...acquired(3_000, BIG + 4_095), ...acquired(1_000, BIG + 4_096)];
  const text = verdictText(checkHistory(eventsOf(lines), { model: lockModel }));
  expect(text.split("\n").filter((line) => line.length > 80)).toEqual([]);
  expect(text).toContain("two holders × 1");
  expect(text.replace(/\s+/g, " ")).toContain("client 3 by token …4095, client 1 by token …4096");
  expect(text).toMatch(/^ {2}exclusion {5}VIOLATED {2}2 compared/m);
});

test("what two checks see of one incident is described once, the plainer way, and counted once", () => {
  const [, lines] = PLANTED["two holders"] ?? ["", []];
  const answer = checkHistory(eventsOf(lines), { model: lockModel });
  const { anomalies, anomalyCounts } = resultOfAnswer("mutex", answer, []);
  expect(anomalyCounts).toEqual({ "two holders": 1 });
  expect(anomalies.map(({ sentence }) => sentence.slice(0, 15))).toEqual(["two clients hel"]);
  expect(anomalies[0]).toMatchObject({ fromMs: 7_030, toMs: 7_040 });
  // The machine-readable answer keeps both.
  expect(answer.checks.filter(({ valid }) => valid === false)).toHaveLength(2);
});

test("a check was asked for where the workload is there for it, and always for the basic ones", () => {
  const answer = checkHistory(eventsOf(acquired(3_000, 5)), { model: lockModel });
  const { parts = [], summary } = resultOfAnswer("queue", answer, ["order"]);
  const asked = parts.filter(({ isAsked }) => isAsked).map(({ name }) => name);
  expect(asked.sort()).toEqual(["exclusion", "linearizable", "order", "tokens"]);
  expect(summary).not.toContain("nothing");
});

test("the documentation has every name with its sentence", async () => {
  const page = await readFile(new URL("../../docs/jepsen-lite.md", import.meta.url), "utf8");
  const rows = [...page.matchAll(/^\| \*\*(.+?)\*\* \| (.+?) \|$/gm)];
  expect(Object.fromEntries(rows.map(([, name, sentence]) => [name, sentence]))).toEqual(ANOMALIES);
});
