/** Actions that wait for the audit: what does not fit is counted, and told once. */
import { expect, test } from "vitest";
import type { AuditAction } from "../../../src/server/commands/audit-actions.js";
import { ActionLog } from "../../../src/server/reads/action-log.js";

const ACTION: AuditAction = {
  ...{ kind: "refused", identity: "eve", credential: "", address: "", what: "audit", key: "" },
  ...{ outcome: "FORBIDDEN", details: {} },
};
const MANY = 2_000;

test("what was left out while others were written is reported with the next ones", () => {
  const log = new ActionLog({ wallMs: () => 1 }, 1, 0);
  const note = (): void => {
    for (let i = 0; i < MANY; i += 1) log.onHere(ACTION);
  };
  const toldOf = (): number => {
    const gap = log.upTo(1).find(({ action }) => action.kind === "gap");
    return Number(gap?.action.details["count"] ?? 0);
  };
  note();
  const first = toldOf();
  const written = log.upTo(1);
  // All of them are left out: those before wait until they are written.
  note();
  log.forget(written, 1);
  log.onHere(ACTION);
  expect(first).toBeGreaterThan(0);
  expect(toldOf()).toBe(MANY);
  log.forget(log.upTo(1), 1);
  log.onHere(ACTION);
  expect(toldOf()).toBe(0);
});
