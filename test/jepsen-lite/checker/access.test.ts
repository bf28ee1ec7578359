/**
 * The law of access, on histories written by hand and on random ones of a real table of grants: what
 * it accepts, and what it finds.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { checkHistory, type Finding, lockModel } from "../../../jepsen-lite/checker/index.js";
import { seededStream } from "../../../jepsen-lite/harness/seeded-stream.js";
import { historyOf, type Line } from "./histories.js";

type End = "ok" | "fail" | "info";

function judged(lines: readonly Line[]): Finding {
  const { checks } = checkHistory(historyOf(lines), { model: lockModel });
  const finding = checks.find(({ check }) => check === "access");
  if (finding === undefined) throw new Error("access was not checked");
  return finding;
}

const found = (...lines: readonly (readonly Line[])[]) => judged(lines.flat()).anomalies;

const TOOK = { "forbidden command took effect": 1 };
const SHOWN = { "forbidden key shown": 1 };
const REFUSED = { "allowed command refused": 1 };

let lastToken = 0;

/** A request and its answer; `[request, answer]` for what happens between the two. */
function call(as: string | undefined, f: string, end: End, more: object = {}): [Line, Line] {
  const { key, value, result, error, process = as ?? "p" } = more as Record<string, string>;
  const fields = { ...(key === undefined ? {} : { key }), ...(as === undefined ? {} : { as }) };
  return [
    [process, "invoke", f, value, fields],
    [process, end, f, result, error === undefined ? fields : { ...fields, error }],
  ];
}

const grant = (identity: string, level: string, target: object, end: End = "ok") =>
  call("local", "grant", end, { value: { identity, level, ...target } });
const give = (identity: string, credential: string, end: End = "ok") =>
  call("local", "put-credential", end, { value: { identity, credential } });
const take = (credential: string, end: End = "ok") =>
  call("local", "remove-credential", end, { value: { credential } });

function acquire(as: string | undefined, key: string, end: End = "ok"): [Line, Line] {
  lastToken += 1;
  const result = end === "ok" ? { token: lastToken } : undefined;
  return call(as, "acquire", end, { key, result, process: `p${lastToken}` });
}
const refused = (as: string, key: string) => {
  const [asks] = acquire(as, key);
  return [asks, [asks[0], "fail", "acquire", undefined, { key, as, error: "FORBIDDEN" }] as Line];
};
const lists = (as: string, ...keys: readonly string[]) =>
  call(as, "list", "ok", { result: { keys } });

/** The second happens between the request and the answer of the first. */
const during = ([asks, isTold]: readonly [Line, Line], ...between: readonly Line[]): Line[] => {
  return [asks, ...between, isTold];
};

const ON_A = { prefix: "a/" };
const ALL = { prefix: "" };
/** A closed cluster, with an identity that may acquire what begins with `a/`. */
const CLOSED: Line[] = [
  ...give("amber", "amber/1"),
  ...grant("amber", "acquire", ON_A),
  ...grant("anonymous", "none", ALL),
];

describe("what the grants allow", () => {
  it("everything of everybody in a new cluster, as long as it is not closed", () => {
    expect(found(acquire("anonymous", "b"), lists("anonymous", "b"))).toEqual({});
    expect(found(grant("anonymous", "none", ALL), acquire("anonymous", "b"))).toEqual(TOOK);
  });

  it("keys under a prefix, one exact key, and what a higher level includes", () => {
    expect(found(CLOSED, acquire("amber/1", "a/1"), lists("amber/1", "a/1", "a/2"))).toEqual({});
    const one = grant("amber", "operate", { key: "orders" });
    expect(found(CLOSED, one, acquire("amber/1", "orders"))).toEqual({});
    expect(found(CLOSED, one, acquire("amber/1", "orders-secret"))).toEqual(TOOK);
    expect(found(CLOSED, one, lists("amber/1", "orders", "orders-secret"))).toEqual(SHOWN);
  });

  it("what overlaps with a change, whichever of the two was first", () => {
    const lost = grant("amber", "none", ON_A);
    expect(found(CLOSED, during(acquire("amber/1", "a/1"), ...lost))).toEqual({});
    expect(found(CLOSED, during(lost, ...acquire("amber/1", "a/1")))).toEqual({});
    expect(found(CLOSED, during(lost, ...refused("amber/1", "a/1")))).toEqual({});
    const got = grant("amber", "acquire", { key: "b" });
    expect(found(CLOSED, during(got, ...acquire("amber/1", "b")))).toEqual({});
    expect(found(CLOSED, during(got, ...refused("amber/1", "b")))).toEqual({});
  });

  it("both, after a change without an answer, however late it may come", () => {
    const doubtful = grant("amber", "none", ON_A, "info");
    expect(found(CLOSED, doubtful, acquire("amber/1", "a/1"))).toEqual({});
    expect(found(CLOSED, doubtful, refused("amber/1", "a/1"))).toEqual({});
    const late = grant("amber", "acquire", { key: "b" }, "info");
    const lost = grant("amber", "none", { key: "b" });
    expect(found(CLOSED, late, lost, acquire("amber/1", "b"))).toEqual({});
    const [neverEnds] = call("local", "grant", "info", {
      value: { identity: "amber", level: "acquire", key: "b" },
      process: "gone",
    });
    expect(found(CLOSED, [neverEnds], lost, acquire("amber/1", "b"))).toEqual({});
  });

  it("both, after a removal of a credential without an answer", () => {
    const doubtful = take("amber/1", "info");
    expect(found(CLOSED, doubtful, acquire("amber/1", "a/1"))).toEqual({});
    expect(found(CLOSED, doubtful, refused("amber/1", "a/1"))).toEqual({});
  });

  it("every release, and whatever does not say who asks", () => {
    const lost = grant("amber", "none", ON_A);
    const gone = call("amber/1", "release", "ok", { key: "a/1", value: { token: 1 } });
    expect(found(CLOSED, lost, gone, acquire(undefined, "z"))).toEqual({});
  });
});

describe("what the grants forbid", () => {
  it("an acquire of somebody who lost the right, or was given it only later", () => {
    const lost = grant("amber", "none", ON_A);
    expect(found(CLOSED, lost, acquire("amber/1", "a/1"))).toEqual(TOOK);
    const again = grant("amber", "acquire", ON_A);
    expect(found(CLOSED, lost, acquire("amber/1", "a/1"), again)).toEqual(TOOK);
    expect(found(CLOSED, lost, again, acquire("amber/1", "a/1"))).toEqual({});
  });

  it("an acquire after a removal, although another removal has no answer", () => {
    const doubtful = grant("amber", "none", ON_A, "info");
    const lost = grant("amber", "none", ON_A);
    expect(found(CLOSED, doubtful, lost, acquire("amber/1", "a/1"))).toEqual(TOOK);
  });

  it("an acquire by a change that was refused", () => {
    const failed = grant("amber", "acquire", { key: "b" }, "fail");
    expect(found(CLOSED, failed, acquire("amber/1", "b"))).toEqual(TOOK);
  });

  it("everything to clients that prove nothing, or something that nobody was given", () => {
    expect(found(CLOSED, acquire("anonymous", "a/1"))).toEqual(TOOK);
    expect(found(CLOSED, acquire("forged", "a/1"))).toEqual(TOOK);
    expect(found(CLOSED, call("forged", "open", "ok"))).toEqual(TOOK);
    expect(found(CLOSED, call("amber/1", "open", "ok"))).toEqual({});
  });

  it("everything to a credential that was removed, and not to the next one", () => {
    const next = give("amber", "amber/2");
    expect(found(CLOSED, take("amber/1"), next, acquire("amber/1", "a/1"))).toEqual(TOOK);
    expect(found(CLOSED, take("amber/1"), next, acquire("amber/2", "a/1"))).toEqual({});
    expect(found(CLOSED, during(take("amber/1"), ...acquire("amber/1", "a/1")))).toEqual({});
  });

  it("locks to an observer, and orders to one who may acquire", () => {
    const seer = [...give("seer", "seer/1"), ...grant("seer", "observe", ON_A)];
    expect(found(CLOSED, seer, lists("seer/1", "a/1"))).toEqual({});
    expect(found(CLOSED, seer, acquire("seer/1", "a/1"))).toEqual(TOOK);
    for (const f of ["set-limit", "revoke"]) {
      expect(found(CLOSED, call("amber/1", f, "ok", { key: "a/1" })), f).toEqual(TOOK);
    }
    expect(found(CLOSED, call("amber/1", "end-session", "ok"))).toEqual(TOOK);
  });

  it("one key of several, and a steal without the right to it", () => {
    const both = { items: [{ key: "a/1" }, { key: "b" }] };
    const result = { token: 1_000 };
    expect(found(CLOSED, call("amber/1", "acquire", "ok", { value: both, result }))).toEqual(TOOK);
    const steal = { key: "a/1", value: { steal: true }, result };
    expect(found(CLOSED, call("amber/1", "acquire", "ok", steal))).toEqual(TOOK);
  });

  it("reads of keys that were never observable meanwhile", () => {
    const inspect = call("amber/1", "inspect", "ok", { key: "b", result: { holds: [] } });
    expect(found(CLOSED, inspect)).toEqual(TOOK);
    expect(found(CLOSED, lists("amber/1", "b", "c"))).toEqual({ "forbidden key shown": 2 });
    const got = grant("amber", "observe", { key: "b" });
    expect(found(CLOSED, during(lists("amber/1", "b"), ...got))).toEqual({});
  });

  it("changes of access by others than admins, which give nobody a right if unanswered", () => {
    const value = { identity: "amber", level: "admin", ...ALL };
    const promoted = (end: End) => call("amber/1", "grant", end, { value });
    expect(found(CLOSED, promoted("ok"))).toEqual(TOOK);
    expect(found(CLOSED, promoted("info"), acquire("amber/1", "b"))).toEqual(TOOK);
    const admin = grant("amber", "admin", ALL);
    expect(found(CLOSED, admin, promoted("ok"), acquire("amber/1", "b"))).toEqual({});
  });
});

it("a refusal as forbidden, of what was allowed all the time, is found", () => {
  expect(found(CLOSED, refused("amber/1", "a/1"))).toEqual(REFUSED);
  expect(found(CLOSED, refused("amber/1", "b"))).toEqual({});
  const [asks] = acquire("amber/1", "a/1");
  const held: Line = [asks[0], "fail", "acquire", undefined, { key: "a/1", error: "LOCK_HELD" }];
  expect(found(CLOSED, [asks, held])).toEqual({});
});

it("a forbidden command without an answer explains nothing to the checks of locks", () => {
  const brokenBy = (as: string) => {
    const revoke = call(as, "revoke", "info", { key: "a/1" });
    const lines = [CLOSED, acquire("amber/1", "a/1"), revoke, acquire("amber/1", "a/1")].flat();
    const { checks } = checkHistory(historyOf(lines), { model: lockModel });
    return checks.filter(({ valid }) => valid === false).map(({ check }) => check);
  };
  expect(brokenBy("forged")).toEqual(["linearizable", "exclusion"]);
  expect(brokenBy("local")).toEqual([]);
});

it("says who asked, for what, and which changes came before", () => {
  const lost = grant("amber", "none", ON_A);
  const { violations, figures } = judged([...CLOSED, ...lost, ...acquire("amber/1", "a/1")]);
  expect(violations[0]?.text).toMatch(
    /^process p\d+, as amber\/1, was told that its acquire of `a\/1` succeeded, which no grant allowed at that time$/,
  );
  expect(violations[0]?.steps.map(({ text }) => text).slice(-4, -2)).toEqual([
    'process local as local asks: grant {"identity":"amber","level":"none","prefix":"a/"}',
    "process local as local gets: grant",
  ]);
  expect(figures).toEqual({ forbiddenAttempts: 1, accessChanges: 4, unknownAccessChanges: 0 });
});

describe("random histories", () => {
  const LEVELS = ["none", "observe", "acquire", "operate"] as const;
  const KEYS = ["a/1", "a/2", "ab"];
  const TARGETS = [{ prefix: "a/" }, { prefix: "a" }, { key: "a/1" }, { key: "ab" }];

  /** The history of a table of grants, which judges each command at one moment if `isJudging`. */
  function played(seed: number, isJudging: boolean): Line[] {
    const random = seededStream(seed, "access");
    const table = new Map<string, number>();
    const lines: Line[] = [...give("amber", "amber/1"), ...grant("anonymous", "none", ALL)];
    const levelAt = (key: string) => {
      const covering = TARGETS.filter((target) => {
        return "prefix" in target ? key.startsWith(target.prefix) : key === target.key;
      });
      return Math.max(0, ...covering.map((target) => table.get(JSON.stringify(target)) ?? 0));
    };
    const begin = (process: number): (() => void)[] => {
      const isChange = random.chance(0.4);
      const level = random.below(LEVELS.length);
      const target = random.pick(TARGETS);
      const key = random.pick(KEYS);
      const isUnknown = random.chance(0.15);
      let isAllowed = true;
      const value = { identity: "amber", level: LEVELS[level], ...target };
      const f = isChange ? "grant" : "set-limit";
      const more = isChange ? { as: "local" } : { as: "amber/1", key };
      lines.push([process, "invoke", f, isChange ? value : undefined, more]);
      const effect = () => {
        if (isChange) table.set(JSON.stringify(target), level);
        else isAllowed = !isJudging || levelAt(key) >= LEVELS.indexOf("operate");
      };
      const answer = () => {
        if (isUnknown) lines.push([process, "info", f, undefined, more]);
        else if (isAllowed) lines.push([process, "ok", f, undefined, more]);
        else lines.push([process, "fail", f, undefined, { ...more, error: "FORBIDDEN" }]);
      };
      // Without an answer it may take effect later, or never.
      if (!isUnknown) return [effect, answer];
      return random.chance(0.5) ? [answer, effect] : [answer];
    };
    const open = new Map<number, (() => void)[]>();
    const late: (() => void)[] = [];
    for (let move = 0; move < 120; move += 1) {
      const process = random.below(4);
      const steps = open.get(process) ?? begin(process);
      if (!open.has(process)) open.set(process, steps);
      else steps.shift()?.();
      if (random.chance(0.1)) late.shift()?.();
      const isAnswered = lines.at(-1)?.[1] !== "invoke" && lines.at(-1)?.[0] === process;
      if (!isAnswered) continue;
      late.push(...steps);
      open.delete(process);
    }
    return lines;
  }

  it("of a table that judges each command at its moment are valid", () => {
    fc.assert(
      fc.property(fc.nat(), (seed) => {
        expect(found(played(seed, true))).toEqual({});
      }),
      { numRuns: 300 },
    );
  });

  it("of a table that judges nothing are mostly not", () => {
    const seeds = Array.from({ length: 50 }, (_, seed) => seed);
    const caught = seeds.filter((seed) => !judged(played(seed, false)).valid);
    expect(caught.length).toBeGreaterThan(25);
  });
});
