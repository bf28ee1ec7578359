import { describe, expect, it } from "vitest";
import { checkHistory } from "../../jepsen-lite/checker/index.js";
import { historyOf, type Line } from "./checker-histories.js";

function verdictOf(model: string, lines: readonly Line[], init?: unknown): unknown {
  const options = init === undefined ? { model } : { model, init };
  return checkHistory(historyOf(lines), options).valid;
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
    expect(verdictOf("register", read(null), 0)).toBe(false);
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
    expect(checkHistory(events, { model: "cas-register" }).valid).toBe(true);
    const strict = checkHistory(events, { model: "cas-register", failedCas: "mismatch" });
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
  it("running out of steps is unknown, never a guess", () => {
    const lines: Line[] = [];
    for (let process = 0; process < 14; process += 1)
      lines.push([process, "invoke", "append", `${process};`, { key: "k" }]);
    for (let process = 0; process < 14; process += 1)
      lines.push([process, "ok", "append", undefined, { key: "k" }]);
    lines.push(
      [0, "invoke", "get", null, { key: "k" }],
      [0, "ok", "get", "none of them", { key: "k" }],
    );
    const result = checkHistory(historyOf(lines), { model: "kv", budget: { steps: 50_000 } });
    expect(result.valid).toBe("unknown");
    expect(result.undecided).toEqual(["k: the budget of steps ran out"]);
    const bounded = checkHistory(historyOf(lines), { model: "kv", budget: { bytes: 4 << 20 } });
    expect(bounded.undecided).toEqual(["k: the budget of memory ran out"]);
  });

  it("a hard key does not hide the violation of an easy one", () => {
    const lines: Line[] = [];
    for (let process = 0; process < 14; process += 1)
      lines.push([process, "invoke", "append", `${process};`, { key: "hard" }]);
    for (let process = 0; process < 14; process += 1)
      lines.push([process, "ok", "append", undefined, { key: "hard" }]);
    lines.push(
      [0, "invoke", "get", null, { key: "hard" }],
      [0, "ok", "get", "nothing like it", { key: "hard" }],
    );
    lines.push(
      [0, "invoke", "get", null, { key: "easy" }],
      [0, "ok", "get", "thin air", { key: "easy" }],
    );
    const result = checkHistory(historyOf(lines), { model: "kv", budget: { steps: 100_000 } });
    expect(result.valid).toBe(false);
    expect(result.counterexample?.keys).toEqual(["easy"]);
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
    const { counterexample } = checkHistory(events, { model: "register" });
    expect(counterexample).toMatchObject({
      prefixEvents: 5,
      line: 5,
      operation: { process: "1", text: "read 3", invokeLine: 3 },
      previous: { text: "write 0" },
      concurrent: [{ process: "2", text: "write 4" }],
    });
    const states = counterexample?.lastStates.map(({ state }) => state);
    expect(states).toEqual(["value 0", "value 4"]);
  });
});
