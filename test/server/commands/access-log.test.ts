/** What a node counts and logs of who may do what, and how little of it clients can cause. */
import { describe, expect, test } from "vitest";
import { ERROR_NUMBERS } from "../../../src/errors/index.js";
import { OP, type OrderCommand } from "../../../src/protocol/index.js";
import { AccessLog, type RefusedRequest } from "../../../src/server/commands/access-log.js";
import type { AuditAction, AuditActions } from "../../../src/server/commands/audit-actions.js";
import { RecordingConnection } from "../world/recording-connection.js";

const STARTED_WALL_MS = 1_800_000_000_000;
const MINUTE_MS = 60_000;

class Lines {
  nowMs = 5_000;
  isLeader = true;
  readonly told: [event: string, fields: Record<string, unknown>][] = [];
  readonly connection = new RecordingConnection(1);
  readonly log = new AccessLog({
    attachments: { sourceOf: () => undefined },
    clock: { nowMs: () => this.nowMs, wallMs: () => STARTED_WALL_MS },
    logger: (level, event, fields = {}) => {
      const given = Object.entries(fields).filter(([, value]) => value !== undefined);
      this.told.push([`${level} ${event}`, Object.fromEntries(given)]);
    },
    isLeader: () => this.isLeader,
  });

  refuse(fields: Partial<RefusedRequest> = {}): void {
    const status = ERROR_NUMBERS.FORBIDDEN;
    const refused = { verb: "acquire", status, identity: "ci", op: OP.acquire, key: "k" } as const;
    this.log.onRequest(
      { certifiedName: undefined, address: "192.0.2.7" },
      { ...refused, ...fields },
    );
  }

  order(fields: object, wallMs = STARTED_WALL_MS, by = "alice"): void {
    const head = { sequence: 1, mark: 1, acknowledged: [] };
    this.log.onOrder(
      { identity: by, credential: "", session: 0 },
      { ...head, ...fields } as unknown as OrderCommand,
      wallMs,
    );
  }
}

describe("a refusal", () => {
  test("is logged with who asked for what, from where", () => {
    const lines = new Lines();
    lines.refuse();
    lines.refuse({ verb: "observe", op: OP.inspect, identity: "", key: "" });
    const fields = { verb: "acquire", code: "FORBIDDEN", identity: "ci", request: "acquire" };
    expect(lines.told).toEqual([
      ["warn request refused", { ...fields, key: "k", address: "192.0.2.7" }],
      [
        "warn request refused",
        { verb: "observe", code: "FORBIDDEN", request: "inspect", address: "192.0.2.7" },
      ],
    ]);
  });

  test("of one kind is logged once a minute, with how many were left out", () => {
    const lines = new Lines();
    for (let at = 0; at < 1_000; at += 1) lines.refuse({ key: `k${at}` });
    expect(lines.told).toHaveLength(1);
    lines.refuse({ status: ERROR_NUMBERS.UNAUTHENTICATED });
    expect(lines.told).toHaveLength(2);
    lines.nowMs += MINUTE_MS;
    lines.refuse({ key: "later" });
    lines.refuse({ key: "later" });
    expect(lines.told).toHaveLength(3);
    expect(lines.told[2]?.[1]).toMatchObject({ key: "later", leftOut: 999 });
    lines.nowMs += MINUTE_MS;
    lines.refuse();
    expect(lines.told[3]?.[1]).toMatchObject({ leftOut: 1 });
  });

  test("is counted by level and code, even if no line is written", () => {
    const lines = new Lines();
    for (let at = 0; at < 7; at += 1) lines.refuse();
    lines.refuse({ verb: "admin", status: ERROR_NUMBERS.UNAUTHENTICATED });
    const { refusals } = lines.log;
    expect(refusals).toHaveLength(8);
    expect(refusals.filter(({ count }) => count > 0)).toEqual([
      { verb: "acquire", code: "FORBIDDEN", count: 7 },
      { verb: "admin", code: "UNAUTHENTICATED", count: 1 },
    ]);
  });

  test("shows a key cut short, and such that no character of it is obeyed or overlooked", () => {
    const keys = ["a\u001b[2Jb", "\u{202e}x", "\u043erders", "x".repeat(300)];
    const shown = keys.map((key) => {
      const lines = new Lines();
      lines.refuse({ key });
      return lines.told[0]?.[1]["key"];
    });
    expect(shown).toEqual([
      ...["a\\u{1b}[2Jb", "\\u{202e}x", "\\u{43e}rders"],
      `${"x".repeat(64)}…`,
    ]);
  });
});

test("a sign-in that is refused is logged with its reason, once a minute", () => {
  const lines = new Lines();
  for (let at = 0; at < 50; at += 1) lines.log.onSignIn(lines.connection, "expired");
  lines.nowMs += MINUTE_MS;
  lines.log.onSignIn(lines.connection, "unknown");
  expect(lines.told).toEqual([
    ["warn sign-in refused", { reason: "expired" }],
    ["warn sign-in refused", { reason: "unknown", leftOut: 49 }],
  ]);
});

describe("an order that was carried out", () => {
  test("is logged with who gave it", () => {
    const lines = new Lines();
    const grant = { name: "ci", key: "jobs/", isPrefix: true, level: "acquire" };
    lines.order({ op: OP.setGrant, ...grant });
    const digest = "d".repeat(64);
    const token = { name: "ci", label: "t1", kind: "token", digest, expiresWallMs: 0 };
    lines.order({ op: OP.putCredential, ...token });
    lines.order({ op: OP.removeIdentity, name: "ci" });
    lines.order({ op: OP.changeSetting, name: "waitersMax", value: 5 });
    lines.order({ op: OP.revoke, key: "k", token: 7, graceMs: 0, now: true, reason: "gone" });
    lines.order({ op: OP.endSession, session: 9, graceMs: 0, now: true, reason: "gone" });
    lines.order({ op: OP.setLimit, key: "s", limit: undefined });
    const by = "alice";
    expect(lines.told).toEqual([
      [
        "info access changed",
        { by, request: "setGrant", identity: "ci", grants: "acquire", key: "jobs/*" },
      ],
      ["info access changed", { by, request: "putCredential", identity: "ci", credential: "t1" }],
      ["info access changed", { by, request: "removeIdentity", identity: "ci" }],
      [
        "info admin command carried out",
        { by, request: "changeSetting", setting: "waitersMax", value: 5 },
      ],
      [
        "info admin command carried out",
        { by, request: "revoke", key: "k", token: 7, reason: "gone" },
      ],
      ["info admin command carried out", { by, request: "endSession", session: 9, reason: "gone" }],
      ["info admin command carried out", { by, request: "setLimit", key: "s", limit: null }],
    ]);
    expect(JSON.stringify(lines.told)).not.toContain(digest);
  });

  test("is logged by the leader, and not again when a node replays its log", () => {
    const lines = new Lines();
    lines.order({ op: OP.putIdentity, name: "ci" }, STARTED_WALL_MS - 1);
    lines.isLeader = false;
    lines.order({ op: OP.putIdentity, name: "ci" });
    expect(lines.told).toEqual([]);
  });

  test("of one identity is not left out because of another's", () => {
    const lines = new Lines();
    const end = { op: OP.endSession, session: 7, reason: "" };
    for (let at = 0; at < 250; at += 1) lines.order(end, STARTED_WALL_MS, "mallory");
    lines.order(end);
    expect(lines.told).toHaveLength(101);
    expect(lines.told[100]?.[1]).toMatchObject({ by: "alice" });
  });

  test("is left out after a hundred in a minute", () => {
    const lines = new Lines();
    const order = { op: OP.setLimit, key: "s", limit: 1 };
    for (let at = 0; at < 250; at += 1) lines.order(order);
    expect(lines.told).toHaveLength(100);
    lines.nowMs += MINUTE_MS;
    lines.order(order);
    expect(lines.told[100]?.[1]).toMatchObject({ leftOut: 150 });
  });
});

describe("the audit gets", () => {
  /** What would be written. */
  class Noted implements AuditActions {
    readonly actions: AuditAction[] = [];

    onApplied(action: AuditAction): void {
      this.actions.push(action);
    }

    onHere(action: AuditAction): void {
      this.actions.push(action);
    }
  }

  function logWith(clock: { nowMs: number }): { log: AccessLog; noted: Noted } {
    const noted = new Noted();
    const log = new AccessLog({
      attachments: { sourceOf: () => undefined },
      clock: { nowMs: () => clock.nowMs, wallMs: () => 0 },
      logger: () => {},
      isLeader: () => false,
      actions: noted,
    });
    return { log, noted };
  }

  const refused = { verb: "observe", status: ERROR_NUMBERS.FORBIDDEN, op: OP.inspect } as const;
  const from = (address: string) => ({ address, certifiedName: undefined });

  test("of a refusal once in ten seconds for each identity and address, with how many were left out", () => {
    const clock = { nowMs: 0 };
    const { log, noted } = logWith(clock);
    for (let time = 0; time < 5; time += 1) {
      log.onRequest(from("10.0.0.1"), { ...refused, identity: "ci", key: `k/${time}` });
    }
    log.onRequest(from("10.0.0.2"), { ...refused, identity: "ci", key: "other" });
    expect(noted.actions.map(({ address, key }) => [address, key])).toEqual([
      ["10.0.0.1", "k/0"],
      ["10.0.0.2", "other"],
    ]);
    clock.nowMs = 10_000;
    log.onRequest(from("10.0.0.1"), { ...refused, identity: "ci", key: "later" });
    expect(noted.actions[2]).toMatchObject({
      ...{ kind: "refused", identity: "ci", outcome: "FORBIDDEN", what: "inspect", key: "later" },
      details: { needs: "observe", leftOut: 4 },
    });
  });

  test("of no more than 64 refusals in ten seconds, from however many addresses", () => {
    const { log, noted } = logWith({ nowMs: 0 });
    for (let at = 0; at < 1_000; at += 1) {
      log.onRequest(from(`10.0.${at >> 8}.${at & 255}`), { ...refused, identity: "", key: "" });
    }
    expect(noted.actions).toHaveLength(64);
  });

  test("of no secret: neither a token nor its digest", () => {
    const { log, noted } = logWith({ nowMs: 0 });
    const digest = "ab".repeat(32);
    const command = { op: OP.putCredential, name: "ci", label: "t", kind: "token", digest };
    const head = { sequence: 1, mark: 1, acknowledged: [], expiresWallMs: 0 };
    const by = { identity: "ops", credential: "token:laptop", session: 0 };
    log.onOrder(by, { ...command, ...head } as unknown as OrderCommand, 5);
    expect(noted.actions).toMatchObject([{ kind: "access", credential: "token:laptop" }]);
    expect(JSON.stringify(noted.actions)).not.toContain(digest);
  });
});
