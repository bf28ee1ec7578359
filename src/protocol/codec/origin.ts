/**
 * From where a client attached to a session: `[node, address]` in the canonical encoding, which its
 * node puts after the bytes of the command in the record of the log. So every table knows who is
 * attached where. The address names a machine or, for IPv6, its network. It decides nothing.
 */
import { assert } from "../../errors/index.js";
import { NODE_ID_MAX, ORIGIN_ADDRESS_BYTES_MAX } from "../limits.js";
import { ProtocolError } from "../protocol-error.js";
import type { Reader } from "./reader.js";
import { Writer } from "./writer.js";

export interface Origin {
  readonly node: number;
  /** "" if it is not known, or if the client is on the node's machine and used its local socket. */
  readonly address: string;
}

const FIELDS = 2;
const OWN_BYTES = 8;

/** The bytes of a command that attaches, as they stand in its record. */
export function withOrigin(command: Uint8Array, { node, address }: Origin): Uint8Array {
  assert(address.length <= ORIGIN_ADDRESS_BYTES_MAX, () => `address ${address}`);
  const writer = new Writer(command.length + OWN_BYTES + address.length);
  writer.raw(command);
  writer.arrayHeader(FIELDS);
  writer.uint(node);
  writer.string(address);
  return writer.take();
}

/** Throws `ProtocolError` for what `withOrigin` cannot have written. */
export function readOrigin(reader: Reader): Origin {
  const from = reader.at;
  const count = reader.arrayHeader();
  const node = reader.uint();
  const length = reader.stringHeader();
  const address = length > ORIGIN_ADDRESS_BYTES_MAX ? undefined : reader.text(length);
  const isNode = node >= 1 && node <= NODE_ID_MAX;
  if (count !== FIELDS || !isNode || address === undefined) {
    throw new ProtocolError("no origin", from);
  }
  return { node, address };
}
