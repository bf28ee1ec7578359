/**
 * Operations of unknown outcome are what makes checking hard: each may have taken effect at any later
 * time, or never. These histories are full of them, and their verdicts are known by construction or
 * from the definition.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { checkHistory, type HistoryEvent } from "../../../jepsen-lite/checker/index.js";
import { OpenUses } from "../../../jepsen-lite/checker/linearizable/open-uses.js";
import type { Part } from "../../../jepsen-lite/checker/linearizable/problem.js";
import { Refinement } from "../../../jepsen-lite/checker/linearizable/refinement.js";
import { layOut } from "../../../jepsen-lite/checker/linearizable/timeline.js";
import { pairOperations } from "../../../jepsen-lite/checker/operations.js";
import { modelNamed, readHistory } from "../../../jepsen-lite/foreign/index.js";
import { runsOf } from "../../runs.js";
import { isLinearizable, PLAIN_OBJECTS, type PlainObject } from "./brute-force.js";
import { historyOf, type Line, MOSTLY_UNKNOWN, randomHistory, validHistory } from "./histories.js";

const RUNS = runsOf(400);
const SCHEDULE = { movesMax: 16, ends: MOSTLY_UNKNOWN };
/** Far beyond what any of these histories needs, far below what trying everything would. */
const STEPS_MAX = 1_000_000;
const BYTES_MAX = 256 * 1024 * 1024;

function plainObject(model: string): PlainObject {
  const object = PLAIN_OBJECTS[model];
  if (object === undefined) throw new RangeError(`no plain object for ${model}`);
  return object;
}

function partsOf(model: string, events: readonly HistoryEvent[]): readonly Part<unknown>[] {
  const { functions, parts } = modelNamed(model);
  return parts(pairOperations(events, functions));
}

function refine(part: Part<unknown>): {
  readonly status: string;
  readonly refinement: Refinement<unknown>;
} {
  const timeline = layOut(part);
  if (timeline === undefined) throw new RangeError("a small history is never too concurrent");
  const refinement = new Refinement(timeline, new OpenUses(timeline));
  return { status: refinement.run(STEPS_MAX, BYTES_MAX), refinement };
}

describe("the refinement alone agrees with the definition, tried literally", () => {
  for (const model of ["register", "cas-register", "mutex", "kv"]) {
    it(`on random histories of ${model} with hardly an answer`, () => {
      const seen = { valid: 0, invalid: 0 };
      fc.assert(
        fc.property(randomHistory(model, SCHEDULE), (events) => {
          const expected = isLinearizable(events, plainObject(model));
          seen[expected ? "valid" : "invalid"] += 1;
          const statuses = partsOf(model, events).map((part) => refine(part).status);
          const isExplained = statuses.every((status) => status === "linearizable");
          expect(isExplained || statuses.includes("not-linearizable")).toBe(true);
          expect(isExplained).toBe(expected);
        }),
        { numRuns: RUNS },
      );
      expect(seen.valid).toBeGreaterThan(RUNS / 50);
      expect(seen.invalid).toBeGreaterThan(RUNS / 50);
    });
  }

  it("and names the shortest prefix, also where the relaxation got further", () => {
    fc.assert(
      fc.property(randomHistory("cas-register", SCHEDULE), (events) => {
        const [part] = partsOf("cas-register", events);
        fc.pre(part !== undefined);
        const { status, refinement } = refine(part);
        fc.pre(status === "not-linearizable");
        const { search, layer, isShortest } = refinement.refutation ?? {};
        const length = (search?.timeline.certain[layer ?? 0]?.returnedAt ?? 0) + 1;
        expect(isShortest).toBe(true);
        const plain = plainObject("cas-register");
        // None of these histories has a fail: what is open at the end of a prefix is just open.
        expect(isLinearizable(events.slice(0, length), plain)).toBe(false);
        expect(isLinearizable(events.slice(0, length - 1), plain)).toBe(true);
      }),
      { numRuns: RUNS },
    );
  });

  it("its explanations take no step more often than it was asked for", () => {
    fc.assert(
      fc.property(randomHistory("cas-register", SCHEDULE), (events) => {
        const [part] = partsOf("cas-register", events);
        fc.pre(part !== undefined);
        const { status, refinement } = refine(part);
        fc.pre(status === "linearizable");
        const { search } = refinement;
        const taken = new Map<number, number>();
        for (const { openClass } of search.path(search.success)) {
          if (openClass !== -1) taken.set(openClass, (taken.get(openClass) ?? 0) + 1);
        }
        for (const [openClass, times] of taken) {
          const asked = search.timeline.openClasses[openClass]?.steps.length;
          expect(times).toBeLessThanOrEqual(asked ?? 0);
        }
      }),
      { numRuns: RUNS },
    );
  });
});

describe("sixty and more operations of unknown outcome on one register", () => {
  /** Valid, because a real register made it; the values of `register` are 0 to 4. */
  function longHistory(model: "register" | "cas-register", seed: number): Line[] {
    const options = { operations: 400, keys: 1, processes: 5, seed, unknownShare: 0.25 };
    const { events } = readHistory(validHistory(model, options).join("\n"));
    expect(events.filter(({ type }) => type === "info").length).toBeGreaterThan(60);
    return events.map(({ process, type, f, value, key }) => [process, type, f, value, { key }]);
  }

  /** Each asks after the one before was answered. */
  function inOrder(...calls: readonly (readonly [f: string, value: unknown])[]): Line[] {
    return calls.flatMap(([f, value]): Line[] => [
      ["after", "invoke", f, f === "read" ? undefined : value, { key: "key-0" }],
      ["after", "ok", f, value, { key: "key-0" }],
    ]);
  }

  function check(model: string, lines: readonly Line[]): unknown {
    return checkHistory(historyOf(lines), {
      model: modelNamed(model),
      budget: { steps: STEPS_MAX },
    }).valid;
  }

  for (const model of ["register", "cas-register"] as const) {
    for (const seed of [1, 2, 3, 4, 5]) {
      it(`${model}, seed ${seed}: what a real one answered is valid`, () => {
        expect(check(model, longHistory(model, seed))).toBe(true);
      });

      it(`${model}, seed ${seed}: a value that nobody wrote is invalid`, () => {
        expect(check(model, [...longHistory(model, seed), ...inOrder(["read", 99])])).toBe(false);
      });

      it(`${model}, seed ${seed}: a value that was overwritten for good is invalid`, () => {
        const tail = inOrder(["write", 98], ["write", 97], ["read", 98]);
        expect(check(model, [...longHistory(model, seed), ...tail])).toBe(false);
      });
    }
  }

  it("an unknown write of every value explains each of them once, and none twice", () => {
    const values = Array.from({ length: 70 }, (_, value) => value + 100);
    const asked = values.flatMap((value): Line[] => [
      [`lost-${value}`, "invoke", "write", value],
      [`lost-${value}`, "info", "write", value],
    ]);
    const seen = (value: number): Line[] => [
      ["a", "invoke", "write", 1],
      ["a", "ok", "write", 1],
      ["a", "invoke", "read"],
      ["a", "ok", "read", value],
    ];
    const backwards = values.toReversed().flatMap(seen);
    expect(check("register", [...asked, ...backwards])).toBe(true);
    expect(check("register", [...asked, ...backwards, ...seen(133)])).toBe(false);
  });

  it("a chain of unknown cas leads from value to value, once", () => {
    const chain = Array.from({ length: 60 }, (_, value): Line[] => [
      [`lost-${value}`, "invoke", "cas", [value, value + 1]],
      [`lost-${value}`, "info", "cas", [value, value + 1]],
    ]).flat();
    const jump: Line[] = [
      ["a", "invoke", "write", 0],
      ["a", "ok", "write", 0],
      ["a", "invoke", "read"],
      ["a", "ok", "read", 60],
    ];
    expect(check("cas-register", [...chain, ...jump])).toBe(true);
    expect(check("cas-register", [...chain, ...jump, ...jump])).toBe(false);
  });

  it("an unknown write of the value that is there overwrites a write that nothing saw", () => {
    // Only so: write 1, write 2, write 1 of unknown outcome, cas [1, 0], cas [0, 0].
    const lines: Line[] = [
      ["a", "invoke", "write", 1],
      ["a", "ok", "write", 1],
      ["lost", "invoke", "write", 1],
      ["b", "invoke", "write", 2],
      ["a", "invoke", "cas", [1, 0]],
      ["a", "ok", "cas", [1, 0]],
      ["b", "ok", "write", 2],
      ["a", "invoke", "cas", [0, 0]],
      ["lost", "info", "write", 1],
      ["a", "ok", "cas", [0, 0]],
    ];
    expect(check("cas-register", lines)).toBe(true);
    expect(
      check(
        "cas-register",
        lines.filter(([process]) => process !== "lost"),
      ),
    ).toBe(false);
  });

  it("an unknown write that was asked for too late explains nothing", () => {
    const lines: Line[] = [
      ["a", "invoke", "read"],
      ["a", "ok", "read", 1],
      ["b", "invoke", "write", 1],
      ["b", "info", "write", 1],
    ];
    expect(check("register", lines)).toBe(false);
    expect(check("register", [...lines.slice(2), ...lines.slice(0, 2)])).toBe(true);
  });
});
