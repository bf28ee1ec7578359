/**
 * The first words of two nodes, as bytes that production code writes and judges: each may be of
 * another cluster, or of another version of the model. There is one version in the sources: the
 * reader takes itself for that one, and finds the other as far from it as it is.
 */
import type { PeerIdentity } from "../../../../src/net/index.js";
import {
  encodeHello,
  HELLO_VERSION_AT,
  type HelloRefusal,
} from "../../../../src/net/peers/hello.js";
import { PeerIdentities } from "../../../../src/net/peers/peer-identities.js";
import { MODEL_VERSION } from "../../../../src/protocol/model-version.js";

export interface Speaker {
  readonly identity: PeerIdentity;
  /** Its version, counted from the version of the sources. */
  readonly versionOffset: number;
}

/** Why `reader` does not listen to `speaker`, whatever it has noted of that node. */
export function refusalOfHello(speaker: Speaker, reader: Speaker): HelloRefusal | undefined {
  const bytes = Buffer.from(encodeHello(speaker.identity, reader.identity.nodeId));
  const version = MODEL_VERSION + speaker.versionOffset - reader.versionOffset;
  bytes.writeUInt16BE(version, HELLO_VERSION_AT);
  const members = [speaker.identity.nodeId];
  const admitted = new PeerIdentities(reader.identity, members, new Map(), () => {}).admit(
    bytes,
    0,
    0,
  );
  return "code" in admitted ? admitted : undefined;
}
