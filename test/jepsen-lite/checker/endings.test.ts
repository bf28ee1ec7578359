/** Holds that others end: who asked for it, when it had to be over, and whether its holder knew. */
import { describe, expect, it } from "vitest";
import { checkHistory, lockModel } from "../../../jepsen-lite/checker/index.js";
import { historyOf, type Line } from "./histories.js";

const SECOND = 1_000_000_000;
const at = (seconds: number) => ({ key: "a", time: seconds * SECOND });

function broken(lines: readonly Line[]): string[] {
  return checkHistory(historyOf(lines), { model: lockModel })
    .checks.filter(({ valid }) => valid === false)
    .map(({ check }) => check);
}

function acquired(process: number, token: number, from: number, more: object = {}): Line[] {
  const session = { ...at(from), session: `s${process}` };
  return [
    [process, "invoke", "acquire", more, session],
    [process, "ok", "acquire", { token, untilNs: (from + 10) * SECOND }, session],
  ];
}

const lost = (process: number, token: number, reason: string, seconds: number): Line => [
  process,
  "info",
  "lost",
  { token, reason },
  at(seconds),
];

const asked = (f: string, value: object, from: number, to: number): Line[] => [
  [7, "invoke", f, value, f === "end-session" ? { time: from * SECOND } : at(from)],
  [7, "ok", f, undefined, f === "end-session" ? { time: to * SECOND } : at(to)],
];

describe("a revoke", () => {
  it("with a grace leaves its hold alone until its holder knows, or is certain no more", () => {
    const revoke = asked("revoke", { graceMs: 0 }, 1, 2);
    const next = acquired(1, 9, 4);
    expect(broken([...acquired(0, 5, 0), ...revoke, ...next])).toEqual([
      "linearizable",
      "exclusion",
    ]);
    const told = [...acquired(0, 5, 0), ...revoke, lost(0, 5, "revoked", 3), ...next];
    expect(broken(told)).toEqual([]);
    expect(broken([...acquired(0, 5, 0), ...revoke, ...acquired(1, 9, 12)])).toEqual([]);
  });

  it("at once may be known too late, and is over when it is answered", () => {
    const revoke = asked("revoke", { now: true }, 1, 2);
    expect(broken([...acquired(0, 5, 0), ...revoke, ...acquired(1, 9, 4)])).toEqual([]);
    const current: Line[] = [
      [0, "invoke", "verify", { token: 5 }, at(3)],
      [0, "ok", "verify", { current: true }, at(4)],
    ];
    expect(broken([...acquired(0, 5, 0), ...revoke, ...current])).toEqual(["linearizable"]);
    // It concerns what was held when it was asked for.
    const [asks, answered] = revoke as [Line, Line];
    const during = [...acquired(1, 9, 1), [8, "invoke", "verify", { token: 9 }, at(2)] as Line];
    const later: Line = [8, "ok", "verify", { current: true }, at(3)];
    expect(broken([...acquired(0, 5, 0), asks, ...during, answered, later])).toEqual([]);
  });

  it("may come before a release that is on its way, and the longest time may as well", () => {
    const release: Line[] = [
      [0, "invoke", "release", { token: 5 }, at(3)],
      [0, "ok", "release", { released: false, reason: "revoked" }, at(4)],
    ];
    const revoke = asked("revoke", { graceMs: 500 }, 1, 2);
    expect(broken([...acquired(0, 5, 0), ...revoke, ...release])).toEqual([]);
    expect(broken([...acquired(0, 5, 0, { maxHoldMs: 3_000 }), ...release])).toEqual([]);
    expect(broken([...acquired(0, 5, 0), ...release])).toEqual(["linearizable"]);
  });

  it("of a token concerns no other hold", () => {
    const onB = (type: "invoke" | "ok", value: object): Line => [
      3,
      type,
      "acquire",
      value,
      { key: "b" },
    ];
    const other = [onB("invoke", {}), onB("ok", { token: 4 })];
    const revoke = asked("revoke", { now: true, token: 4 }, 1, 2);
    const lines = [...other, ...acquired(0, 5, 0), ...revoke, ...acquired(1, 9, 4)];
    expect(broken(lines)).toEqual(["linearizable", "exclusion"]);
  });
});

describe("the end of a session by somebody else", () => {
  it("ends what that session holds, and nothing of others", () => {
    const end = (session: string) => asked("end-session", { now: true, session }, 1, 2);
    const next = acquired(1, 9, 4);
    expect(broken([...acquired(0, 5, 0), ...end("s0"), ...next])).toEqual([]);
    expect(broken([...acquired(0, 5, 0), ...end("s3"), ...next])).toEqual([
      "linearizable",
      "exclusion",
    ]);
    const still: Line[] = [
      [7, "invoke", "inspect", undefined, at(3)],
      [7, "ok", "inspect", { holds: [{ token: 5 }] }, at(3)],
    ];
    expect(broken([...acquired(0, 5, 0), ...end("s0"), ...still])).toEqual(["linearizable"]);
  });
});

describe("the loss of a hold", () => {
  it("by a revoke or a steal needs somebody who asked for it", () => {
    expect(broken([...acquired(0, 5, 0), lost(0, 5, "revoked", 3)])).toEqual(["endings"]);
    expect(broken([...acquired(0, 5, 0), lost(0, 5, "stolen", 3)])).toEqual(["endings"]);
    expect(broken([...acquired(0, 5, 0), lost(0, 5, "expired", 3)])).toEqual([]);
    const end = asked("end-session", { graceMs: 0, session: "s0" }, 1, 2);
    expect(broken([...acquired(0, 5, 0), ...end, lost(0, 5, "revoked", 3)])).toEqual([]);
    const stolen = acquired(1, 9, 1, { steal: true });
    expect(broken([...acquired(0, 5, 0), ...stolen, lost(0, 5, "stolen", 3)])).toEqual([]);
  });

  it("by its longest time needs one, and comes no earlier", () => {
    const held = (maxHoldMs?: number) => acquired(0, 5, 0, maxHoldMs ? { maxHoldMs } : {});
    expect(broken([...held(4_000), lost(0, 5, "maxHold", 3.4)])).toEqual([]);
    expect(broken([...held(4_000), lost(0, 5, "maxHold", 2)])).toEqual(["endings"]);
    expect(broken([...held(), lost(0, 5, "maxHold", 2)])).toEqual(["endings"]);
  });

  it("by its longest time may come earlier by as long as an answer took that its client waited for", () => {
    const lines = (answered: number): Line[] => [
      ...acquired(0, 5, 0, { maxHoldMs: 4_000 }),
      [0, "invoke", "verify", { token: 5 }, at(1)],
      [0, "ok", "verify", { current: true }, at(answered)],
      lost(0, 5, "maxHold", 2.5),
    ];
    expect(broken(lines(2))).toEqual([]);
    expect(broken(lines(1.1))).toEqual(["endings"]);
  });
});

it("what a caller has left holds nothing at the end, so a request behind it was forgotten", () => {
  const lines = (error: string, seconds: number): Line[] =>
    [
      [0, "invoke", "acquire", {}, at(0)] as Line,
      [0, "info", "acquire", undefined, { ...at(seconds), error }] as Line,
      [1, "invoke", "acquire", {}, at(2)] as Line,
      ["nemesis", "info", "healed", undefined, { time: 3 * SECOND }] as Line,
      ["nemesis", "info", "settled", undefined, { time: 9 * SECOND }] as Line,
    ].toSorted((one, other) => timeOf(one) - timeOf(other));
  expect(broken(lines("AbortError", 5))).toEqual(["wake-ups"]);
  expect(broken(lines("LOCK_TIMEOUT", 5))).toEqual(["wake-ups"]);
  // Granted just now, perhaps.
  expect(broken(lines("UNAVAILABLE", 5))).toEqual([]);
  expect(broken(lines("UNAVAILABLE", 1))).toEqual(["wake-ups"]);
});

it("what had no answer to its release when the faults ended holds nothing at the end", () => {
  const lines = (seconds: number): Line[] =>
    [
      ...acquired(0, 5, 0),
      [1, "invoke", "acquire", {}, at(1)] as Line,
      [0, "invoke", "release", { token: 5 }, at(seconds)] as Line,
      [0, "info", "release", undefined, at(seconds)] as Line,
      ["nemesis", "info", "healed", undefined, { time: 3 * SECOND }] as Line,
      ["nemesis", "info", "settled", undefined, { time: 9 * SECOND }] as Line,
    ].toSorted((one, other) => timeOf(one) - timeOf(other));
  expect(broken(lines(2))).toEqual(["wake-ups"]);
  expect(broken(lines(8))).toEqual([]);
});

it("what a client that died had asked for does not wait, whatever session it had then", () => {
  const lines: Line[] = [
    [0, "invoke", "acquire", {}, { ...at(0), session: 0 }],
    [0, "info", "crash", undefined, { time: SECOND, session: 7 }],
    ["nemesis", "info", "healed", undefined, { time: 3 * SECOND }],
    ["nemesis", "info", "settled", undefined, { time: 9 * SECOND }],
  ];
  expect(broken(lines)).toEqual([]);
  expect(broken(lines.filter(([, , f]) => f !== "crash"))).toEqual(["wake-ups"]);
});

it("what was upgraded without an answer ends with the token that it has since", () => {
  const lines: Line[] = [
    ...acquired(0, 5, 0, { mode: "shared" }),
    [0, "invoke", "upgrade", { token: 5 }, at(1)],
    [0, "info", "upgrade", undefined, { ...at(1), error: "AbortError" }],
    [1, "invoke", "acquire", {}, at(1)],
    [0, "invoke", "release", { token: 6 }, at(2)],
    [0, "ok", "release", { released: true }, at(2)],
    ["nemesis", "info", "healed", undefined, { time: 3 * SECOND }],
    ["nemesis", "info", "settled", undefined, { time: 9 * SECOND }],
  ];
  expect(broken(lines)).toEqual(["wake-ups"]);
  expect(broken(lines.filter(([, , f]) => f !== "release"))).toEqual([]);
});

function timeOf([, , , , more]: Line): number {
  return Number(more?.["time"] ?? 0);
}
