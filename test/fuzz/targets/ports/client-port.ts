/**
 * The port for clients over a real socket: pages, upgrades, WebSocket and the frames in it. Another
 * client is there all the time and must not notice anything.
 */
import { OP, SUBPROTOCOL } from "../../../../src/protocol/index.js";
import { BareClient, command, OPEN, TestGateway } from "../../../net/gateway/client.js";
import { frameOf as requestFrame } from "../../../protocol/frames.js";
import { mutateMsgpack } from "../../engine/msgpack-mutators.js";
import { demand, demandEqual, type FuzzTarget } from "../../engine/target.js";
import { sampleFrames } from "../formats/client-frames.js";
import {
  CLOSE,
  demandHttp,
  demandPrintable,
  frameMutator,
  frameOf,
  knock,
  mutateHttp,
  PING,
  PONG,
  requestOf,
  soon,
  TEXT,
  upgradeHeaders,
} from "./web-socket.js";

interface Scene {
  readonly gateway: TestGateway;
  readonly bystander: BareClient;
  said: number;
}

const HOST = { Host: "127.0.0.1:7411" };
/** By which the scene knows the ports own names in a request; see `known-hosts.ts`. */
const OWN_NAMES = /127\.0\.0\.1|localhost|\[[0-9a-f:.]*\]|\d/i;
const HEALTH = /livez|readyz/;

let scene: Scene | undefined;

export const clientPort: FuzzTarget = {
  name: "client-port",
  about: "the port for clients over a socket: pages, upgrades, WebSocket",
  corpus: () => [...pages(), ...upgrades(), ...conversations()],
  mutators: [mutateHttp, frameMutator(mutateMsgpack)],
  bytesMax: 65_536,
  steps: { fixed: 100_000, perByte: 300 },
  shortRuns: 100,
  async run(input) {
    scene ??= await begin();
    const { gateway, bystander } = scene;
    gateway.record.all.length = 0;
    const answer = await knock(gateway.gateway.port, input);
    demandHttp(answer);
    demandKeepsPages(input, answer);
    await soon("its socket is given back", () => gateway.gateway.load.sockets === 1);
    demandEqual(gateway.gateway.load.unfinishedBytes, 0, "bytes of messages that never ended");
    const heard = [...gateway.record.all];
    for (const one of heard) if (one.on === "refused") demandPrintable(one.reason);
    const began = heard.filter((one) => one.on === "connection").length;
    demandEqual(heard.filter((one) => one.on === "closed").length, began, "connections that ended");
    gateway.connections.clear();
    scene.said += 1;
    bystander.messages.all.length = 0;
    bystander.say(command(scene.said));
    await bystander.reply(scene.said);
    const isHeard = heard.some((one) => "bytes" in one || one.on === "query");
    return isHeard || answer.includes(" 200 OK") ? "taken" : "refused";
  },
  async close() {
    const { gateway, bystander } = scene ?? {};
    scene = undefined;
    bystander?.socket.terminate();
    await gateway?.gateway.close();
  },
};

async function begin(): Promise<Scene> {
  const gateway = await new TestGateway({
    ...{ controlFramesMax: 100, pingIntervalMs: 600_000, idleTimeoutMs: 6_000_000 },
  }).start();
  return { gateway, bystander: await BareClient.attached(gateway), said: 0 };
}

/** A request that names a host which is not the port's own gets nothing but whether it is alive. */
function demandKeepsPages(input: Uint8Array, answer: Buffer): void {
  // What comes after the first header is a body, or a request that the refusal of this one ends.
  const [header = ""] = Buffer.from(input).toString("latin1").trimStart().split("\r\n\r\n");
  const names = [...header.matchAll(/\r\nhost:([^\r\n]*)/gi)].map((match) => match[1] ?? "");
  const isForeign =
    names.length > 0 && names.every((name) => !OWN_NAMES.test(name) && name.trim() !== "");
  if (!isForeign || HEALTH.test(header)) return;
  const isPage = answer.toString("latin1").includes("page /");
  demand(!isPage, () => `a page for ${names.join(", ")}`);
}

function pages(): Uint8Array[] {
  return [
    requestOf("GET /livez", HOST),
    requestOf("HEAD /readyz", HOST),
    requestOf("GET /status?x=1", { Host: "localhost", Connection: "close" }),
    requestOf("GET /metrics", { Host: "evil.example" }),
    requestOf("POST /status", { ...HOST, "Content-Length": "3" }, Buffer.from("abc")),
    requestOf("GET http://evil.example/status", { Host: "[::1]:7411" }),
    requestOf("OPTIONS *", HOST),
    requestOf("GET /v1", HOST),
    requestOf(
      "PUT /",
      { ...HOST, "Transfer-Encoding": "chunked" },
      Buffer.from("1\r\na\r\n0\r\n\r\n"),
    ),
    requestOf("GET /", { ...HOST, Expect: "100-continue" }),
    requestOf("GET /metrics", { ...HOST, Authorization: `Bearer hf_${"x".repeat(48)}` }),
    Buffer.concat([
      Buffer.from("PROXY TCP4 192.0.2.1 192.0.2.2 1 7411\r\n"),
      requestOf("GET /livez", HOST),
    ]),
    requestOf(
      "POST /",
      { ...HOST, "Content-Length": "6", "Transfer-Encoding": "chunked" },
      Buffer.concat([Buffer.from("0\r\n\r\n"), requestOf("GET /status", HOST)]),
    ),
    Buffer.concat([requestOf("GET /livez", HOST), requestOf("GET /readyz", HOST)]),
    Buffer.from("GET /livez HTTP/1.0\r\n\r\n"),
    Buffer.from("GET /livez HTTP/1.1\r\nHo"),
    requestOf("GET /livez", { ...HOST, Cookie: "k".repeat(9_000) }),
  ];
}

const HEADERS = upgradeHeaders(SUBPROTOCOL);

function upgrades(): Uint8Array[] {
  return [
    requestOf("GET /v1", { ...HEADERS, Origin: "http://evil.example" }),
    requestOf("GET /v1", { ...HEADERS, "Sec-WebSocket-Version": "8" }),
    requestOf("GET /v1", { ...HEADERS, "Sec-WebSocket-Key": "short" }),
    requestOf("GET /v1", { ...HEADERS, "Sec-WebSocket-Protocol": "other, " }),
    requestOf("GET /elsewhere", HEADERS),
    requestOf("GET /v1", { ...HEADERS, Upgrade: "h2c" }),
    requestOf("GET /v1", { ...HEADERS, "Sec-WebSocket-Extensions": "permessage-deflate; x" }),
  ];
}

function conversations(): Uint8Array[] {
  const say = (...frames: readonly Uint8Array[]) => requestOf("GET /v1", HEADERS, ...frames);
  const attach = frameOf(requestFrame([OPEN]));
  const bye = frameOf(Uint8Array.of(0x03, 0xe8), { opcode: CLOSE });
  const whole = requestFrame([command(1)]);
  const signIn = requestFrame([{ op: OP.signIn, id: 1, token: "hf_token" }]);
  const twice = frameOf(signIn);
  return [
    say(twice, twice, attach, bye),
    say(attach, frameOf(whole), bye),
    say(attach, frameOf("", { opcode: PING }), frameOf("x", { opcode: PONG }), bye),
    say(frameOf("text", { opcode: TEXT })),
    say(frameOf(whole, { isMasked: false })),
    say(
      frameOf(whole.slice(0, 2), { isFinal: false }),
      frameOf(whole.slice(2), { opcode: 0 }),
      bye,
    ),
    say(...new Array<Uint8Array>(150).fill(frameOf("", { opcode: PING }))),
    ...sampleFrames(20).map((frame) => say(attach, frameOf(frame), bye)),
  ];
}
