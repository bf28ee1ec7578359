/**
 * The HTTP door over a real socket, with bodies that are too large, in chunks, dripped, cut, pipelined
 * and reset, and with upgrades. The first byte of an input says how it is sent. Whatever is sent, the
 * process lives, no request fails in a way that nobody awaits, and another caller is served.
 */
import { once } from "node:events";
import { get } from "node:http";
import { connect } from "node:net";
import { DoorClients, LeaseDoor } from "../../../../src/doors/index.js";
import { TestGateway } from "../../../net/gateway/client.js";
import { mutateJson } from "../../engine/json-mutators.js";
import { demand, demandEqual, type FuzzTarget } from "../../engine/target.js";
import { mutateHttp, requestOf, soon } from "./web-socket.js";

interface Scene {
  readonly gateway: TestGateway;
  readonly clients: DoorClients;
  readonly failures: unknown[];
}

const HOST = { Host: "127.0.0.1:7411" };
const LEASE = { ...HOST, "Holdfast-Owner": "o", "Content-Type": "application/json" };
const CHUNKED = { ...LEASE, "Transfer-Encoding": "chunked" };
const H2C = { Connection: "Upgrade, HTTP2-Settings", Upgrade: "h2c", "HTTP2-Settings": "AAEA" };
const PIECES = 8;

let scene: Scene | undefined;

export const httpDoor: FuzzTarget = {
  name: "http-door",
  about: "requests to the HTTP door with bodies that are cut, dripped, in chunks, and reset",
  corpus: () => [0, 1, 2, 3].flatMap((how) => requests().map((bytes) => sentSo(how, bytes))),
  mutators: [mutateHttp, mutateJson],
  bytesMax: 131_072,
  steps: { fixed: 200_000, perByte: 300 },
  shortRuns: 60,
  async run(input) {
    scene ??= await begin();
    const { gateway, failures } = scene;
    const answer = await send(gateway.gateway.port, input);
    await soon("its socket is given back", () => gateway.gateway.load.sockets === 0);
    demandEqual(failures.length, 0, "failures that nobody awaits");
    demandEqual(await statusOfBystander(gateway.gateway.port), 200, "the status of a bystander");
    await soon("the bystander is gone", () => gateway.gateway.load.sockets === 0);
    const isHttp = answer === "" || /^HTTP\/1\.1 \d{3} /.test(answer);
    demand(isHttp, () => answer.slice(0, 400));
    return /^HTTP\/1\.1 2/.test(answer) ? "taken" : "refused";
  },
  async close() {
    const { gateway, clients } = scene ?? {};
    scene = undefined;
    await clients?.close();
    await gateway?.gateway.close();
  },
};

async function begin(): Promise<Scene> {
  const failures: unknown[] = [];
  const gateways: TestGateway[] = [];
  const clients = new DoorClients({
    name: "door",
    connect: (caller, events) => {
      const [first] = gateways;
      if (first === undefined) throw new Error("no gateway yet");
      return first.gateway.connectInProcess(caller, events);
    },
    timeoutMs: 200,
  });
  const door = new LeaseDoor({
    ...{ clients, description: () => "{}", log: () => undefined, isLogging: () => false },
    // An answer of 500 is not a fault here: the driver only echoes.
    onInternalError: () => undefined,
  });
  const gateway = new TestGateway({ door, onFailed: (error) => failures.push(error) });
  gateways.push(gateway);
  await gateway.start();
  return { gateway, clients, failures };
}

function sentSo(how: number, bytes: Uint8Array): Uint8Array {
  return Uint8Array.from([how, ...bytes]);
}

/** Resolves to all that was answered, when the connection is closed. */
async function send(port: number, input: Uint8Array): Promise<string> {
  const [how = 0] = input;
  const bytes = input.subarray(1);
  const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
  let text = "";
  socket.on("error", () => undefined);
  socket.on("data", (part) => {
    text += part.toString("latin1");
  });
  const closed = new Promise<void>((resolve) => socket.once("close", () => resolve()));
  await once(socket, "connect");
  if (how % 2 === 1) {
    for (let at = 0; at < PIECES; at += 1) {
      const [from, to] = [at, at + 1].map((part) => Math.floor((bytes.length * part) / PIECES));
      socket.write(bytes.subarray(from, to));
      await new Promise(setImmediate);
    }
  } else socket.write(bytes);
  if (how % 4 >= 2) socket.resetAndDestroy();
  else {
    socket.end();
    socket.once("end", () => socket.destroy());
  }
  await closed;
  return text;
}

async function statusOfBystander(port: number): Promise<number> {
  const asked = get({ port, host: "127.0.0.1", path: "/v1/openapi.json", agent: false });
  const [response] = await once(asked, "response");
  response.resume();
  await once(response, "end");
  return Number(response.statusCode);
}

function requests(): Uint8Array[] {
  const text = (value: string): Uint8Array => Buffer.from(value, "latin1");
  const chunk = (value: string) => text(`${value.length.toString(16)}\r\n${value}\r\n`);
  const end = text("0\r\n\r\n");
  const large = `{"x":"${"a".repeat(70_000)}"}`;
  const items = '{"items":[{"key":"a"}],"ttl":"soon"}';
  const read = requestOf("GET /v1/openapi.json", HOST);
  const length = (value: string) => ({ ...LEASE, "Content-Length": String(value.length) });
  return [
    read,
    Buffer.concat([read, read, read]),
    requestOf("POST /v1/locks", CHUNKED, chunk(items), end),
    requestOf("POST /v1/locks", CHUNKED, chunk(large), end),
    requestOf("POST /v1/locks", CHUNKED, chunk(large)),
    requestOf("POST /v1/locks", CHUNKED, chunk(large), end, read),
    requestOf("POST /v1/locks", CHUNKED, text("fffff\r\n{")),
    requestOf("POST /v1/locks", CHUNKED, text("zz\r\n")),
    requestOf("POST /v1/locks", length(large), text(large)),
    requestOf("POST /v1/locks", length(large), text("{")),
    requestOf("POST /v1/locks", length(items), text(items)),
    requestOf("PUT /v1/lock?key=a", CHUNKED, end),
    requestOf("PUT /v1/lock?key=a", { ...CHUNKED, ...H2C }, chunk("body"), end),
    requestOf("GET /v1/openapi.json", { ...HOST, ...H2C }),
    requestOf("POST /v1/locks", { ...LEASE, ...H2C, "Content-Length": "2" }, text("{}"), read),
    requestOf("OPTIONS /v1/locks", { ...HOST, Expect: "100-continue", "Content-Length": "9" }),
    requestOf("GET /v1/openapi.json", { ...HOST, Upgrade: "websocket", Connection: "Upgrade" }),
    requestOf("CONNECT localhost:1", HOST),
  ];
}
