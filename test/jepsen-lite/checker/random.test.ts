import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { checkHistory, type HistoryEvent, lockModel } from "../../../jepsen-lite/checker/index.js";
import { modelNamed } from "../../../jepsen-lite/foreign/index.js";
import { runsOf } from "../../runs.js";
import { isLinearizable, PLAIN_OBJECTS, type PlainObject } from "./brute-force.js";
import { randomHistory, randomLockHistory } from "./histories.js";

const RUNS = runsOf(400);

function plainObject(model: string): PlainObject {
  const object = PLAIN_OBJECTS[model];
  if (object === undefined) throw new RangeError(`no plain object for ${model}`);
  return object;
}

/** Runs of the property, and how often the definition said yes: both answers must be common. */
function compare(
  model: string,
  histories: fc.Arbitrary<HistoryEvent[]>,
  verdictOf: (events: readonly HistoryEvent[]) => unknown,
  toPlain: (events: readonly HistoryEvent[]) => HistoryEvent[],
): { valid: number; invalid: number } {
  const seen = { valid: 0, invalid: 0 };
  fc.assert(
    fc.property(histories, (events) => {
      const expected = isLinearizable(toPlain(events), plainObject(model));
      seen[expected ? "valid" : "invalid"] += 1;
      expect(verdictOf(events)).toBe(expected);
    }),
    { numRuns: RUNS },
  );
  return seen;
}

describe("the checker agrees with the definition, tried literally", () => {
  for (const model of ["register", "cas-register", "mutex", "kv"]) {
    it(`on random histories of ${model}`, () => {
      const seen = compare(
        model,
        randomHistory(model, { movesMax: 14 }),
        (events) => checkHistory(events, { model: modelNamed(model) }).valid,
        (events) => [...events],
      );
      expect(seen.valid).toBeGreaterThan(RUNS / 50);
      expect(seen.invalid).toBeGreaterThan(RUNS / 50);
    });
  }

  for (const model of ["register", "cas-register", "kv"]) {
    it(`on random histories of ${model} with hardly anything in order`, () => {
      const seen = compare(
        model,
        randomHistory(model, { movesMax: 18, processes: 7 }),
        (events) => checkHistory(events, { model: modelNamed(model) }).valid,
        (events) => [...events],
      );
      expect(seen.valid).toBeGreaterThan(RUNS / 50);
      expect(seen.invalid).toBeGreaterThan(RUNS / 50);
    });
  }

  it("on random histories of locks with tokens and losses", () => {
    const seen = compare(
      "lock",
      randomLockHistory(14),
      (events) => linearizableWithTokens(events),
      lossesAsOperations,
    );
    expect(seen.valid).toBeGreaterThan(RUNS / 50);
    expect(seen.invalid).toBeGreaterThan(RUNS / 50);
  });
});

describe("what comes with a verdict", () => {
  it("a true verdict brings an order that replays and keeps real time", () => {
    fc.assert(
      fc.property(randomHistory("cas-register", { movesMax: 16 }), (events) => {
        const result = checkHistory(events, {
          model: modelNamed("cas-register"),
          withLinearizations: true,
        });
        fc.pre(result.valid === true);
        for (const { order } of result.linearizations ?? []) replay(order.map(({ step }) => step));
      }),
      { numRuns: RUNS },
    );
  });

  it("a false verdict names the shortest prefix: one line less is valid", () => {
    fc.assert(
      fc.property(randomHistory("cas-register", { movesMax: 16 }), (events) => {
        const { counterexample } = checkHistory(events, { model: modelNamed("cas-register") });
        fc.pre(counterexample !== undefined);
        const { prefixEvents } = counterexample as { prefixEvents: number };
        // Answers that came later are known: an operation that failed later did not happen.
        const prefix = (length: number) => withLaterAnswers(events, length);
        const plain = plainObject("cas-register");
        expect(isLinearizable(prefix(prefixEvents), plain)).toBe(false);
        expect(isLinearizable(prefix(prefixEvents - 1), plain)).toBe(true);
      }),
      { numRuns: RUNS },
    );
  });
});

/** Keys are searched one by one; what tokens say across keys is a check of its own. */
function linearizableWithTokens(events: readonly HistoryEvent[]): unknown {
  const { checks } = checkHistory(events, { model: lockModel });
  return checks
    .filter(({ check }) => check === "linearizable" || check === "tokens")
    .every(({ valid }) => valid === true);
}

/** A loss, or a release without an answer, as an operation that may happen from then on. */
function lossesAsOperations(events: readonly HistoryEvent[]): HistoryEvent[] {
  return events.map((event, position) => {
    if (event.f !== "lost") return event;
    return { ...event, type: "invoke", f: "lose", process: `loss ${position}` };
  });
}

interface Replayed {
  readonly action: { readonly text: string };
  readonly operation:
    | { readonly f: string; readonly argument: unknown; readonly result: unknown }
    | undefined;
  readonly invokedAt: number;
  readonly returnedAt: number;
}

function replay(steps: readonly Replayed[]): void {
  let state: unknown = null;
  for (const [position, step] of steps.entries()) {
    const { f, argument, result } = step.operation as NonNullable<Replayed["operation"]>;
    if (f === "write") state = argument;
    else if (f === "read") expect(result).toBe(state);
    else {
      const [from, to] = argument as [unknown, unknown];
      expect(state).toBe(from);
      state = to;
    }
    for (const later of steps.slice(position + 1)) {
      expect(later.returnedAt, `${later.action.text} returned first`).toBeGreaterThan(
        step.invokedAt,
      );
    }
  }
}

/** The first lines; operations still open get the answer they got later, if they failed. */
function withLaterAnswers(events: readonly HistoryEvent[], length: number): HistoryEvent[] {
  const prefix = events.slice(0, length);
  const failed = events.slice(length).filter(({ type }) => type === "fail");
  const isOpen = (late: HistoryEvent) => {
    const last = prefix.findLast(({ process }) => process === late.process);
    return last?.type === "invoke" && last.f === late.f;
  };
  const firstOf = new Map<string, HistoryEvent>();
  for (const event of events.slice(length)) {
    if (!firstOf.has(event.process)) firstOf.set(event.process, event);
  }
  return [
    ...prefix,
    ...failed.filter((late) => isOpen(late) && firstOf.get(late.process) === late),
  ];
}
