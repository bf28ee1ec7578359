import { describe, expect, it } from "vitest";
import { phraseText, whoPhrase } from "../../../dashboard/parts/phrase.js";
import { distributionOf, distributionText } from "../../../dashboard/views/lock/distribution.js";
import { explainPhrases } from "../../../dashboard/views/lock/explain-phrase.js";
import { type HeldPeriod, tenureBars } from "../../../dashboard/views/lock/tenure-bars.js";
import type { Blocker, ExplainedKey, ExplainView, WaiterView } from "../../../src/index.js";

const REQUEST = { session: 5, sequence: 1 } as WaiterView;

function explained(parts: Partial<ExplainedKey>): ExplainedKey {
  return {
    key: "orders/1",
    mode: "exclusive",
    isEligible: false,
    aheadCount: 0,
    blockers: [],
    closings: [],
    expectedWaitMs: null,
    ...parts,
  };
}

function blocker(sessionName: string, token: number, identity = "anonymous"): Blocker {
  return { sessionName, key: "orders/1", mode: "exclusive", token, identity };
}

function sentences(keys: readonly ExplainedKey[], request: WaiterView | null = null): string[] {
  const view: ExplainView = { key: "orders/1", request, keys };
  return explainPhrases(view).map(phraseText);
}

describe("why a request waits", () => {
  it("names who holds the lock, and how long that usually takes", () => {
    const one = explained({ blockers: [blocker("w1", 7, "billing")], expectedWaitMs: 3_000 });
    expect(sentences([one], REQUEST)).toEqual([
      "Waits because w1 as billing holds it (exclusive). Usually this takes about 3.0 s.",
    ]);
  });

  it("says so when a lock is held longer than usual", () => {
    const one = explained({ blockers: [blocker("w1", 7)], expectedWaitMs: 0 });
    expect(sentences([one], REQUEST)).toEqual([
      "Waits because w1 holds it (exclusive). It is held longer than usual.",
    ]);
  });

  it("names few and counts the others", () => {
    const holders = ["a", "b", "c", "d", "e"].map((name, i) => blocker(name, i + 1));
    const one = explained({ blockers: [...holders, blocker("x", 0)], aheadCount: 4 });
    expect(sentences([one])).toEqual([
      "A new request would wait because a, b, c and 2 others hold it and 4 requests are ahead.",
    ]);
  });

  it("says what keeps a lock closed that nobody holds", () => {
    const closings = [
      { mode: "exclusive", token: 9, identity: "", endsInMs: 4_000, permits: 1 },
    ] as const;
    const one = explained({ closings, blockers: [blocker("", 0)], aheadCount: 1 });
    expect(sentences([one])).toEqual([
      "A new request would wait because 1 request is ahead (an unnamed client) and " +
        "it stays closed for 4.0 s more after token 9.",
    ]);
  });

  it("says so when nothing is in the way, here or at all", () => {
    expect(sentences([explained({ isEligible: true })])).toEqual([
      "A new request would be granted at once.",
    ]);
    const keys = [explained({ isEligible: true }), explained({ key: "b", aheadCount: 2 })];
    expect(sentences(keys, REQUEST)).toEqual([
      "Nothing is in its way for orders/1: it waits for its other keys.",
      "Waits for b because 2 requests are ahead.",
    ]);
  });
});

describe("names of clients in a sentence", () => {
  it("are shown so that they cannot be taken for our words", () => {
    const text = (sessionName: string, identity = "anonymous", session?: number): string =>
      phraseText(whoPhrase({ sessionName, identity, session }));
    expect(text("", "anonymous", 17)).toBe("session 17");
    expect(text("w")).toBe("w");
    expect(text("w as admin")).toBe("w as admin as anonymous");
    expect(text("\u202eevil\u0007")).toBe("\\u{202e}evil\\u{7}");
  });
});

describe("a distribution", () => {
  it("counts each time in one range, of which the fullest is whole", () => {
    const times = [0, 10, 11, 100, 1_000, 10_000, 60_000, 600_000, 600_001, 5];
    const { ranges, count, longestMs } = distributionOf(times);
    expect(ranges.map((one) => one.count)).toEqual([3, 2, 1, 1, 1, 1, 1]);
    expect(ranges[0]?.share).toBe(1);
    expect([count, longestMs]).toEqual([10, 600_001]);
  });

  it("is a sentence too, of none, one, some and many", () => {
    const text = (times: readonly number[]): string =>
      distributionText(distributionOf(times), "hold");
    expect(text([])).toBe("No hold is known that has ended.");
    expect(text([1_500])).toBe("One hold is known: it took 1.5 s.");
    expect(text([5, 10, 40])).toBe("Of 3 holds, half took at most 10 ms, the longest 40 ms.");
    const many = Array.from({ length: 100 }, (_, i) => i + 1);
    expect(text(many)).toBe(
      "Of 100 holds, half took at most 50 ms, nine of ten at most 90 ms, the longest 100 ms.",
    );
  });
});

describe("bars of owners over time", () => {
  const period = (session: number, grantedWallMs: number, heldMs: number, isHeld = false) =>
    ({
      session,
      sessionName: `w${session}`,
      identity: "",
      token: grantedWallMs,
      mode: "exclusive",
      grantedWallMs,
      heldMs,
      reason: isHeld ? undefined : "released",
    }) satisfies HeldPeriod;

  it("have a lane for each holder, and what is held reaches to the present", () => {
    const { lanes, beginWallMs, endWallMs } = tenureBars(
      [period(2, 1_600, 100, true), period(1, 1_400, 100), period(2, 1_000, 400)],
      2_000,
    );
    expect([beginWallMs, endWallMs]).toEqual([1_000, 2_000]);
    expect(lanes.map(({ holder }) => holder?.session)).toEqual([2, 1]);
    expect(lanes[0]?.bars.map(({ from, width }) => [from, width])).toEqual([
      [0.6, 0.4],
      [0, 0.4],
    ]);
  });

  it("stay visible and within the picture, however short, many or strangely timed", () => {
    const many = Array.from({ length: 40 }, (_, i) => period(i, 5_000 - i, 0));
    const { lanes } = tenureBars([period(99, 9_000, 5), ...many], 100);
    expect(lanes).toHaveLength(9);
    expect(lanes.at(-1)?.holder).toBeUndefined();
    expect(lanes.flatMap(({ bars }) => bars)).toHaveLength(41);
    for (const { from, width } of lanes.flatMap(({ bars }) => bars)) {
      expect(from).toBeGreaterThanOrEqual(0);
      expect(width).toBeGreaterThan(0);
      expect(from).toBeLessThan(1);
    }
    expect(tenureBars([], 5)).toMatchObject({ lanes: [] });
  });
});

describe("a lease", () => {
  it("is called by its name, or by digits of its owner, and whoever handed it over is named", () => {
    const who = (sessionName: string, identity: string, leaseOwner?: string): string => {
      return phraseText(whoPhrase({ sessionName, identity, session: 0, leaseOwner }));
    };
    expect(who("deploy", "anonymous", "5ed4c48d")).toBe("deploy");
    expect(who("", "ci", "5ed4c48d")).toBe("lease:5ed4c48d as ci");
    expect(who("", "anonymous")).toBe("a lease");
    const handedOver = (sessionName: string, identity: string): string => {
      const [session, holder, leaseOwner] = [0, "bearer", "5ed4c48d"] as const;
      return phraseText(whoPhrase({ sessionName, identity, session, holder, leaseOwner }));
    };
    expect(handedOver("worker-3", "anonymous")).toBe("handed over by worker-3");
    expect(handedOver("worker-3", "ci")).toBe("handed over by worker-3 as ci");
    expect(handedOver("", "ci")).toBe("handed over");
  });
});
