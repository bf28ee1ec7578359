/** What `holdfast access ls` shows of identities. */
import { expect, test } from "vitest";
import { identityLines } from "../../../bin/views/access-view.js";
import type { IdentityView } from "../../../src/index.js";

const NOTHING = { sessions: 0, holds: 0, waits: 0, bytes: 0 };

function identity(name: string, fields: Partial<IdentityView> = {}): IdentityView {
  return { name, grants: [], credentials: [], usage: NOTHING, ...fields };
}

test("grants, credentials and use have a table each, and those who have none are left out of the last two", () => {
  const idle = identity("idle");
  const credential = { label: "ci", kind: "token", expiresWallMs: 0, createdWallMs: 1 } as const;
  const busy = identity("a".repeat(40), {
    grants: [{ key: "orders/", isPrefix: true, level: "acquire" }],
    credentials: [credential],
    usage: { sessions: 1_234, holds: 100_000, waits: 12, bytes: 7_340_032 },
  });
  const name = busy.name;
  const lines = identityLines([busy, idle], 0);
  expect(lines).toEqual([
    `IDENTITY${" ".repeat(32)}  LEVEL    KEYS`,
    `${name}  acquire  orders/*`,
    `idle${" ".repeat(36)}  -        -`,
    "",
    `IDENTITY${" ".repeat(32)}  LABEL  KIND   EXPIRES`,
    `${name}  ci     token  never`,
    "",
    `IDENTITY${" ".repeat(32)}  SESSIONS   HOLDS  WAITS     SIZE`,
    `${name}      1234  100000     12  7.0 MiB`,
  ]);
  expect(Math.max(...lines.map(({ length }) => length))).toBeLessThanOrEqual(80);
  expect(identityLines([idle], 0)).toEqual(["IDENTITY  LEVEL  KEYS", "idle      -      -"]);
});
