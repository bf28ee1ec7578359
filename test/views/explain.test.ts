/** What `explain` answers, in sentences. */
import { describe, expect, it } from "vitest";
import type { Blocker, ExplainedKey, ExplainView, WaiterView } from "../../src/index.js";
import { explainPhrases, phraseText, waitPhrase } from "../../src/views/index.js";

const REQUEST = { session: 5, sequence: 1 } as WaiterView;

function explained(parts: Partial<ExplainedKey>): ExplainedKey {
  return {
    key: "orders/1",
    mode: "exclusive",
    isEligible: false,
    aheadCount: 0,
    blockers: [],
    cooldowns: [],
    expectedWaitMs: null,
    ...parts,
  };
}

function blocker(sessionName: string, token: number, further: Partial<Blocker> = {}): Blocker {
  const holder = token === 0 ? null : "session";
  const lock = { key: "orders/1", mode: "exclusive", token, holder } as const;
  return { ...lock, sessionName, identity: "anonymous", session: 3, ...further };
}

function sentences(keys: readonly ExplainedKey[], request: WaiterView | null = null): string[] {
  const view: ExplainView = { key: "orders/1", request, keys, possibleDeadlock: [] };
  return explainPhrases(view).map(phraseText);
}

describe("why a request waits", () => {
  it("names who holds the lock, and how long that usually takes", () => {
    const one = explained({
      blockers: [blocker("w1", 7, { identity: "billing" })],
      expectedWaitMs: 3_000,
    });
    expect(sentences([one], REQUEST)).toEqual([
      "Waits because w1 as billing (exclusive, token 7) holds it. Usually this takes about 3s.",
    ]);
  });

  it("says so when a lock is held longer than usual", () => {
    const one = explained({ blockers: [blocker("w1", 7)], expectedWaitMs: 0 });
    expect(sentences([one], REQUEST)).toEqual([
      "Waits because w1 (exclusive, token 7) holds it. It is held longer than usual.",
    ]);
  });

  it("names few and counts the others", () => {
    const holders = ["a", "b", "c", "d", "e"].map((name, i) => blocker(name, i + 1));
    const one = explained({ blockers: [...holders, blocker("x", 0)], aheadCount: 4 });
    expect(sentences([one])).toEqual([
      "A new request would wait because a (exclusive, token 1), b (exclusive, token 2), " +
        "c (exclusive, token 3) and 2 others hold it and 4 requests are ahead.",
    ]);
  });

  it("says whether a session, the owner of a lease or nobody yet has the lock", () => {
    const ofNone = { session: 0 } as const;
    const said = (...blockers: readonly Blocker[]) => sentences([explained({ blockers })], REQUEST);
    expect(said(blocker("", 7))).toEqual([
      "Waits because session 3 (exclusive, token 7) holds it.",
    ]);
    expect(said(blocker("", 7, { ...ofNone, holder: "owner" }))).toEqual([
      "Waits because a lease (exclusive, token 7) holds it.",
    ]);
    expect(said(blocker("w1", 7, { ...ofNone, holder: "bearer" }))).toEqual([
      "Waits because it was handed over by w1 (exclusive, token 7).",
    ]);
    const shared = { ...ofNone, mode: "shared", holder: "bearer" } as const;
    expect(said(blocker("w1", 7, { mode: "shared" }), blocker("", 8, shared))).toEqual([
      "Waits because w1 (shared, token 7) holds it and it was handed over (shared, token 8).",
    ]);
  });

  it("says what keeps a lock closed that nobody holds", () => {
    const cooldowns = [
      { mode: "exclusive", token: 9, identity: "", endsInMs: 4_000, permits: 1 },
    ] as const;
    const blockers = [blocker("", 0, { session: 0, identity: "" }), blocker("", 0)];
    const one = explained({ cooldowns, blockers, aheadCount: 1 });
    expect(sentences([one])).toEqual([
      "A new request would wait because 1 request is ahead: session 3 " +
        "(exclusive) and it is cooling down for 4s more after token 9 (exclusive).",
    ]);
  });

  it("says so when nothing is in the way, here or at all", () => {
    expect(sentences([explained({ isEligible: true })])).toEqual([
      "A new request would be granted at once.",
    ]);
    const keys = [explained({ isEligible: true }), explained({ key: "b", aheadCount: 2 })];
    expect(sentences(keys, REQUEST)).toEqual([
      "Nothing is in its way for orders/1 (exclusive): it waits for its other keys.",
      "Waits for b (exclusive) because 2 requests are ahead.",
    ]);
  });
});

it("says who has waited, for how long and until when", () => {
  const request = { ...REQUEST, sessionName: "w1", identity: "ci", waitingMs: 5_000 };
  expect(phraseText(waitPhrase({ ...request, endsInMs: null }))).toBe(
    "w1 as ci has waited for 5s.",
  );
  expect(phraseText(waitPhrase({ ...request, endsInMs: 61_000 }))).toBe(
    "w1 as ci has waited for 5s and gives up in 1m 01s.",
  );
});

it("says that a wait may be a deadlock, and of whom", () => {
  const who = { session: 6, sessionName: "billing", identity: "anonymous" };
  const member = { ...who, mode: "exclusive" as const };
  const possibleDeadlock = [
    { ...member, task: 1, key: "a" },
    { ...member, task: 2, key: "b" },
  ] as const;
  const phrases = explainPhrases({ request: null, keys: [], possibleDeadlock });
  expect(phrases.map(phraseText)).toEqual([
    "This may be a deadlock: billing (task 1) waits for a (exclusive), which billing (task 2) holds; " +
      "billing (task 2) waits for b (exclusive), which billing (task 1) holds.",
  ]);
});
