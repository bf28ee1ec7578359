/**
 * Unpacks the payload of an answer, which `pack-payload.ts` packed. Apart from the packing, because
 * a browser needs only this: the bundle of a page does not contain the packer.
 */
import { Unpackr } from "msgpackr/unpack";
import { ProtocolError } from "../../protocol/index.js";
import { plainValueEnd } from "./plain-value.js";

const unpackr = new Unpackr({ useRecords: false, int64AsType: "number" });

/**
 * Unpacks one value that fills `bytes`.
 * @throws {ProtocolError} when the bytes are not exactly one value, or contain a refused type
 */
export function unpackPayload(bytes: Uint8Array): unknown {
  const end = plainValueEnd(bytes, 0);
  if (end !== bytes.length) throw new ProtocolError("bytes after the payload", end);
  try {
    return unpackr.unpack(bytes);
  } catch {
    // The names of an object's fields are not all texts or numbers.
    throw new ProtocolError("a payload that is not plain data", 0);
  }
}
