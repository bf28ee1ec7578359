/**
 * What this node reports to its operators about who may do what. It counts and logs what is refused
 * to its own clients, and, while it leads, logs which orders were carried out and by whom. Clients
 * cannot fill the log: there are few lines of each kind in a minute, for orders of each identity, and
 * the next line says how many were left out. Decides nothing, and never sees a token.
 */
import { ERROR_NUMBERS } from "../../errors.js";
import type { AccessListener, RefusedCommand } from "../../lockfsm/index.js";
import type { ClientConnection } from "../../net/index.js";
import {
  ACCESS_LEVEL,
  type AccessLevel,
  isAccessOp,
  OP,
  type OrderCommand,
} from "../../protocol/index.js";
import { keyText } from "../../safe-text.js";
import type { Clock, Logger } from "../ports.js";
import type { Attachments } from "./attachments.js";

const WINDOW_MS = 60_000;
const REFUSALS_PER_WINDOW_MAX = 1;
const ORDERS_PER_WINDOW_MAX = 100;
const KEY_CHARACTERS_MAX = 64;

const CODES = ["FORBIDDEN", "UNAUTHENTICATED"] as const;
const VERBS = (Object.keys(ACCESS_LEVEL) as AccessLevel[]).filter((level) => level !== "none");
const REQUEST_NAMES: ReadonlyMap<number, string> = new Map(
  Object.entries(OP).map(([name, op]) => [op, name]),
);

/** A request of a client that was refused because of its identity. */
export interface RefusedRequest extends Omit<RefusedCommand, "command" | "session"> {
  /** Of `OP`. */
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
  readonly logger: Logger;
  readonly isLeader: () => boolean;
}

export class AccessLog implements AccessListener {
  readonly #parts: AccessLogParts;
  /** Entries before that are replayed. */
  readonly #startedWallMs: number;
  readonly #refusals: readonly RefusalCount[] = VERBS.flatMap((verb) =>
    CODES.map((code) => ({ verb, code, count: 0 })),
  );
  readonly #windows = new Map<string, Window>();

  constructor(parts: AccessLogParts) {
    this.#parts = parts;
    this.#startedWallMs = parts.clock.wallMs();
  }

  /** For each verb and code, also where there are none. */
  get refusals(): readonly Readonly<RefusalCount>[] {
    return this.#refusals;
  }

  /** The table refused a command. All nodes learn of it; that of the client reports it. */
  onRefused({ command, session, ...refused }: RefusedCommand): void {
    const source = this.#parts.attachments.sourceOf(session, command);
    if (source === undefined) return;
    this.onRequest(source.connection, { ...refused, op: command?.op ?? OP.acquire });
  }

  /** A request of a client of this node was refused. */
  onRequest({ address }: Pick<ClientConnection, "address">, refused: RefusedRequest): void {
    const { verb, status, identity, op, key } = refused;
    const code = status === ERROR_NUMBERS.FORBIDDEN ? "FORBIDDEN" : "UNAUTHENTICATED";
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
    const fields = { reason, certificate: certifiedName, address: shown(address) };
    this.#say("warn", "sign-in refused", "sign-in", REFUSALS_PER_WINDOW_MAX, () => fields);
  }

  onOrder(identity: string, command: OrderCommand, wallMs: number): void {
    if (!this.#parts.isLeader() || wallMs < this.#startedWallMs) return;
    const { op } = command;
    const event = isAccessOp(op) ? "access changed" : "order carried out";
    // Any client may end its own sessions: that must not hide what others do.
    this.#say("info", event, `${event} ${identity}`, ORDERS_PER_WINDOW_MAX, () => ({
      ...{ by: identity, request: REQUEST_NAMES.get(op), ...detailsOf(command) },
    }));
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
      return { identity: name, level, key: `${shownKey(key) ?? ""}${isPrefix ? "*" : ""}` };
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
