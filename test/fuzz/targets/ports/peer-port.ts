/**
 * The port for other nodes over a real socket. Another node is connected all the time and must not
 * notice anything; what is fed says that it is a third one.
 */
import type { RandomStream } from "../../../../lab/random-stream.js";
import { encodeHello } from "../../../../src/net/peers/hello.js";
import {
  closeFrame,
  FRAME,
  FRAME_HEAD_BYTES,
  frameOfKind,
  LINK_PREFACE,
} from "../../../../src/net/peers/link-frame.js";
import { frameOf as messageFrame, SAMPLES, sealed } from "../../../net/peers/messages.js";
import { birthOf, CLUSTER, loopback, PeerNode } from "../../../net/peers/node.js";
import {
  GENERAL_MUTATORS,
  INTERESTING_NUMBERS,
  type Mutator,
  replaced,
} from "../../engine/mutators.js";
import { demand, type FuzzTarget } from "../../engine/target.js";
import { demandPrintable, knock, mutateHttp, requestOf, soon } from "./web-socket.js";

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
  about: "the port for other nodes over a socket: strangers, hello, frames",
  corpus,
  mutators: [mutateHttp, mutateFrame],
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
    demandAnswer(answer);
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

/** Nothing, HTTP, or a link: of which only the hello, that members get, says something. */
function demandAnswer(answer: Buffer): void {
  if (answer.length === 0) return;
  const isLink = answer.subarray(0, LINK_PREFACE.length).equals(LINK_PREFACE);
  const isRefusal = answer.toString("latin1").startsWith("HTTP/1.1 400 ");
  demand(isLink || isRefusal, () => answer.toString("latin1", 0, 400));
  const isAdmitted = answer[LINK_PREFACE.length + FRAME_HEAD_BYTES - 1] === FRAME.hello;
  const secret = Buffer.from(CLUSTER, "hex");
  demand(isAdmitted || !answer.includes(secret), () => "a refusal reveals the cluster");
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

function corpus(): Uint8Array[] {
  const hello = encodeHello(
    {
      ...{ nodeId: STRANGER, clusterId: CLUSTER, birth: birthOf(STRANGER), origin: "initial" },
      ...{ incarnation: 1, advertise: "ws://127.0.0.1:1" },
    },
    1,
  );
  const say = (...frames: readonly Uint8Array[]) =>
    Uint8Array.from(Buffer.concat([LINK_PREFACE, ...frames]));
  const messages = (frame: Uint8Array) => frameOfKind(FRAME.messages, frame);
  const bye = closeFrame(1001, "stopping");
  const greeting = frameOfKind(FRAME.hello, hello);
  const ping = frameOfKind(FRAME.ping);
  return [
    ...SAMPLES.map((message) =>
      say(greeting, messages(messageFrame([{ group: 0, message }])), bye),
    ),
    say(greeting, messages(messageFrame(SAMPLES.map((message) => ({ group: 1, message }))))),
    say(greeting, greeting),
    say(ping, greeting),
    say(greeting, ping, frameOfKind(FRAME.pong), ping),
    say(frameOfKind(FRAME.messages, new Uint8Array(20_000))),
    say(frameOfKind(FRAME.close)),
    Buffer.from("4846504c0003", "hex"),
    Buffer.from("160301020001", "hex"),
    requestOf("GET /peer", { Host: "x", Origin: "http://evil.example" }, greeting),
    requestOf("HEAD /", { Host: "x" }),
  ];
}

interface FramePlace {
  readonly start: number;
  readonly bodyAt: number;
  readonly end: number;
}

/** The frames of a link, as far as their lengths go. */
function framesIn(input: Uint8Array): FramePlace[] {
  const bytes = Buffer.from(input.buffer, input.byteOffset, input.length);
  const frames: FramePlace[] = [];
  for (let start = LINK_PREFACE.length; start + FRAME_HEAD_BYTES <= bytes.length; ) {
    const bodyAt = start + FRAME_HEAD_BYTES;
    const end = Math.min(bytes.length, bodyAt + bytes.readUInt32BE(start));
    frames.push({ start, bodyAt, end });
    start = end;
  }
  return frames;
}

/** Another kind, length, number or body of one frame. */
function mutateFrame(...[input, source]: Parameters<Mutator>): Uint8Array | undefined {
  const { random } = source;
  const place = random.pickOrNone(framesIn(input));
  if (place === undefined) return undefined;
  const { start, bodyAt, end } = place;
  const whole = input.slice(start, end);
  const kind = whole[FRAME_HEAD_BYTES - 1] ?? 0;
  const body = input.slice(bodyAt, end);
  switch (random.below(6)) {
    case 0:
      return replaced(input, start, end, frameOfKind(anyKind(random), body));
    case 1:
      return replaced(input, end, end, frameOfKind(anyKind(random), body.slice(0, 125)));
    case 2:
      return replaced(input, start, end, new Uint8Array(0));
    case 3: {
      const copies = new Array<Uint8Array>(1 + random.below(300)).fill(whole);
      return replaced(input, end, end, Buffer.concat(copies));
    }
    case 4: {
      const length = Buffer.alloc(4);
      length.writeUInt32BE(Number(BigInt.asUintN(32, BigInt(random.pick(INTERESTING_NUMBERS)))));
      return replaced(input, start, bodyAt - 1, length);
    }
    default: {
      const changed = random.pick(GENERAL_MUTATORS)(body, source);
      return changed && replaced(input, start, end, frameOfKind(kind, changed));
    }
  }
}

function anyKind(random: RandomStream): number {
  return random.chance(0.75) ? 1 + random.below(5) : random.below(256);
}

/** Sums of the frames after the hello. */
function sealedFrames(input: Uint8Array): Uint8Array {
  const bytes = Buffer.from(input);
  for (const { bodyAt, end } of framesIn(input).slice(1)) {
    if (end - bodyAt < CHECKSUM_BYTES) continue;
    bytes.set(sealed(input.slice(bodyAt + CHECKSUM_BYTES, end)), bodyAt);
  }
  return Uint8Array.from(bytes);
}
