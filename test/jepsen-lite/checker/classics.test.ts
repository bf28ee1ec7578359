import { describe, expect, it } from "vitest";
import { checkHistory } from "../../../jepsen-lite/checker/index.js";
import { modelNamed } from "../../../jepsen-lite/foreign/index.js";
import { historyOf, type Line } from "./histories.js";

function verdictOf(model: string, lines: readonly Line[], init?: unknown): unknown {
  return checkHistory(historyOf(lines), { model: modelNamed(model, { init }) }).valid;
}

describe("registers", () => {
  it("a stale read after an acknowledged write is invalid", () => {
    const lines: Line[] = [
      [0, "invoke", "write", 1],
      [0, "ok", "write", 1],
      [1, "invoke", "write", 2],
      [1, "ok", "write", 2],
      [2, "invoke", "read"],
      [2, "ok", "read", 1],
    ];
    expect(verdictOf("register", lines)).toBe(false);
  });

  it("a read that overlaps the write may see either value, but never the old one afterwards", () => {
    const lines = (later: number): Line[] => [
      [0, "invoke", "write", 1],
      [0, "ok", "write", 1],
      [0, "invoke", "write", 2],
      [1, "invoke", "read"],
      [1, "ok", "read", 2],
      [2, "invoke", "read"],
      [2, "ok", "read", later],
      [0, "ok", "write", 2],
    ];
    expect(verdictOf("register", lines(2))).toBe(true);
    expect(verdictOf("register", lines(1))).toBe(false);
  });

  it("a write without an answer may take effect much later, once", () => {
    const lines = (last: number): Line[] => [
      [0, "invoke", "write", 1],
      [0, "info", "write"],
      [1, "invoke", "write", 2],
      [1, "ok", "write", 2],
      [2, "invoke", "read"],
      [2, "ok", "read", 2],
      [2, "invoke", "read"],
      [2, "ok", "read", 1],
      [2, "invoke", "read"],
      [2, "ok", "read", last],
    ];
    expect(verdictOf("register", lines(1))).toBe(true);
    expect(verdictOf("register", lines(2))).toBe(false);
  });

  it("a write that failed never happened", () => {
    const lines: Line[] = [
      [0, "invoke", "write", 1],
      [0, "fail", "write", 1],
      [1, "invoke", "read"],
      [1, "ok", "read", 1],
    ];
    expect(verdictOf("register", lines)).toBe(false);
  });

  it("the first value is null, or what --init says", () => {
    const read = (value: unknown): Line[] => [
      [0, "invoke", "read"],
      [0, "ok", "read", value],
    ];
    expect(verdictOf("register", read(null))).toBe(true);
    expect(verdictOf("register", read(0))).toBe(false);
    expect(verdictOf("register", read(0), 0)).toBe(true);
    // Nothing was written yet: a store may say so, whatever that stands for.
    expect(verdictOf("register", read(null), 0)).toBe(true);
    const written: Line[] = [
      [1, "invoke", "write", 0],
      [1, "ok", "write", 0],
    ];
    expect(verdictOf("register", [...written, ...read(null)], 0)).toBe(false);
    expect(verdictOf("register", read({ b: 1, a: [2] }), { a: [2], b: 1 })).toBe(true);
  });

  it("two compare-and-sets from the same value are a lost update", () => {
    const lines: Line[] = [
      [0, "invoke", "write", 0],
      [0, "ok", "write", 0],
      [1, "invoke", "cas", [0, 1]],
      [2, "invoke", "cas", [0, 2]],
      [1, "ok", "cas", [0, 1]],
      [2, "ok", "cas", [0, 2]],
    ];
    expect(verdictOf("cas-register", lines)).toBe(false);
  });

  it("writes to two keys in crossed order are fine, since keys are separate objects", () => {
    const lines: Line[] = [
      [0, "invoke", "read", undefined, { key: "x" }],
      [1, "invoke", "read", undefined, { key: "y" }],
      [0, "ok", "read", null, { key: "x" }],
      [1, "ok", "read", null, { key: "y" }],
      [0, "invoke", "write", 1, { key: "y" }],
      [1, "invoke", "write", 1, { key: "x" }],
      [0, "ok", "write", 1, { key: "y" }],
      [1, "ok", "write", 1, { key: "x" }],
    ];
    expect(verdictOf("register", lines)).toBe(true);
  });

  it("a refused compare-and-set says what the value was not, if it is asked to", () => {
    const events = historyOf([
      [0, "invoke", "write", 1],
      [0, "ok", "write", 1],
      [1, "invoke", "cas", [1, 2]],
      [1, "fail", "cas", [1, 2]],
    ]);
    expect(checkHistory(events, { model: modelNamed("cas-register") }).valid).toBe(true);
    const strict = checkHistory(events, {
      model: modelNamed("cas-register", { failedCas: "mismatch" }),
    });
    expect(strict.valid).toBe(false);
  });
});

describe("mutex and kv", () => {
  it("a mutex that two hold at once is invalid; the release of one in doubt explains it", () => {
    const lines: Line[] = [
      [0, "invoke", "acquire"],
      [0, "ok", "acquire"],
      [1, "invoke", "acquire"],
      [1, "ok", "acquire"],
    ];
    expect(verdictOf("mutex", lines)).toBe(false);
    const doubted: Line[] = [
      ...lines.slice(0, 2),
      [0, "invoke", "release"],
      [0, "info", "release"],
      ...lines.slice(2),
    ];
    expect(verdictOf("mutex", doubted)).toBe(true);
    expect(
      verdictOf("mutex", [
        [0, "invoke", "release"],
        [0, "ok", "release"],
      ]),
    ).toBe(false);
    expect(
      verdictOf(
        "mutex",
        [
          [0, "invoke", "release"],
          [0, "ok", "release"],
        ],
        true,
      ),
    ).toBe(true);
  });

  it("an append that was lost, doubled or reordered is invalid", () => {
    const lines = (text: string): Line[] => [
      [0, "invoke", "append", "a", { key: "k" }],
      [0, "ok", "append", "a", { key: "k" }],
      [0, "invoke", "append", "b", { key: "k" }],
      [0, "ok", "append", "b", { key: "k" }],
      [1, "invoke", "get", null, { key: "k" }],
      [1, "ok", "get", text, { key: "k" }],
    ];
    expect(verdictOf("kv", lines("ab"))).toBe(true);
    for (const wrong of ["a", "b", "ba", "abb", ""])
      expect(verdictOf("kv", lines(wrong))).toBe(false);
  });
});

describe("the budget", () => {
  /** Every cas between five values, all at once, and a read that no order of them explains. */
  const hard: Line[] = [];
  const at = { key: "hard" };
  const pairs = [0, 1, 2, 3, 4].flatMap((from) =>
    [0, 1, 2, 3, 4].filter((to) => to !== from).map((to) => [from, to]),
  );
  hard.push(["w", "invoke", "write", 0, at], ["w", "ok", "write", 0, at]);
  for (const [process, pair] of pairs.entries()) hard.push([process, "invoke", "cas", pair, at]);
  for (const [process, pair] of pairs.entries()) hard.push([process, "ok", "cas", pair, at]);
  hard.push([0, "invoke", "read", null, at], [0, "ok", "read", 99, at]);
  const model = "cas-register";

  it("running out of steps is unknown, never a guess", () => {
    const result = checkHistory(historyOf(hard), {
      model: modelNamed(model),
      budget: { steps: 50_000 },
    });
    expect(result.valid).toBe("unknown");
    expect(result.undecided).toEqual(["hard: the step budget ran out"]);
    const bounded = checkHistory(historyOf(hard), {
      model: modelNamed(model),
      budget: { bytes: 1 << 20 },
    });
    expect(bounded.undecided).toEqual(["hard: the memory budget ran out"]);
    expect(checkHistory(historyOf(hard), { model: modelNamed(model) }).valid).toBe(false);
  });

  it("a hard key does not hide the violation of an easy one", () => {
    const events = historyOf([
      ...hard,
      [0, "invoke", "read", null, { key: "easy" }],
      [0, "ok", "read", "thin air", { key: "easy" }],
    ]);
    const result = checkHistory(events, { model: modelNamed(model), budget: { steps: 100_000 } });
    expect(result.valid).toBe(false);
    expect(result.counterexample?.keys).toEqual(["easy"]);
  });
});

describe("many operations at once", () => {
  const processes = Array.from({ length: 40 }, (_, process) => process);
  const budget = { steps: 100_000 };

  it("of writes at once any may come last, but only one does", () => {
    const history = (...answers: number[]) =>
      historyOf([
        ...processes.map((process): Line => [process, "invoke", "write", process]),
        ...processes.map((process): Line => [process, "ok", "write"]),
        ...answers.flatMap((answer): Line[] => [
          [0, "invoke", "read"],
          [0, "ok", "read", answer],
        ]),
      ]);
    const check = (...answers: number[]) =>
      checkHistory(history(...answers), { model: modelNamed("register"), budget }).valid;
    for (const last of processes) expect(check(last, last)).toBe(true);
    expect(check(17, 18)).toBe(false);
    expect(check(40)).toBe(false);
  });

  it("of appends at once every order is possible, and all of them are in it", () => {
    const key = { key: "k" };
    const history = (answer: string) =>
      historyOf([
        ...processes.map((process): Line => [process, "invoke", "append", `${process};`, key]),
        ...processes.map((process): Line => [process, "ok", "append", undefined, key]),
        [0, "invoke", "get", null, key],
        [0, "ok", "get", answer, key],
      ]);
    const check = (texts: readonly string[]) =>
      checkHistory(history(texts.join("")), { model: modelNamed("kv"), budget }).valid;
    const texts = processes.map((process) => `${process};`);
    expect(check(texts)).toBe(true);
    expect(check(texts.toReversed())).toBe(true);
    expect(check(texts.slice(1))).toBe(false);
    expect(check([...texts, "17;"])).toBe(false);
    expect(check(["none of them"])).toBe(false);
  });

  it("of two equal appends the one that a put can have hidden is not the one that was read", () => {
    const key = { key: "k" };
    const history = (last: string): Line[] => [
      [1, "invoke", "append", "a", key],
      [0, "invoke", "put", "x", key],
      [0, "ok", "put", "x", key],
      [2, "invoke", "append", "a", key],
      [0, "invoke", "get", null, key],
      [0, "ok", "get", "xa", key],
      [1, "ok", "append", "a", key],
      [2, "ok", "append", "a", key],
      [0, "invoke", "get", null, key],
      [0, "ok", "get", last, key],
    ];
    for (const last of ["xa", "xaa"]) {
      expect(checkHistory(historyOf(history(last)), { model: modelNamed("kv") }).valid).toBe(true);
    }
    for (const last of ["x", "a", "xaaa"]) {
      expect(checkHistory(historyOf(history(last)), { model: modelNamed("kv") }).valid).toBe(false);
    }
  });

  it("a write that was overwritten unseen leaves an order that replays", () => {
    const events = historyOf([
      [0, "invoke", "write", 1],
      [1, "invoke", "write", 2],
      [2, "invoke", "write", 3],
      [1, "ok", "write"],
      [3, "invoke", "read"],
      [3, "ok", "read", 2],
      [0, "ok", "write"],
      [2, "ok", "write"],
      [3, "invoke", "read"],
      [3, "ok", "read", 2],
    ]);
    const { valid, linearizations } = checkHistory(events, {
      model: modelNamed("register"),
      withLinearizations: true,
    });
    expect(valid).toBe(true);
    const order = linearizations?.[0]?.order.map(({ step }) => step.action.text);
    expect(order?.slice(-3)).toEqual(["write 2", "read 2", "read 2"]);
    expect(order?.slice(0, 2).sort()).toEqual(["write 1", "write 3"]);
  });
});

describe("the counterexample", () => {
  it("names the shortest prefix, the answer that cannot be explained, and the last states", () => {
    const events = historyOf([
      [0, "invoke", "write", 0],
      [0, "ok", "write", 0],
      [1, "invoke", "read"],
      [2, "invoke", "write", 4],
      [1, "ok", "read", 3],
      [2, "ok", "write", 4],
      [3, "invoke", "read"],
      [3, "ok", "read", 4],
    ]);
    const { counterexample } = checkHistory(events, { model: modelNamed("register") });
    expect(counterexample).toMatchObject({
      prefixEvents: 5,
      line: 5,
      operation: { process: "1", text: "read 3", invokeLine: 3 },
      previous: { text: "write 0" },
      concurrent: [{ process: "2", text: "write 4" }],
    });
    expect(counterexample?.lastStates).toMatchObject([
      {
        state: "value 0",
        refused: [
          "process 1 read 3 (line 3): impossible here",
          "process 2 write 4 (line 4): then value 4, a dead end",
        ],
      },
    ]);
  });
});
