/** One key, and a line of a list of keys. */
import { expect, test } from "vitest";
import { keyLines, leaseLines } from "../../../bin/views/key-view.js";
import type { KeyView } from "../../../src/index.js";
import { LOCK_COLUMNS, lockRow, phraseText } from "../../../src/views/index.js";

function listRow(view: KeyView): string[] {
  const { key, mode, holder, since, waiters } = LOCK_COLUMNS;
  const row = lockRow(view);
  return [key, mode, holder, since, waiters].map(({ cell }) => phraseText(cell(row)));
}

const hold = {
  token: 2 ** 41,
  mode: "exclusive",
  session: 7,
  sessionName: "billing-7",
  identity: "anonymous",
  task: 1,
  heldMs: 4_210,
  waitedMs: 0,
  orderedBy: "",
  leaseMs: 14_000,
  ttlMs: 15_000,
  endsInMs: null,
  isRevoked: false,
  holder: "session",
  leaseOwner: "",
  sequence: 1,
  permits: 0,
  slots: [],
  value: "",
} as const;

const FREE: KeyView = { key: "k", kind: null, limit: 0, holds: [], waiters: [], cooldowns: [] };

test("a key in a list shows all who hold it and wait, though only a part of a crowd", () => {
  const waiter = { ...hold, sequence: 1, arrival: 1, waitingMs: 5, priority: 0 };
  const crowd: KeyView = {
    ...FREE,
    kind: "lock",
    holds: [hold, hold],
    waiters: [{ ...waiter, isUpgrade: false, isEligible: false }],
    truncated: { holds: 1_200, waiters: 100_000, cooldowns: 0 },
  };
  expect(listRow(crowd)).toEqual([
    ...["k", "exclusive", "billing-7 and 1,199 others", "4.2s", "100,000"],
  ]);
  const { truncated: _, ...whole } = crowd;
  expect(listRow(whole)).toEqual(["k", "exclusive", "billing-7 and 1 other", "4.2s", "1"]);
});

test("the identity of a holder is next to its name, and nothing can be mistaken for it", () => {
  const heldBy = (sessionName: string, identity: string) => {
    const holds = [{ ...hold, sessionName, identity }];
    return listRow({ ...FREE, kind: "lock", holds })[2];
  };
  expect(heldBy("billing-7", "billing")).toBe("billing-7 as billing");
  expect(heldBy("", "billing")).toBe("session 7 as billing");
  expect(heldBy("w as billing", "anonymous")).toBe("w as billing as anonymous");
  expect(heldBy("w as billing", "ops")).toBe("w as billing as ops");
  expect(keyLines({ ...FREE, kind: "lock", holds: [{ ...hold, identity: "billing" }] })).toEqual(
    expect.arrayContaining([expect.stringMatching(/^billing-7 as billing +exclusive +7 /)]),
  );
});

test("a key in a list that nobody holds cools down, or is only waited for, or has a limit", () => {
  const cooldown = { mode: "shared", token: 1, identity: "", endsInMs: 5, permits: 0 } as const;
  expect(listRow({ ...FREE, cooldowns: [cooldown] })).toEqual([
    "k",
    "shared",
    "cooling down for 5ms more",
    "-",
    "0",
  ]);
  expect(listRow({ ...FREE, kind: "semaphore", limit: 3 })).toEqual([
    "k",
    "0 of 3 permits",
    "-",
    "-",
    "0",
  ]);
  expect(listRow(FREE)).toEqual(["k", "-", "-", "-", "0"]);
});

test("a lease is shown by its name, or by digits of its owner, with what is left of it", () => {
  const owner = { session: 0, holder: "owner", leaseOwner: "5ed4c48d" } as const;
  const lease = { ...hold, ...owner, leaseMs: 61_000, endsInMs: 61_000 };
  const named = { ...lease, sessionName: "deploy" };
  const unnamed = { ...lease, sessionName: "", identity: "ci", value: "v17" };
  const endless = { ...named, leaseMs: 0, ttlMs: 0, endsInMs: null };
  const held = (one: KeyView["holds"][number]) => ({
    ...FREE,
    kind: "lock" as const,
    holds: [one],
  });
  expect(listRow(held(named))[2]).toBe("deploy");
  expect(listRow(held(unnamed))[2]).toBe("lease:5ed4c48d as ci");
  const lines = keyLines(held(named));
  expect(lines.at(-1)).toMatch(/^deploy +exclusive +- +4\.2s +1m 01s +\d+$/);
  expect(keyLines(held(endless)).at(-1)).toContain("no end");
  expect(leaseLines("k", [unnamed]).at(-1)).toMatch(/^lease:5ed4c48d as ci .* value "v17"$/);
  expect(leaseLines("k", [{ ...named, endsInMs: 5_000 }]).at(-1)).toMatch(/ends in 5s$/);
  expect(leaseLines("k", [])).toEqual(["k: no lease"]);
});

test("a hold that was handed over is shown with the name of the session that did", () => {
  const bearer = { session: 0, holder: "bearer", leaseOwner: "5ed4c48d" } as const;
  const shown = (sessionName: string, identity = "anonymous") => {
    const holds = [{ ...hold, ...bearer, sessionName, identity }];
    return listRow({ ...FREE, kind: "lock", holds })[2];
  };
  expect(shown("billing-7")).toBe("handed over by billing-7");
  expect(shown("billing-7", "billing")).toBe("handed over by billing-7 as billing");
  expect(shown("")).toBe("handed over");
  const lines = keyLines({ ...FREE, kind: "lock", holds: [{ ...hold, ...bearer }] });
  expect(lines.at(-1)).toMatch(/^handed over by billing-7 +exclusive +- /);
});

test("a semaphore in a list shows how many of its permits are held, if all its holds are known", () => {
  const permits = [2, 1].map((count) => ({ ...hold, mode: "permits" as const, permits: count }));
  const view: KeyView = { ...FREE, kind: "semaphore", limit: 5, holds: permits };
  expect(listRow(view)[1]).toBe("3 of 5 permits");
  const truncated = { holds: 3, waiters: 0, cooldowns: 0 };
  expect(listRow({ ...view, truncated })[1]).toBe("5 permits");
});

test("a hold that is being revoked says so in a list", () => {
  const holds = [{ ...hold, isRevoked: true }];
  expect(listRow({ ...FREE, kind: "lock", holds })[2]).toBe("billing-7, being revoked");
});
