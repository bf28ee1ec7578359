/**
 * A configuration as bytes: the data of a configuration entry, on the wire, on disk and with a
 * snapshot. Each configuration has exactly one form: a version, four counts, the ids, then each
 * address with its id and length; integers are big-endian. Bytes that do not decode were not
 * written by a node of this version and must never get into the log.
 */
import { assert } from "../../errors/index.js";
import type { Configuration, MemberAddress, NodeId } from "../types.js";
import { assertConfiguration, problemOf } from "./configuration.js";

/**
 * byte 0: version; 1: voters; 2: outgoing; 3: learners; 4: addresses; then 4 bytes for each id in
 * this order; then for each address 4 bytes id, 1 byte length, the characters.
 */
const VERSION = 1;
const HEADER_BYTES = 5;
const ID_BYTES = 4;
const ADDRESS_HEADER_BYTES = ID_BYTES + 1;

/** Throws `InvariantError` if `configuration` is not valid. */
export function encodeConfiguration(configuration: Configuration): Uint8Array {
  assertConfiguration(configuration);
  const { voters, outgoing, learners, addresses } = configuration;
  const bytes = new Uint8Array(byteLengthOf(configuration));
  const view = new DataView(bytes.buffer);
  bytes.set([VERSION, voters.length, outgoing.length, learners.length, addresses.length]);
  let at = HEADER_BYTES;
  for (const half of [voters, outgoing, learners]) {
    for (const id of half) {
      view.setUint32(at, id);
      at += ID_BYTES;
    }
  }
  for (const { id, address } of addresses) {
    view.setUint32(at, id);
    bytes[at + ID_BYTES] = address.length;
    at += ADDRESS_HEADER_BYTES;
    for (let i = 0; i < address.length; i += 1) bytes[at + i] = address.charCodeAt(i);
    at += address.length;
  }
  assert(at === bytes.length, () => `a configuration of ${at} bytes in ${bytes.length}`);
  return bytes;
}

/** `undefined` for anything that `encodeConfiguration` does not return. Never throws. */
export function decodeConfiguration(bytes: Uint8Array): Configuration | undefined {
  const [version, voterCount = 0, outgoingCount = 0, learnerCount = 0, addressCount = 0] = bytes;
  if (bytes.length < HEADER_BYTES || version !== VERSION) return undefined;
  const addressesAt = HEADER_BYTES + ID_BYTES * (voterCount + outgoingCount + learnerCount);
  if (addressesAt > bytes.length) return undefined;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const outgoingAt = HEADER_BYTES + ID_BYTES * voterCount;
  const learnersAt = outgoingAt + ID_BYTES * outgoingCount;
  const addresses = readAddresses(bytes, view, addressesAt, addressCount);
  if (addresses === undefined) return undefined;
  const configuration: Configuration = {
    voters: readIds(view, HEADER_BYTES, voterCount),
    outgoing: readIds(view, outgoingAt, outgoingCount),
    learners: readIds(view, learnersAt, learnerCount),
    addresses,
  };
  return problemOf(configuration) === undefined ? configuration : undefined;
}

function readIds(view: DataView, at: number, count: number): NodeId[] {
  return Array.from({ length: count }, (_, i) => view.getUint32(at + ID_BYTES * i));
}

/** Returns addresses that fill the bytes from `at` to the end exactly; otherwise `undefined`. */
function readAddresses(
  bytes: Uint8Array,
  view: DataView,
  at: number,
  count: number,
): MemberAddress[] | undefined {
  const addresses: MemberAddress[] = [];
  let start = at;
  for (let i = 0; i < count; i += 1) {
    if (start + ADDRESS_HEADER_BYTES > bytes.length) return undefined;
    const id = view.getUint32(start);
    const textAt = start + ADDRESS_HEADER_BYTES;
    const end = textAt + view.getUint8(start + ID_BYTES);
    if (end > bytes.length) return undefined;
    addresses.push({ id, address: String.fromCharCode(...bytes.subarray(textAt, end)) });
    start = end;
  }
  return start === bytes.length ? addresses : undefined;
}

function byteLengthOf({ voters, outgoing, learners, addresses }: Configuration): number {
  let length = HEADER_BYTES + ID_BYTES * (voters.length + outgoing.length + learners.length);
  for (const { address } of addresses) length += ADDRESS_HEADER_BYTES + address.length;
  return length;
}
