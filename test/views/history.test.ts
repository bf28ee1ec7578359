/** Who held a lock before, and how holds end. */
import { expect, test } from "vitest";
import { historyEnd, phraseText, TENURE_COLUMNS } from "../../src/views/index.js";

const TENURE = {
  key: "k",
  mode: "exclusive",
  token: 7,
  session: 1,
  sessionName: "w1",
  identity: "anonymous",
  task: 1,
  sequence: 1,
  holder: "session",
  grantedWallMs: 0,
  heldMs: 65_000,
  waitedMs: 120,
  orderedBy: "",
} as const;

function end(reason: string | undefined, orderedBy = ""): string {
  return phraseText(TENURE_COLUMNS.end.cell({ ...TENURE, reason, orderedBy }));
}

test("a period says whose it was, how long it waited and lasted, and how it ended", () => {
  const cells = Object.values(TENURE_COLUMNS).map(({ cell }) =>
    phraseText(cell({ ...TENURE, reason: "expired" })),
  );
  expect(cells).toEqual(["w1", "exclusive", "120ms", "1m 05s", "its lease ran out", "7"]);
});

test("the end of a hold has words, and the name of the reason that a later version knows", () => {
  expect(end(undefined)).toBe("held");
  expect(end("maxHold")).toBe("held for as long as allowed");
  expect(end("evicted")).toBe("evicted");
});

test("the end of a hold says who ordered it, also if its holder released it in time", () => {
  expect(end("revoked", "ops")).toBe("revoked by ops");
  expect(end("stolen", "ops")).toBe("stolen by ops");
  expect(end("released", "ops")).toBe("released, revoked by ops");
  expect(end(undefined, "evil\u001b[2J")).toBe("held, revoked by evil\\u{1b}[2J");
});

test("below a history it is said whether there may be more", () => {
  const WHOLE = { key: "k", count: 2, isFull: false, isTruncated: false, lost: [] };
  const said = (changes: Partial<Parameters<typeof historyEnd>[0]>): readonly string[] =>
    historyEnd({ ...WHOLE, ...changes }).map(phraseText);
  expect(said({})).toEqual([]);
  expect(said({ count: 0 })).toEqual(["k was never held"]);
  const cut = { isTruncated: true };
  expect(said({ ...cut, isFull: true })).toEqual(["there are older ones, or there may have been"]);
  const hint = "a node that is started with --audit keeps its history, even after restarts";
  expect(said(cut)).toEqual(["there may have been older ones that are no longer kept", hint]);
  expect(said({ ...cut, count: 0 })).toEqual([
    "nothing is known about k; earlier records are no longer kept",
    hint,
  ]);
  const lost = [{ count: 3, after: { index: 90, number: 1 }, before: { index: 120, number: 0 } }];
  expect(said({ ...cut, lost })[1]).toBe(
    "damaged: up to 3 records between the revisions 90.1 and 120.0 are lost",
  );
});
