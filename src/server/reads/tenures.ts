/**
 * Who held a lock and for how long, from the changes that this node keeps. A tenure ends with its
 * hold, or when the hold moves to another holder, who has it from the same grant on.
 */
import {
  CLAIM_MODES,
  type EndReason,
  HOLDERS,
  ProtocolError,
  Reader,
  type Revision,
  type Tenure,
  Writer,
} from "../../protocol/index.js";
import type { ChangeLog } from "./change-log.js";

export type EndedTenure = Tenure & { readonly reason: EndReason };

export interface NotedTenure {
  readonly revision: Revision;
  readonly endedWallMs: number;
  readonly tenure: EndedTenure;
}

/** A key's usual hold time is the average of this many of its last ends, … */
const USUAL_OF_LAST = 16;
/** … among this many of the last changes, which takes at most a millisecond. */
const USUAL_LOOKS_MAX = 32_768;
/** Fields of a record. */
const POSITIONS = 13;
/** Most records fit in this size. */
const INITIAL_BYTES = 64;

/** The tenure that ends with the change at `position`, if one does. */
export function tenureAt(log: ChangeLog, position: number): NotedTenure | undefined {
  const type = log.typeAt(position);
  if (type !== "ended" && type !== "moved") return undefined;
  const { key, mode, token, session, sessionName, identity, ...rest } = log.viewAt(position);
  const { task, sequence, stamp, wallMs, revision } = rest;
  const { grantedAt, waitedMs, holder, orderedBy } = log.holdAt(position);
  const grantedWallMs = log.wallMsAt(grantedAt);
  const { reason } = rest;
  const heldMs = stamp - grantedAt;
  const who = { key, mode, token, session, sessionName, identity, task, sequence, holder };
  const tenure = { ...who, waitedMs, orderedBy, grantedWallMs, heldMs, reason };
  return { revision, endedWallMs: wallMs, tenure };
}

/** The tenures of a key that ended and are kept, the newest first, at most `limit`. */
export function tenuresOf(log: ChangeLog, key: string, limit: number): EndedTenure[] {
  const found: EndedTenure[] = [];
  for (let position = log.end - 1; position >= log.first && found.length < limit; position -= 1) {
    if (log.keyAt(position) !== key) continue;
    const noted = tenureAt(log, position);
    if (noted !== undefined) found.push(noted.tenure);
  }
  return found;
}

/** How long a key was held lately, on average, in milliseconds; `undefined` if nothing is known. */
export function usualHoldMs(log: ChangeLog, key: string): number | undefined {
  const oldest = Math.max(log.first, log.end - USUAL_LOOKS_MAX);
  let count = 0;
  let heldMs = 0;
  for (let position = log.end - 1; position >= oldest && count < USUAL_OF_LAST; position -= 1) {
    if (log.keyAt(position) !== key || log.typeAt(position) !== "ended") continue;
    heldMs += log.stampAt(position) - log.holdAt(position).grantedAt;
    count += 1;
  }
  return count === 0 ? undefined : heldMs / count;
}

/**
 * A tenure as the audit keeps it: everything but the key, which is the key of the record. One array
 * of the canonical encoding; later versions may append fields.
 *
 * `[mode, token, session, sessionName, task, sequence, grantedWallMs, heldMs, reason, identity,
 * waitedMs, orderedBy, holder]`
 */
export function encodeTenure(tenure: EndedTenure): Uint8Array {
  const writer = new Writer(INITIAL_BYTES);
  writer.arrayHeader(POSITIONS);
  writer.uint(CLAIM_MODES.indexOf(tenure.mode));
  writer.uint(tenure.token);
  writer.uint(tenure.session);
  writer.string(tenure.sessionName);
  writer.uint(tenure.task);
  writer.uint(tenure.sequence);
  writer.uint(tenure.grantedWallMs);
  writer.uint(tenure.heldMs);
  writer.uint(tenure.reason);
  writer.string(tenure.identity);
  writer.uint(tenure.waitedMs);
  writer.string(tenure.orderedBy);
  writer.uint(HOLDERS.indexOf(tenure.holder));
  return writer.take();
}

/** Throws `ProtocolError` for what `encodeTenure` cannot have written. */
export function decodeTenure(key: string, body: Uint8Array): Tenure {
  const reader = new Reader(body);
  const count = reader.arrayHeader();
  const mode = CLAIM_MODES[reader.uint()];
  if (count < POSITIONS || mode === undefined) throw new ProtocolError("no tenure", 0);
  const token = reader.uint();
  const session = reader.uint();
  const sessionName = reader.text(reader.stringHeader());
  if (sessionName === undefined) throw new ProtocolError("no tenure", reader.at);
  const task = reader.uint();
  const sequence = reader.uint();
  const grantedWallMs = reader.uint();
  const heldMs = reader.uint();
  const reason = reader.uint() as EndReason;
  const identity = reader.text(reader.stringHeader());
  const waitedMs = reader.uint();
  const orderedBy = reader.text(reader.stringHeader());
  const holder = HOLDERS[reader.uint()];
  if (identity === undefined || orderedBy === undefined || holder === undefined) {
    throw new ProtocolError("no tenure", reader.at);
  }
  const who = { key, mode, token, session, sessionName, identity, task, sequence, holder };
  return { ...who, grantedWallMs, heldMs, waitedMs, orderedBy, reason };
}
