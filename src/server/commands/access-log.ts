/**
 * What this node reports to its operators about who may do what. It counts and logs what is refused
 * to its own clients, and, while it leads, logs which orders were carried out and by whom. Clients
 * cannot fill the log: it gets only a few lines a minute of each kind, and of each identity's
 * orders, and the next line says how many were left out. The audit gets the same events, with
 * limits of its own. It decides nothing, and never sees a token.
 */
import { ERROR_NUMBERS } from "../../errors/index.js";
import type { AccessListener, ForbiddenCommand, OrderGiver } from "../../lockfsm/index.js";
import type { ClientConnection } from "../../net/index.js";
import {
  ACCESS_LEVEL,
  type AccessLevel,
  type AcquireCommand,
  isAccessOp,
  OP,
  type OrderCommand,
} from "../../protocol/index.js";
import { keyText } from "../../text/index.js";
import type { Clock, NodeLogger } from "../ports.js";
import type { Attachments } from "./attachments.js";
import type { ActionDetails, AuditAction, AuditActions } from "./audit-actions.js";

const WINDOW_MS = 60_000;
const REFUSALS_PER_WINDOW_MAX = 1;
const ORDERS_PER_WINDOW_MAX = 100;
const KEY_CHARACTERS_MAX = 64;
/** Refusals go to the audit once in this time for each identity, address and code, … */
const AUDIT_WINDOW_MS = 10_000;
/** … and this many in all. */
const AUDITED_PER_WINDOW_MAX = 64;

const CODES = ["FORBIDDEN", "UNAUTHENTICATED"] as const;
const VERBS = (Object.keys(ACCESS_LEVEL) as AccessLevel[]).filter((level) => level !== "none");
const REQUEST_NAMES: ReadonlyMap<number, string> = new Map(
  Object.entries(OP).map(([name, op]) => [op, name]),
);

/** A request of a client that was refused because of its identity. */
export interface RefusedRequest extends Omit<ForbiddenCommand, "command" | "session"> {
  /** A value of `OP`. */
  readonly op: number;
}

/** Since the start. */
export interface RefusalCount {
  /** The level that the requests needed. */
  readonly verb: AccessLevel;
  readonly code: (typeof CODES)[number];
  count: number;
}

/** What was logged of one kind of event in the last minute. */
interface Window {
  endMs: number;
  lines: number;
  leftOut: number;
}

export interface AccessLogParts {
  readonly attachments: Pick<Attachments, "sourceOf">;
  readonly clock: Clock;
  readonly logger: NodeLogger;
  readonly isLeader: () => boolean;
  /** `undefined` if the node keeps no audit. */
  readonly actions?: AuditActions | undefined;
}

export class AccessLog implements AccessListener {
  readonly #parts: AccessLogParts;
  /** Entries before that are replayed. */
  readonly #startedWallMs: number;
  readonly #refusals: readonly RefusalCount[] = VERBS.flatMap((verb) =>
    CODES.map((code) => ({ verb, code, count: 0 })),
  );
  readonly #windows = new Map<string, Window>();
  /**
   * How many refusals of each kind, and of all other kinds, were not recorded since the last
   * record.
   */
  readonly #audited = new Map<string, number>();
  #auditedUntilMs = Number.NEGATIVE_INFINITY;
  #notAudited = 0;

  constructor(parts: AccessLogParts) {
    this.#parts = parts;
    this.#startedWallMs = parts.clock.wallMs();
  }

  /** Counts for each verb and code, even if they are 0. */
  get refusals(): readonly Readonly<RefusalCount>[] {
    return this.#refusals;
  }

  /** The table refused a command. All nodes learn of it; the client's node reports it. */
  onRefused({ command, session, ...refused }: ForbiddenCommand): void {
    const source = this.#parts.attachments.sourceOf(session, command);
    if (source === undefined) return;
    this.onRequest(source.connection, { ...refused, op: command?.op ?? OP.acquire });
  }

  /** A request of a client of this node was refused. */
  onRequest(
    { address, certifiedName }: Pick<ClientConnection, "address" | "certifiedName">,
    refused: RefusedRequest,
  ): void {
    const { verb, status, identity, op, key } = refused;
    const code = status === ERROR_NUMBERS.FORBIDDEN ? "FORBIDDEN" : "UNAUTHENTICATED";
    const credential = certifiedName ?? "";
    this.#auditRefusal({
      ...{ kind: "refused", identity, credential, address, key, outcome: code },
      ...{ what: REQUEST_NAMES.get(op) ?? "", details: { needs: verb } },
    });
    for (const counted of this.#refusals) {
      if (counted.verb === verb && counted.code === code) counted.count += 1;
    }
    this.#say("warn", "request refused", `${verb} ${code}`, REFUSALS_PER_WINDOW_MAX, () => ({
      ...{ verb, code, identity: shown(identity), request: REQUEST_NAMES.get(op) },
      ...{ key: shownKey(key), address: shown(address) },
    }));
  }

  /** A connection did not prove who it is. */
  onSignIn({ address, certifiedName }: ClientConnection, reason: string): void {
    this.#auditRefusal({
      ...{ kind: "signIn", identity: "", credential: certifiedName ?? "", address, key: "" },
      ...{ what: "signIn", outcome: "UNAUTHENTICATED", details: { reason } },
    });
    const fields = { reason, certificate: certifiedName, address: shown(address) };
    this.#say("warn", "sign-in refused", "sign-in", REFUSALS_PER_WINDOW_MAX, () => fields);
  }

  onSteal(by: OrderGiver, command: AcquireCommand, holds: number, wallMs: number): void {
    const [first] = command.items;
    const { session, sequence } = { session: by.session, sequence: command.sequence };
    this.#parts.actions?.onApplied(
      {
        ...{ kind: "steal", identity: by.identity, credential: by.credential, what: "acquire" },
        ...{ address: this.#addressOf(by, command), key: first?.key ?? "", outcome: "done" },
        details: { holds, keys: command.items.length, session, sequence },
      },
      wallMs,
    );
  }

  onOrder(by: OrderGiver, command: OrderCommand, wallMs: number): void {
    this.#audit(by, command, wallMs);
    const { identity } = by;
    if (!this.#parts.isLeader() || wallMs < this.#startedWallMs) return;
    const { op } = command;
    const event = isAccessOp(op) ? "access changed" : "admin command carried out";
    // Any client may end its own sessions: that must not hide what others do.
    this.#say("info", event, `${event} ${identity}`, ORDERS_PER_WINDOW_MAX, () => ({
      ...{ by: identity, request: REQUEST_NAMES.get(op), ...detailsOf(command) },
    }));
  }

  #addressOf({ session }: OrderGiver, command: OrderCommand | AcquireCommand): string {
    return this.#parts.attachments.sourceOf(session, command)?.connection.address ?? "";
  }

  #audit(by: OrderGiver, command: OrderCommand, wallMs: number): void {
    const { actions } = this.#parts;
    if (actions === undefined) return;
    const key = "key" in command ? (command.key ?? "") : "";
    const isAccess = isAccessOp(command.op);
    actions.onApplied(
      {
        ...{ kind: isAccess ? "access" : "order", identity: by.identity },
        ...{ credential: by.credential, address: this.#addressOf(by, command) },
        ...{ what: REQUEST_NAMES.get(command.op) ?? "", key: isAccess ? "" : key },
        ...{ outcome: "done", details: auditedDetailsOf(command) },
      },
      wallMs,
    );
  }

  /** Clients cannot fill the audit: the next record says how many were left out. */
  #auditRefusal(action: AuditAction): void {
    const { actions, clock } = this.#parts;
    if (actions === undefined) return;
    const nowMs = clock.nowMs();
    if (nowMs >= this.#auditedUntilMs) {
      this.#auditedUntilMs = nowMs + AUDIT_WINDOW_MS;
      for (const leftOut of this.#audited.values()) this.#notAudited += leftOut;
      this.#audited.clear();
    }
    const kind = [action.kind, action.outcome, action.identity, action.address].join("\n");
    const leftOut = this.#audited.get(kind);
    if (leftOut !== undefined) this.#audited.set(kind, leftOut + 1);
    else if (this.#audited.size >= AUDITED_PER_WINDOW_MAX) this.#notAudited += 1;
    else {
      this.#audited.set(kind, 0);
      const notAudited = this.#notAudited === 0 ? undefined : this.#notAudited;
      this.#notAudited = 0;
      actions.onHere({ ...action, details: { ...action.details, leftOut: notAudited } });
    }
  }

  #say(
    level: "info" | "warn",
    event: string,
    kind: string,
    linesMax: number,
    fieldsOf: () => Record<string, unknown>,
  ): void {
    const nowMs = this.#parts.clock.nowMs();
    const window = this.#windows.get(kind) ?? { endMs: nowMs, lines: 0, leftOut: 0 };
    this.#windows.set(kind, window);
    if (nowMs >= window.endMs) {
      window.endMs = nowMs + WINDOW_MS;
      window.lines = 0;
    }
    if (window.lines >= linesMax) {
      window.leftOut += 1;
      return;
    }
    window.lines += 1;
    const leftOut = window.leftOut === 0 ? undefined : window.leftOut;
    window.leftOut = 0;
    this.#parts.logger(level, event, { ...fieldsOf(), leftOut });
  }
}

/** The exact names and texts, without secrets and the digests of secrets. */
function auditedDetailsOf(command: OrderCommand): ActionDetails {
  switch (command.op) {
    case OP.revoke:
    case OP.endSession: {
      const { graceMs, now, reason } = command;
      const of = command.op === OP.revoke ? { token: command.token } : { session: command.session };
      return { ...of, graceMs, now, reason };
    }
    case OP.setLimit:
      return { limit: command.limit ?? null };
    case OP.changeSetting:
      return { setting: command.name, value: command.value ?? null };
    case OP.setGrant: {
      const { name, level, key, isPrefix } = command;
      return { of: name, level, on: key, isPrefix };
    }
    case OP.putCredential: {
      const { name, label, kind, expiresWallMs } = command;
      return { of: name, label, kind, expiresWallMs };
    }
    case OP.removeCredential:
      return { of: command.name, label: command.label };
    default:
      return { of: command.name };
  }
}

function detailsOf(command: OrderCommand): Record<string, unknown> {
  switch (command.op) {
    case OP.revoke:
      return { key: shownKey(command.key ?? ""), token: command.token, reason: command.reason };
    case OP.endSession:
      return { session: command.session, reason: command.reason };
    case OP.setLimit:
      return { key: shownKey(command.key), limit: command.limit ?? null };
    case OP.changeSetting:
      return { setting: command.name, value: command.value ?? null };
    case OP.setGrant: {
      const { name, level, key, isPrefix } = command;
      return { identity: name, grants: level, key: `${shownKey(key) ?? ""}${isPrefix ? "*" : ""}` };
    }
    case OP.putCredential:
    case OP.removeCredential:
      return { identity: command.name, credential: command.label };
    default:
      return { identity: command.name };
  }
}

function shown(text: string): string | undefined {
  return text === "" ? undefined : text;
}

/** Clients choose keys: they are cut short, and written so that none looks like another. */
function shownKey(key: string): string | undefined {
  if (key === "") return undefined;
  const characters = [...key];
  if (characters.length <= KEY_CHARACTERS_MAX) return keyText(key);
  return `${keyText(characters.slice(0, KEY_CHARACTERS_MAX).join(""))}…`;
}
