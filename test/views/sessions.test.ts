/** The sessions of a cluster, a line each. */
import { expect, test } from "vitest";
import { phraseText, SESSION_COLUMNS } from "../../src/views/index.js";

const SESSION = {
  ...{ session: 17, name: "", identity: "ci", metadata: "", ttlMs: 15_000, leaseMs: 14_000 },
  ...{ idleMs: 1_200, node: 0, address: "", holds: 1_200, waits: 0, isRevoked: false },
};

function cells(changes: Partial<typeof SESSION> = {}): string[] {
  const row = { ...SESSION, ...changes };
  return Object.values(SESSION_COLUMNS).map(({ cell }) => phraseText(cell(row)));
}

test("a session without a name, a node or an address has a hyphen there", () => {
  expect(cells()).toEqual([
    ...["17", "-", "ci", "-", "-", "1,200", "0", "15s", "14s", "1s ago", ""],
  ]);
});

test("a session that missed a renewal is quiet, and one that an operator ends is being ended", () => {
  expect(cells({ idleMs: 8_000 }).at(-1)).toBe("quiet");
  expect(cells({ idleMs: 8_000, isRevoked: true }).at(-1)).toBe("being ended");
});
