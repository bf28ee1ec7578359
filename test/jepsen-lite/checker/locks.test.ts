import { describe, expect, it } from "vitest";
import {
  type CheckResult,
  checkHistory,
  lockModel,
  type TokensRise,
} from "../../../jepsen-lite/checker/index.js";
import { historyOf, type Line } from "./histories.js";

const SECOND = 1_000_000_000;

function check(lines: readonly Line[]): CheckResult {
  return checkHistory(historyOf(lines), { model: lockModel });
}

/** The names of the checks that found something. */
function broken(lines: readonly Line[]): string[] {
  const result = check(lines);
  const names = result.checks.filter(({ valid }) => valid === false).map(({ check }) => check);
  expect(result.valid).toBe(names.length === 0);
  return names;
}

function acquired(
  process: number,
  token: number,
  argument: object = {},
  result: object = {},
): Line[] {
  return [
    [process, "invoke", "acquire", argument, { key: "a" }],
    [process, "ok", "acquire", { token, ...result }, { key: "a" }],
  ];
}

function released(process: number, token: number, isReleased = true): Line[] {
  return [
    [process, "invoke", "release", { token }, { key: "a" }],
    [process, "ok", "release", { released: isReleased }, { key: "a" }],
  ];
}

const lost = (process: number, token: number): Line => [
  process,
  "info",
  "lost",
  { token },
  { key: "a" },
];

describe("exclusive locks", () => {
  it("handing a lock over with rising tokens is valid", () => {
    expect(
      broken([...acquired(0, 5), ...released(0, 5), ...acquired(1, 9), ...released(1, 9)]),
    ).toEqual([]);
  });

  it("a double grant breaks linearizability and exclusion", () => {
    expect(broken([...acquired(0, 5), ...acquired(1, 9)])).toEqual(["linearizable", "exclusion"]);
  });

  it("a grant after the holder learned of its loss is valid, before that it is not", () => {
    expect(broken([...acquired(0, 5), lost(0, 5), ...acquired(1, 9)])).toEqual([]);
    expect(broken([...acquired(0, 5), ...acquired(1, 9), lost(0, 5)])).toEqual([
      "linearizable",
      "exclusion",
    ]);
  });

  it("a release without an answer explains the next grant, then and later", () => {
    const doubted: Line[] = [
      [0, "invoke", "release", { token: 5 }, { key: "a" }],
      [0, "info", "release", undefined, { key: "a" }],
    ];
    expect(broken([...acquired(0, 5), ...doubted, ...acquired(1, 9)])).toEqual([]);
  });

  it("a token that falls, or comes twice, is found whatever the keys", () => {
    const onB: Line[] = [
      [1, "invoke", "acquire", {}, { key: "b" }],
      [1, "ok", "acquire", { token: 4 }, { key: "b" }],
    ];
    expect(broken([...acquired(0, 5), ...onB])).toEqual(["tokens"]);
    expect(broken([...acquired(0, 5), ...released(0, 5), ...acquired(1, 5)])).toEqual([
      "linearizable",
      "tokens",
    ]);
  });

  it("a release that claims to have ended what had ended is invalid, and so is the reverse", () => {
    expect(broken([...acquired(0, 5), ...released(0, 5), ...released(0, 5)])).toContain(
      "exactly-once",
    );
    expect(broken([...acquired(0, 5), ...released(0, 5, false)])).toEqual(["linearizable"]);
    expect(broken([...acquired(0, 5), lost(0, 5), ...released(0, 5, false)])).toEqual([]);
  });

  it("a token that had to wait for a release came no earlier, though its client had said lost", () => {
    const onB: Line[] = [
      [2, "invoke", "acquire", {}, { key: "b" }],
      [2, "ok", "acquire", { token: 7 }, { key: "b" }],
    ];
    const release = released(1, 5);
    const lines: Line[] = [
      ...acquired(0, 5),
      [0, "invoke", "acquire", {}, { key: "a" }],
      lost(1, 5),
      ...onB,
      release[0] as Line,
      [0, "ok", "acquire", { token: 6 }, { key: "a" }],
    ];
    expect(broken([...lines, release[1] as Line])).toEqual(["tokens"]);
    // It was not there any more: then it may have ended before the other key was granted.
    expect(broken([...lines, released(1, 5, false)[1] as Line])).toEqual([]);
  });

  it("a release that found nothing did not end the hold, so the next token came after the loss", () => {
    const release = released(2, 1, false);
    const onB: Line[] = [
      [1, "invoke", "acquire", {}, { key: "b" }],
      [1, "ok", "acquire", { token: 3 }, { key: "b" }],
    ];
    const next = acquired(0, 2);
    const falling = [...acquired(0, 1), release[0] as Line, next[0] as Line, ...onB, lost(3, 1)];
    expect(broken([...falling, next[1] as Line, release[1] as Line])).toEqual(["tokens"]);
    // It did end it: then the next one may have been granted before the other key.
    const [, found] = released(2, 1);
    expect(broken([...falling, next[1] as Line, found as Line])).toEqual([]);
  });

  it("the same task may hold again under the same token, and releases as often", () => {
    const again = (line: Line): Line => [
      line[0],
      line[1],
      line[2],
      line[3],
      { ...line[4], task: "t", session: "s" },
    ];
    const lines = [
      ...acquired(0, 5, { reentrant: true }),
      ...acquired(0, 5, { reentrant: true }),
    ].map(again);
    const ends = [...released(0, 5), ...released(0, 5)];
    expect(broken([...lines, ...ends, ...acquired(1, 9)])).toEqual([]);
    expect(broken([...lines, ...ends.slice(0, 2), ...acquired(1, 9)])).toContain("linearizable");
  });

  it("stealing ends the hold of the victim", () => {
    const stolen = acquired(1, 9, { steal: true });
    expect(broken([...acquired(0, 5), ...stolen, ...released(0, 5, false)])).toEqual([]);
    expect(broken([...acquired(0, 5), ...stolen, ...released(0, 5, true)])).toContain(
      "linearizable",
    );
  });
});

describe("shared locks, permits and several keys", () => {
  it("readers share, a writer does not", () => {
    const readers = [...acquired(0, 5, { mode: "shared" }), ...acquired(1, 6, { mode: "shared" })];
    expect(broken(readers)).toEqual([]);
    expect(broken([...readers, ...acquired(2, 7)])).toEqual(["linearizable", "exclusion"]);
  });

  it("permits are counted and slots are separate", () => {
    const permit = (process: number, token: number, slot: number) =>
      acquired(process, token, { permits: 1, limit: 2 }, { slots: [slot] });
    expect(broken([...permit(0, 5, 0), ...permit(1, 6, 1)])).toEqual([]);
    expect(broken([...permit(0, 5, 0), ...permit(1, 6, 0)])).toEqual(["linearizable", "exclusion"]);
    expect(broken([...permit(0, 5, 0), ...permit(1, 6, 2)])).toEqual(["linearizable"]);
    const third = [
      ...permit(0, 5, 0),
      ...permit(1, 6, 1),
      ...acquired(2, 7, { permits: 1, limit: 2 }),
    ];
    expect(broken(third)).toEqual(["linearizable", "exclusion"]);
  });

  it("a request for two keys holds both or none", () => {
    const both: Line[] = [
      [0, "invoke", "acquire", { items: [{ key: "a" }, { key: "b" }] }],
      [0, "ok", "acquire", { token: 5 }],
    ];
    const onB: Line[] = [
      [1, "invoke", "acquire", {}, { key: "b" }],
      [1, "ok", "acquire", { token: 6 }, { key: "b" }],
    ];
    expect(broken([...both, ...onB])).toEqual(["linearizable", "exclusion"]);
    expect(
      broken([
        ...both,
        [0, "invoke", "release", { token: 5 }],
        [0, "ok", "release", { released: true }],
        ...onB,
      ]),
    ).toEqual([]);
    expect(check([...both, ...onB]).counts.parts).toBe(1);
  });

  it("an upgrade waits for the other readers, and the token before names nothing any more", () => {
    const up: Line[] = [
      [0, "invoke", "upgrade", { token: 5 }, { key: "a" }],
      [0, "ok", "upgrade", { token: 8 }, { key: "a" }],
    ];
    const reader = acquired(0, 5, { mode: "shared" });
    expect(broken([...reader, ...up, ...released(0, 8), ...acquired(1, 9)])).toEqual([]);
    expect(broken([...reader, ...up, ...released(0, 5)])).toContain("linearizable");
    expect(broken([...reader, ...acquired(1, 6, { mode: "shared" }), ...up])).toContain(
      "linearizable",
    );
  });
});

it("of two who take over what a token stands for only one can have it", () => {
  const taken = (process: number, token: number): Line[] => [
    [process, "invoke", "adopt", { token: 5 }, { key: "a" }],
    [process, "ok", "adopt", { token }, { key: "a" }],
  ];
  const refused: Line[] = [
    [2, "invoke", "adopt", { token: 5 }, { key: "a" }],
    [2, "fail", "adopt", undefined, { key: "a", error: "NOT_HELD" }],
  ];
  const first = [...acquired(0, 5), lost(0, 5), ...taken(1, 8)];
  expect(broken([...first, ...refused, ...released(1, 8), ...acquired(3, 9)])).toEqual([]);
  expect(broken([...first, ...taken(2, 9)])).toEqual(["linearizable", "exclusion", "heirs"]);
});

describe("two locks that go over as a whole", () => {
  const onB = { key: "b" };
  const both: Line[] = [
    ...acquired(0, 5),
    [0, "invoke", "acquire", {}, onB],
    [0, "ok", "acquire", { token: 6 }, onB],
    [0, "invoke", "hand-over", { tokens: [5, 6] }],
    [0, "ok", "hand-over"],
  ];
  const taken = (process: number, ...granted: readonly (number | null)[]): Line[] => [
    [process, "invoke", "adopt", { tokens: [5, 6] }],
    [
      process,
      "ok",
      "adopt",
      { grants: granted.map((token) => (token === null ? null : { token })) },
    ],
  ];
  const refused: Line[] = [
    [2, "invoke", "adopt", { tokens: [5, 6] }],
    [2, "fail", "adopt", undefined, { error: "NOT_HELD" }],
  ];

  it("are held by the heir that got them, each as any other lock", () => {
    const next: Line[] = [
      [3, "invoke", "acquire", {}, onB],
      [3, "ok", "acquire", { token: 9 }, onB],
    ];
    const releasedB: Line[] = [
      [1, "invoke", "release", { token: 8 }, onB],
      [1, "ok", "release", { released: true }, onB],
    ];
    const first = [...both, ...taken(1, 7, 8), ...refused];
    expect(broken([...first, ...releasedB, ...next])).toEqual([]);
    expect(broken([...first, ...next])).toEqual(["linearizable", "exclusion"]);
  });

  it("are never held by one heir and another heir, one lock each", () => {
    expect(broken([...both, ...taken(1, 7, null)])).toEqual([]);
    // Each of the two locks has one holder.
    expect(broken([...both, ...taken(1, 7, null), ...taken(2, null, 8)])).toEqual(["heirs"]);
    expect(broken([...both, ...taken(1, 7, 8), ...taken(2, 9, 10)])).toContain("heirs");
  });

  it("one by one may go to two", () => {
    const one = (process: number, token: number, granted: number): Line[] => [
      [process, "invoke", "adopt", { tokens: [token] }],
      [process, "ok", "adopt", { grants: [{ token: granted }] }],
    ];
    expect(broken([...both, ...one(1, 5, 7), ...one(2, 6, 8)])).toEqual([]);
  });
});

describe("time", () => {
  const at = (seconds: number, key = "a") => ({ key, time: seconds * SECOND });

  it("a hold is certain until the client's own deadline, also when the client is stopped", () => {
    const lines = (grantedAt: number): Line[] => [
      [0, "invoke", "acquire", {}, at(0)],
      [0, "ok", "acquire", { token: 5, untilNs: 10 * SECOND }, at(1)],
      [1, "invoke", "acquire", {}, at(2)],
      [1, "ok", "acquire", { token: 9 }, at(grantedAt)],
      [0, "invoke", "release", { token: 5 }, at(30)],
      [0, "ok", "release", { released: false, reason: "expired" }, at(31)],
    ];
    expect(broken(lines(8))).toEqual(["linearizable", "exclusion"]);
    expect(broken(lines(12))).toEqual([]);
    const exclusion = check(lines(12)).checks.find(({ check: name }) => name === "exclusion");
    expect(exclusion?.figures).toEqual({ overlapsWithoutDeadline: 1 });
  });

  it("a holder that was stopped over its answer may learn of it when others held since", () => {
    const lines = (untilNs: number): Line[] => [
      [0, "invoke", "acquire", {}, at(0)],
      [1, "invoke", "acquire", {}, at(11)],
      [1, "ok", "acquire", { token: 9, untilNs: 30 * SECOND }, at(12)],
      [0, "ok", "acquire", { token: 5, untilNs }, at(20)],
    ];
    expect(broken(lines(10 * SECOND))).toEqual([]);
    expect(broken(lines(0)), "over when it was looked at").toEqual([]);
    expect(broken(lines(25 * SECOND))).toContain("exclusion");
  });

  it("a renewal moves the deadline", () => {
    const lines: Line[] = [
      [0, "invoke", "acquire", {}, at(0)],
      [0, "ok", "acquire", { token: 5, untilNs: 10 * SECOND }, at(1)],
      [0, "info", "renewed", { untilNs: 20 * SECOND }, at(5)],
      [1, "invoke", "acquire", {}, at(6)],
      [1, "ok", "acquire", { token: 9 }, at(12)],
    ];
    expect(broken(lines)).toEqual(["linearizable", "exclusion"]);
  });

  it("a refused upgrade leaves the hold as it is, with its deadline", () => {
    const lines = (grantedAt: number): Line[] => [
      [0, "invoke", "acquire", { mode: "shared" }, at(0)],
      [0, "ok", "acquire", { token: 5, untilNs: 10 * SECOND }, at(1)],
      [0, "invoke", "upgrade", { token: 5 }, at(2)],
      [0, "fail", "upgrade", undefined, at(3)],
      [0, "info", "crash", undefined, { time: 4 * SECOND }],
      [1, "invoke", "acquire", {}, at(5)],
      [1, "ok", "acquire", { token: 9 }, at(grantedAt)],
    ];
    expect(broken(lines(12))).toEqual([]);
    expect(broken(lines(8))).toEqual(["linearizable", "exclusion"]);
  });

  it("an upgraded hold has the deadline that came with the upgrade", () => {
    const lines = (grantedAt: number): Line[] => [
      [0, "invoke", "acquire", { mode: "shared" }, at(0)],
      [0, "ok", "acquire", { token: 5, untilNs: 5 * SECOND }, at(1)],
      [0, "invoke", "upgrade", { token: 5 }, at(2)],
      [0, "ok", "upgrade", { token: 6, untilNs: 10 * SECOND }, at(3)],
      [1, "invoke", "acquire", { mode: "shared" }, at(4)],
      [1, "ok", "acquire", { token: 9 }, at(grantedAt)],
    ];
    expect(broken(lines(12))).toEqual([]);
    expect(broken(lines(8))).toEqual(["linearizable", "exclusion"]);
  });

  it("the lock of a dead client is inherited in time", () => {
    const lines = (grantedAt: number): Line[] => [
      [0, "invoke", "acquire", { ttlMs: 5_000 }, at(0)],
      [0, "ok", "acquire", { token: 5 }, at(1)],
      [1, "invoke", "acquire", {}, at(2)],
      [1, "info", "queued", undefined, at(3)],
      [0, "info", "crash", undefined, { time: 4 * SECOND }],
      [1, "ok", "acquire", { token: 9 }, at(grantedAt)],
    ];
    expect(broken(lines(10))).toEqual([]);
    expect(broken(lines(60))).toEqual(["leases"]);
  });
});

describe("tokens of services that promise less", () => {
  const onKey = (process: number, key: string, token: number): Line[] => [
    [process, "invoke", "acquire", {}, { key }],
    [process, "ok", "acquire", { token }, { key }],
    [process, "invoke", "release", { token }, { key }],
    [process, "ok", "release", { released: true }, { key }],
  ];
  const brokenIf = (tokensRise: TokensRise, lines: readonly Line[]) =>
    checkHistory(historyOf(lines), { model: lockModel, tokensRise })
      .checks.filter(({ valid }) => valid === false)
      .map(({ check: name }) => name);

  const brokenByKey = (lines: readonly Line[]) => brokenIf("by-key", lines);

  it("tokens without an order only name holds, and two holders remain two holders", () => {
    const falling = [...onKey(0, "a", 9), ...onKey(1, "a", 5)];
    expect(broken(falling)).toEqual(["linearizable", "tokens"]);
    expect(brokenIf("not-at-all", falling)).toEqual([]);
    const both = [...acquired(0, 9), ...acquired(1, 5)];
    expect(brokenIf("not-at-all", both)).toEqual(["linearizable", "exclusion"]);
    const gone = [...onKey(0, "a", 9), ...onKey(0, "a", 9)];
    expect(brokenIf("not-at-all", gone)).toEqual(["tokens"]);
  });

  it("a token may be smaller than one of another key, and of its own it may not", () => {
    const others = [...onKey(0, "a", 9), ...onKey(1, "b", 5)];
    expect(broken(others)).toEqual(["tokens"]);
    expect(brokenByKey(others)).toEqual([]);
    expect(brokenByKey([...others, ...onKey(1, "a", 7)])).toEqual(["linearizable", "tokens"]);
  });

  it("a token that two hold at once breaks exclusion as well", () => {
    const twice = [...acquired(0, 5), ...acquired(1, 5)];
    expect(broken(twice)).toEqual(["linearizable", "tokens", "exclusion"]);
    const inTurn = [...acquired(0, 5), ...released(0, 5), ...acquired(1, 5)];
    expect(broken(inTurn)).toEqual(["linearizable", "tokens"]);
  });
});

describe("order, wake-ups, once and watches", () => {
  const queued = (process: number): Line => [process, "info", "queued", undefined, { key: "a" }];
  const asks = (process: number, priority = 0, seconds = 0): Line => [
    process,
    "invoke",
    "acquire",
    { priority },
    { key: "a", time: seconds * SECOND },
  ];
  const gets = (process: number, token: number): Line => [
    process,
    "ok",
    "acquire",
    { token },
    { key: "a" },
  ];

  it("a later request is not granted first", () => {
    const lines = (first: number, second: number): Line[] => [
      ...acquired(0, 5),
      asks(1),
      queued(1),
      asks(2),
      queued(2),
      ...released(0, 5),
      gets(first, 6),
      ...released(first, 6),
      gets(second, 7),
    ];
    expect(broken(lines(1, 2))).toEqual([]);
    expect(broken(lines(2, 1))).toEqual(["order"]);
  });

  it("a head start is honoured, and only that far", () => {
    const lines = (first: number, second: number): Line[] => [
      ...acquired(0, 5),
      asks(1, 0, 1),
      queued(1),
      asks(2, 5, 2),
      [2, "info", "queued", undefined, { key: "a", time: 3 * SECOND }],
      ...released(0, 5),
      gets(first, 6),
      ...released(first, 6),
      gets(second, 7),
    ];
    expect(broken(lines(2, 1))).toEqual([]);
    expect(broken(lines(1, 2))).toEqual(["order"]);
  });

  it("a client that waits for a free lock at the end was forgotten", () => {
    const lines: Line[] = [
      ...acquired(0, 5),
      asks(1),
      ...released(0, 5),
      ["nemesis", "info", "healed"],
      ["nemesis", "info", "settled"],
    ];
    expect(broken(lines)).toEqual(["wake-ups"]);
    expect(broken(lines.filter(([, , f]) => f !== "release"))).toEqual([]);
  });

  it("who waited when the faults ended, or later, is compared, granted since or still waiting", () => {
    const lines = (granted: boolean): Line[] => [
      ...acquired(0, 5),
      asks(1),
      ["nemesis", "info", "healed"],
      ...(granted ? [...released(0, 5), gets(1, 6)] : []),
      asks(2),
      ["nemesis", "info", "settled"],
    ];
    const compared = (granted: boolean) =>
      check(lines(granted)).checks.find(({ check: name }) => name === "wake-ups");
    expect(compared(true)).toMatchObject({ valid: true, compared: 2 });
    expect(compared(false)).toMatchObject({ valid: true, compared: 2 });
    expect(check([...acquired(0, 5), asks(1)]).checks.map((each) => each.compared)).toContain(0);
  });

  it("watchers see no grant that nobody asked for", () => {
    const change = (process: number, revision: number, kind: string, token: number): Line => [
      process,
      "info",
      "change",
      { watch: `w${process}`, revision: [revision, 0], kind, key: "a", token },
    ];
    const seen = [change(7, 1, "granted", 5), change(7, 2, "released", 5)];
    expect(broken([...acquired(0, 5), ...seen])).toEqual([]);
    expect(broken([...acquired(0, 5), ...seen, change(7, 3, "granted", 6)])).toEqual([
      "exactly-once",
    ]);
    expect(broken([...acquired(0, 5), ...seen, asks(1), change(7, 3, "granted", 6)])).toEqual([]);
    expect(broken([...acquired(0, 5), seen[1] as Line, seen[0] as Line])).toEqual(["watches"]);
    const gap = [change(8, 1, "granted", 5), change(8, 3, "contended", 5)];
    expect(broken([...acquired(0, 5), ...seen, change(7, 3, "contended", 5), ...gap])).toEqual([
      "watches",
    ]);
  });

  it("an inspect shows exactly the holds there can be", () => {
    const inspect = (tokens: readonly number[]): Line[] => [
      [3, "invoke", "inspect", undefined, { key: "a" }],
      [3, "ok", "inspect", { holds: tokens.map((token) => ({ token })) }, { key: "a" }],
    ];
    expect(broken([...acquired(0, 5), ...inspect([5])])).toEqual([]);
    expect(broken([...acquired(0, 5), ...inspect([])])).toEqual(["linearizable"]);
    expect(broken(inspect([5]))).toEqual(["linearizable"]);
    expect(broken([asks(1), ...inspect([5])])).toEqual([]);
  });
});
