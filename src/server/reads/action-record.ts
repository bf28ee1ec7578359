/**
 * An action as the audit keeps it. One array of the canonical encoding; later versions may append
 * fields.
 *
 * `[kind, identity, credential, address, what, key, outcome, details as JSON]`
 */
import {
  AUDIT_KINDS,
  type AuditDetails,
  ProtocolError,
  Reader,
  Writer,
} from "../../protocol/index.js";
import type { AuditAction } from "../commands/audit-actions.js";

const POSITIONS = 8;
const INITIAL_BYTES = 128;

export function encodeAction(action: AuditAction): Uint8Array {
  const { kind, identity, credential, address, what, key, outcome, details } = action;
  const writer = new Writer(INITIAL_BYTES);
  writer.arrayHeader(POSITIONS);
  writer.uint(AUDIT_KINDS.indexOf(kind));
  const texts = [identity, credential, address, what, key, outcome, JSON.stringify(details)];
  for (const text of texts) writer.string(text);
  return writer.take();
}

export interface StoredAction extends Omit<AuditAction, "details"> {
  readonly details: AuditDetails;
}

/** Throws `ProtocolError` for what `encodeAction` cannot have written. */
export function decodeAction(body: Uint8Array): StoredAction {
  const reader = new Reader(body);
  const count = reader.arrayHeader();
  const kind = AUDIT_KINDS[reader.uint()];
  if (count < POSITIONS || kind === undefined || kind === "hold")
    throw new ProtocolError("no action", 0);
  const text = (): string => {
    const read = reader.text(reader.stringHeader());
    if (read === undefined) throw new ProtocolError("no action", reader.at);
    return read;
  };
  const [identity, credential, address] = [text(), text(), text()];
  const [what, key, outcome] = [text(), text(), text()];
  const details = detailsIn(text(), reader.at);
  return { kind, identity, credential, address, what, key, outcome, details };
}

function detailsIn(text: string, at: number): AuditDetails {
  let details: unknown;
  try {
    details = JSON.parse(text);
  } catch {
    throw new ProtocolError("no action", at);
  }
  if (details === null || typeof details !== "object" || Array.isArray(details))
    throw new ProtocolError("no action", at);
  for (const value of Object.values(details)) {
    if (value !== null && !["string", "number", "boolean"].includes(typeof value))
      throw new ProtocolError("no action", at);
  }
  return details as AuditDetails;
}
