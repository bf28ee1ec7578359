/**
 * A tenure as the audit keeps it: everything of it but the key, which the record stands under. One
 * array of the canonical encoding; later versions may put more behind what is here.
 *
 * `[mode, token, session, sessionName, owner, sequence, grantedWallMs, heldMs, reason]`
 */
import {
  CLAIM_MODES,
  type EndReason,
  ProtocolError,
  Reader,
  type Tenure,
  Writer,
} from "../../protocol/index.js";

const POSITIONS = 9;
const INITIAL_BYTES = 64;

/** `tenure` has ended. */
export function encodeTenure(tenure: Tenure & { readonly reason: EndReason }): Uint8Array {
  const writer = new Writer(INITIAL_BYTES);
  writer.arrayHeader(POSITIONS);
  writer.uint(CLAIM_MODES.indexOf(tenure.mode));
  writer.uint(tenure.token);
  writer.uint(tenure.session);
  writer.string(tenure.sessionName);
  writer.uint(tenure.owner);
  writer.uint(tenure.sequence);
  writer.uint(tenure.grantedWallMs);
  writer.uint(tenure.heldMs);
  writer.uint(tenure.reason);
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
  const owner = reader.uint();
  const sequence = reader.uint();
  const grantedWallMs = reader.uint();
  const heldMs = reader.uint();
  const reason = reader.uint() as EndReason;
  const who = { key, mode, token, session, sessionName, owner, sequence };
  return { ...who, grantedWallMs, heldMs, reason };
}
