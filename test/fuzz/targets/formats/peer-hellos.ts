/** The first message of a peer link, and whether who says it is let in. */
import { decodeHello, encodeHello } from "../../../../src/net/peers/hello.js";
import { PeerIdentities } from "../../../../src/net/peers/peer-identities.js";
import type { PeerIdentity } from "../../../../src/net/types.js";
import { MODEL_VERSION } from "../../../../src/protocol/model-version.js";
import { sealed } from "../../../net/peers/messages.js";
import { birthOf, CLUSTER } from "../../../net/peers/node.js";
import { wordMutator } from "../../engine/mutators.js";
import { demand, demandEqual, demandSameBytes, type FuzzTarget } from "../../engine/target.js";

const OWN = 1;
const MEMBERS = [2, 3];
/** `decision 21`: what is not dialed may rise by this much at a time. */
const INCARNATION_JUMP_MAX = 2 ** 24;
/** The version. */
const PREFIX_BYTES = 2;
const CHECKSUM_BYTES = 4;

export const peerHellos: FuzzTarget = {
  name: "peer-hellos",
  about: "the first message of a peer link: who is let in, and what a refusal says",
  corpus: () => [
    encodeHello(identityOf(2), OWN),
    encodeHello(identityOf(3, { incarnation: 9, advertise: "wss://[::1]:7411" }), OWN),
    encodeHello(identityOf(2, { origin: "joined", incarnation: 2 ** 53 - 1 }), OWN),
    encodeHello(identityOf(2, { birth: birthOf(9) }), OWN),
    encodeHello(identityOf(4), OWN),
    encodeHello(identityOf(1), OWN),
    encodeHello(identityOf(2), 3),
    encodeHello(identityOf(2, { clusterId: "ff".repeat(16) }), OWN),
  ],
  mutators: [wordMutator([Buffer.from(birthOf(2), "hex"), Buffer.from(CLUSTER, "hex")])],
  repair: sealedHello,
  bytesMax: 2_100,
  steps: { fixed: 20_000, perByte: 20 },
  run(input) {
    const hello = decodeHello(input);
    if (!("code" in hello)) {
      demandSameBytes(encodeHello(hello.identity, hello.expectedId), input, "written again");
    }
    const noted: PeerIdentity[] = [];
    const identities = identitiesOf((identity) => noted.push(identity));
    const admitted = identities.admit(input, 0, 0);
    if ("code" in admitted) {
      demandEqual(noted.length, 0, "what was noted of a hello that is refused");
      for (const id of MEMBERS) demandIsLetIn(identities, id);
      demandTellsNothing(admitted.reason);
      return "refused";
    }
    const { nodeId, clusterId, incarnation, birth } = admitted;
    demandEqual(clusterId, CLUSTER, "the cluster of the one that was let in");
    demand(MEMBERS.includes(nodeId), () => `node ${nodeId} was let in`);
    demandEqual(birth, birthOf(nodeId), "the directory of the one that was let in");
    demand(incarnation <= 5 + INCARNATION_JUMP_MAX, () => `incarnation ${incarnation} was let in`);
    demandIsLetIn(identities, nodeId === 2 ? 3 : 2);
    return "taken";
  },
};

function identityOf(nodeId: number, rest: Partial<PeerIdentity> = {}): PeerIdentity {
  return {
    ...{ nodeId, clusterId: CLUSTER, birth: birthOf(nodeId), origin: "initial", incarnation: 5 },
    advertise: `ws://127.0.0.1:741${nodeId % 10}`,
    ...rest,
  };
}

function identitiesOf(onIdentity: (identity: PeerIdentity) => void): PeerIdentities {
  const known = MEMBERS.map((id) => [id, { incarnation: 5, births: [birthOf(id)] }] as const);
  return new PeerIdentities(identityOf(OWN), MEMBERS, new Map(known), onIdentity);
}

/** The real node, which was started once more, is not kept out. */
function demandIsLetIn(identities: PeerIdentities, nodeId: number): void {
  const hello = encodeHello(identityOf(nodeId, { incarnation: 6 }), OWN);
  const admitted = identities.admit(hello, 0, 0);
  demand(!("code" in admitted), () => `node ${nodeId} is kept out: ${JSON.stringify(admitted)}`);
}

function demandTellsNothing(reason: string): void {
  const secrets = [CLUSTER, birthOf(OWN), birthOf(2), birthOf(3), "127.0.0.1"];
  const told = secrets.find((secret) => reason.includes(secret));
  demand(told === undefined, () => `the refusal reveals ${told}: ${reason}`);
  demand(Buffer.byteLength(reason) <= 123, () => `a reason too long for a close frame: ${reason}`);
}

function sealedHello(input: Uint8Array): Uint8Array {
  if (input.length < PREFIX_BYTES + CHECKSUM_BYTES) return input;
  const prefix = Buffer.from(input.subarray(0, PREFIX_BYTES));
  prefix.writeUInt16BE(MODEL_VERSION);
  return Buffer.concat([prefix, sealed(input.subarray(PREFIX_BYTES + CHECKSUM_BYTES))]);
}
