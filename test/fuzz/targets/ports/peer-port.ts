/**
 * The port for other nodes over a real socket. Another node is connected all the time and must not
 * notice anything; what is fed says that it is a third one.
 */
import { encodeHello, PEER_SUBPROTOCOL } from "../../../../src/net/peers/hello.js";
import { frameOf as messageFrame, SAMPLES, sealed } from "../../../net/peers/messages.js";
import { birthOf, CLUSTER, loopback, PeerNode } from "../../../net/peers/node.js";
import { GENERAL_MUTATORS, type Mutator } from "../../engine/mutators.js";
import { demand, type FuzzTarget } from "../../engine/target.js";
import {
  CLOSE,
  demandHttp,
  demandPrintable,
  frameMutator,
  frameOf,
  framesIn,
  knock,
  mutateHttp,
  PING,
  requestOf,
  soon,
  TEXT,
  upgradeHeaders,
} from "./web-socket.js";

const STRANGER = 3;
const CHECKSUM_BYTES = 4;
/** Nobody answers there. */
const NOWHERE = loopback(1);

interface Scene {
  readonly node: PeerNode;
  readonly other: PeerNode;
  readonly port: number;
  asked: number;
}

let scene: Scene | undefined;

export const peerPort: FuzzTarget = {
  name: "peer-port",
  about: "the port for other nodes over a socket: upgrades, hello, frames",
  corpus,
  mutators: [mutateHttp, frameMutator(mutatePeerPayload)],
  repair: sealedFrames,
  bytesMax: 65_536,
  steps: { fixed: 200_000, perByte: 300 },
  shortRuns: 100,
  async run(input) {
    scene ??= await begin();
    const { node, other, port } = scene;
    node.record.all.length = 0;
    other.record.all.length = 0;
    const answer = await knock(port, input);
    demandHttp(answer);
    demand(!answer.includes(CLUSTER) || isAdmitted(answer), () => "a refusal reveals the cluster");
    scene.asked += 1;
    const id = scene.asked;
    other.links.send(1, 0, { type: "readBarrier", id, term: 1 });
    other.links.flush();
    await soon("a message of the other node", () =>
      node.record.all.some(
        (one) => one.on === "message" && one.peer === 2 && isBarrier(one.message, id),
      ),
    );
    for (const one of node.record.all) {
      if (one.on === "refused") demandPrintable(one.reason);
      demand(one.on !== "down" || one.peer !== 2, () => "the link to the other node broke");
    }
    const isHeard = node.record.all.some((one) => one.on === "message" && one.peer === STRANGER);
    // What was learned of the third node would be known to the next input.
    if (node.record.all.some((one) => one.on === "identity")) await peerPort.close?.();
    return isHeard ? "taken" : "refused";
  },
  async close() {
    const before = scene;
    scene = undefined;
    await before?.node.links.close();
    await before?.other.links.close();
  },
};

function isBarrier(message: { readonly type: string }, id: number): boolean {
  return message.type === "readBarrier" && "id" in message && message.id === id;
}

/** The hello of this node, which only members get, is in an upgraded connection. */
function isAdmitted(answer: Buffer): boolean {
  return answer.includes(" 101 ");
}

async function begin(): Promise<Scene> {
  // It knows the member before it knows where that one is.
  const tuning = { redialMinMs: 30_000, redialMaxMs: 60_000, silenceTimeoutMs: 120_000 };
  const other = new PeerNode({ id: 2, peers: new Map([[1, NOWHERE]]), tuning });
  await other.start();
  const node = new PeerNode({
    id: 1,
    peers: new Map([
      [2, loopback(other.links.port)],
      [STRANGER, NOWHERE],
    ]),
    knownPeers: new Map([[STRANGER, { incarnation: 1, births: [birthOf(STRANGER)] }]]),
    tuning,
  });
  await node.start();
  const { port } = node.links;
  other.links.setPeers(new Map([[1, loopback(port)]]));
  await Promise.all([node.up(2), other.up(1)]);
  return { node, other, port, asked: 0 };
}

const HEADERS = upgradeHeaders(PEER_SUBPROTOCOL);

function corpus(): Uint8Array[] {
  const hello = encodeHello(
    {
      ...{ nodeId: STRANGER, clusterId: CLUSTER, birth: birthOf(STRANGER), origin: "initial" },
      ...{ incarnation: 1, advertise: "ws://127.0.0.1:1" },
    },
    1,
  );
  const say = (...frames: readonly Uint8Array[]) => requestOf("GET /peer", HEADERS, ...frames);
  const bye = frameOf(Uint8Array.of(0x03, 0xe9), { opcode: CLOSE });
  const greeting = frameOf(hello);
  return [
    ...SAMPLES.map((message) => say(greeting, frameOf(messageFrame([{ group: 0, message }])), bye)),
    say(greeting, frameOf(messageFrame(SAMPLES.map((message) => ({ group: 1, message }))))),
    say(greeting, greeting),
    say(frameOf(hello, { opcode: TEXT })),
    say(frameOf("", { opcode: PING }), greeting, frameOf("", { opcode: PING })),
    say(frameOf(new Uint8Array(20_000))),
    requestOf("GET /peer", { ...HEADERS, Origin: "http://evil.example" }, greeting),
    requestOf("GET /peer", { ...HEADERS, "Sec-WebSocket-Protocol": "holdfast" }, greeting),
    requestOf("GET /other", HEADERS, greeting),
    requestOf("GET /", { Host: "x" }),
  ];
}

/** Any general change of a payload. */
function mutatePeerPayload(...[input, source]: Parameters<Mutator>): Uint8Array | undefined {
  return source.random.pick(GENERAL_MUTATORS)(input, source);
}

/** Sums of the frames after the hello. */
function sealedFrames(input: Uint8Array): Uint8Array {
  const bytes = Buffer.from(input);
  for (const { payloadAt, end } of framesIn(input).slice(1)) {
    if (end - payloadAt < CHECKSUM_BYTES) continue;
    bytes.set(sealed(input.slice(payloadAt + CHECKSUM_BYTES, end)), payloadAt);
  }
  return Uint8Array.from(bytes);
}
