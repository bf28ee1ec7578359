/**
 * The first words of two nodes, as bytes of the production codec, where each may be of another version
 * of the model. There is one version in the sources: whoever reads takes itself for that one, and
 * finds the other so far from it as it is.
 */
import { crc32 } from "node:zlib";
import { MODEL_VERSION } from "../../../src/model-version.js";
import type { PeerIdentity } from "../../../src/net/index.js";
import { decodeHello, encodeHello, type HelloRefusal } from "../../../src/net/peer-hello.js";

/** Where it stands, whatever the version. */
const VERSION_AT = 4;
const CHECKSUM_BYTES = 4;

export interface Speaker {
  readonly identity: PeerIdentity;
  /** Versions after that of the sources. */
  readonly versionOffset: number;
}

/** Why `reader` does not listen to `speaker`, by their versions alone. */
export function refusalOfHello(speaker: Speaker, reader: Speaker): HelloRefusal | undefined {
  const bytes = Buffer.from(encodeHello(speaker.identity, reader.identity.nodeId));
  const version = MODEL_VERSION + speaker.versionOffset - reader.versionOffset;
  bytes.writeUInt16BE(version, VERSION_AT);
  const end = bytes.length - CHECKSUM_BYTES;
  bytes.writeUInt32BE(crc32(bytes.subarray(0, end)), end);
  const hello = decodeHello(bytes);
  return "code" in hello ? hello : undefined;
}
