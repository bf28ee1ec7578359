/**
 * The client port of a real node against strangers: host names that are not its own, text that
 * would control a terminal, more sockets than the process has descriptors. The node lives on and
 * serves the other clients.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { get } from "node:http";
import { connect as connectSocket, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { endWithProcess } from "../../../lab/end-with-process.js";
import { freePorts } from "../../../lab/free-ports.js";
import { connect } from "../../../src/index.js";
import { sentenceIn } from "../../../src/text/safe-text.js";
import { COMMAND } from "../world/command-line.js";

const DESCRIPTORS = 1_200;
const SOCKETS = 1_800;

let directory = "";
let node: ChildProcess;
let port = 0;
let log = "";

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "holdfast-client-port-"));
  const [clientPort = 0, peerPort = 0] = await freePorts(2);
  port = clientPort;
  const server = [
    ...[COMMAND, "server", "--id=1", `--data=${join(directory, "n1")}`],
    ...[`--listen=127.0.0.1:${port}`, `--initial-cluster=1=127.0.0.1:${peerPort}`],
    ...["--allow-host=holdfast.example", "--log-format=json"],
  ];
  const limited = ["-c", `ulimit -n ${DESCRIPTORS}; exec "$@"`, "bash", process.execPath];
  node = spawn("bash", [...limited, ...server], { stdio: ["ignore", "ignore", "pipe"] });
  endWithProcess(node);
  node.stderr?.on("data", (chunk: Buffer) => {
    log += chunk.toString();
    node.emit("logged");
  });
  while (!log.includes("node started")) await once(node, "logged");
});
afterAll(async () => {
  node.kill("SIGTERM");
  await rm(directory, { recursive: true, force: true });
});

/** Status and body of a page, asked for by that host name from that address. */
async function page(path: string, host: string, localAddress = "127.0.0.1") {
  const request = get({ host: "127.0.0.1", port, path, localAddress, headers: { host } });
  const [response] = await once(request, "response");
  let body = "";
  for await (const chunk of response) body += chunk;
  return { status: Number(response.statusCode), body: sentenceIn(body) };
}

test("a page of another host name, which resolves to this node, reads nothing of it", async () => {
  for (const path of ["/", "/status", "/metrics"]) {
    const { status, body } = await page(path, `evil.example:${port}`);
    expect([status, body]).toEqual([
      421,
      'this node does not answer to "evil.example": allow it with --allow-host',
    ]);
  }
  expect((await page("/status", `127.0.0.1:${port}`)).status).toBe(200);
  expect((await page("/status", "holdfast.example")).status).toBe(200);
  expect(await page("/livez", "evil.example")).toEqual({ status: 200, body: "ok" });
});

test("what strangers call themselves reaches the log without control characters", async () => {
  const socket = connectSocket({ host: "127.0.0.1", port });
  const upgrade = [
    ...["GET /v1 HTTP/1.1", "Host: localhost", "Connection: Upgrade", "Upgrade: websocket"],
    ...["Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA=="],
    ...["Sec-WebSocket-Protocol: holdfast", "Origin: http://a\u009b31m", "", ""],
  ];
  socket.write(Buffer.from(upgrade.join("\r\n"), "latin1"));
  const [answer] = await once(socket, "data");
  const refused = 'pages of "http://a\\u{9b}31m" may not connect';
  expect(answer.toString()).toContain(JSON.stringify(refused).slice(1, -1));
  while (!log.includes("--allow-origin")) await once(node, "logged");
  expect(log).toContain(JSON.stringify(refused).slice(1, -1));
  expect(log).not.toMatch(/[\u0080-\u009f]/);
  socket.destroy();
});

test("more idle sockets than the process has descriptors end neither the node nor its log", async () => {
  await using client = await connect({ endpoints: [`ws://127.0.0.1:${port}`] });
  const { clientPort } = JSON.parse((await page("/status", "localhost")).body);
  expect(clientPort.socketsMax).toBeLessThan(DESCRIPTORS - 256);
  const refused = SOCKETS - clientPort.socketsMax;
  let left = 0;
  const sockets: Socket[] = [];
  await new Promise<void>((resolve) => {
    for (let count = 0; count < SOCKETS; count += 1) {
      const socket = connectSocket({ host: "127.0.0.1", port });
      socket.on("error", () => undefined);
      socket.once("close", () => {
        left += 1;
        if (left >= refused) resolve();
      });
      sockets.push(socket);
    }
  });
  // The client that was there works on, and clients from other addresses are let in.
  for (let round = 0; round < 20; round += 1) {
    const lock = await client.acquire(`flood/${round}`);
    await lock.release();
  }
  const { status, body } = await page("/status", "127.0.0.1", "127.0.0.2");
  expect(status).toBe(200);
  expect(JSON.parse(body)).toMatchObject({ role: "leader" });
  // On a busy machine the rest was let in first, and then closed for its silence.
  expect(JSON.parse(body).clientPort.refusedTotal).toBeGreaterThan(0);
  for (const socket of sockets) socket.destroy();
  expect(node.exitCode).toBe(null);
  expect(log).not.toContain("EMFILE");
});
