import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";
import { afterEach, expect, it, vi } from "vitest";
import { connect } from "../../../src/index.js";
import { EMPTY } from "../world/set-up.js";
import { SocketTable } from "../world/socket-table.js";

const APPLICATION = join(dirname(fileURLToPath(import.meta.url)), "application.ts");
const BUILT = new URL("../../../dist/src/index.js", import.meta.url).href;
const children: ChildProcess[] = [];
const tables: SocketTable[] = [];

afterEach(async () => {
  for (const child of children.splice(0)) child.kill("SIGKILL");
  for (const table of tables.splice(0)) await table.close();
});

async function listen(): Promise<SocketTable> {
  const table = await SocketTable.listen();
  tables.push(table);
  return table;
}

async function start(
  what: "idle" | "hold" | "finish" | "step",
  ...endpoints: string[]
): Promise<ChildProcess> {
  const child = spawn(process.execPath, ["--import", "tsx", APPLICATION, what, ...endpoints], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  children.push(child);
  const ready = once(child.stdout as NodeJS.ReadableStream, "data").then(([data]) => String(data));
  const ended = once(child, "exit").then(([code]) => `exited with ${code}`);
  expect(await Promise.race([ready, ended])).toBe("ready\n");
  return child;
}

it("takes and releases a lock over a real socket", async () => {
  const table = await listen();
  await using client = await connect({ endpoints: [table.endpoint] });
  await using lock = await client.acquire("k");
  expect(table.table.inspect("k").holds.map(({ token }) => token)).toEqual([lock.token]);
});

it("works under fake timers, which replace setImmediate", async () => {
  const table = await listen();
  vi.useFakeTimers({ toFake: ["setImmediate", "clearImmediate"] });
  try {
    await using client = await connect({ endpoints: [table.endpoint] });
    await using lock = await client.acquire("k");
    expect(lock.isHeld).toBe(true);
  } finally {
    vi.useRealTimers();
  }
});

it("lets any number of listeners wait on a lock, and warns of none of them", async () => {
  const table = await listen();
  const warnings: string[] = [];
  const note = ({ name }: Error): number => warnings.push(name);
  process.on("warning", note);
  await using client = await connect({ endpoints: [table.endpoint] });
  await using lock = await client.acquire("k");
  for (let i = 0; i < 40; i++) {
    lock.signal.addEventListener("abort", () => undefined);
    client.closed.addEventListener("abort", () => undefined);
  }
  // Warnings come in a turn of their own.
  await new Promise((resolve) => setImmediate(resolve));
  process.off("warning", note);
  expect(warnings).toEqual([]);
});

it("says which endpoint refused when nothing listens", async () => {
  const table = await SocketTable.listen();
  const { endpoint } = table;
  await table.close();
  await expect(connect({ endpoints: [endpoint], connectTimeoutMs: 200 })).rejects.toMatchObject({
    code: "UNAVAILABLE",
    message: expect.stringMatching(/ECONNREFUSED/),
  });
});

it("says with the node's own words why a node refused the connection", async () => {
  const server = createServer((socket) => {
    const answer = "HTTP/1.1 421 Misdirected Request\r\nContent-Length: 12\r\n\r\nno such name";
    socket.once("data", () => socket.end(answer));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const endpoint = `ws://127.0.0.1:${(server.address() as AddressInfo).port}`;
  await expect(connect({ endpoints: [endpoint], connectTimeoutMs: 200 })).rejects.toMatchObject({
    code: "UNAVAILABLE",
    message: expect.stringContaining("no such name"),
  });
  server.close();
});

it("lets a process end that has an idle client and nothing else to do", async () => {
  const table = await listen();
  const child = await start("idle", table.endpoint);
  const [code, signal] = await once(child, "exit");
  expect({ code, signal }).toEqual({ code: 0, signal: null });
});

it.runIf(["linux", "darwin", "win32"].includes(process.platform))(
  "loses no lock by a step of the wall clock, since a clock says that the machine did not sleep",
  async () => {
    const table = await listen();
    const child = await start("step", table.endpoint);
    const [code, signal] = await once(child, "exit");
    expect({ code, signal }).toEqual({ code: 0, signal: null });
  },
);

it("keeps a process alive that holds a lock, and releases it on SIGTERM", async () => {
  const table = await listen();
  const child = await start("hold", table.endpoint);
  expect(table.table.counts().holds).toBe(1);
  expect(child.exitCode).toBeNull();
  child.kill("SIGTERM");
  const [code, signal] = await once(child, "exit");
  expect({ code, signal }).toEqual({ code: null, signal: "SIGTERM" });
  expect(table.table.counts()).toMatchObject(EMPTY);
});

it("leaves the end of a process to a listener that the application has, called once or not", async () => {
  const table = await listen();
  const child = await start("finish", table.endpoint);
  child.kill("SIGTERM");
  const [code, signal] = await once(child, "exit");
  expect({ code, signal }).toEqual({ code: 7, signal: null });
  expect(table.table.counts()).toMatchObject(EMPTY);
});

it("lets a process end only when the last of its clients has said goodbye", async () => {
  const [one, two] = [await listen(), await listen()];
  const child = await start("hold", one.endpoint, two.endpoint);
  // The second client must resume its session first, and that takes a while.
  two.applyDelayMs = 100;
  two.dropConnections();
  child.kill("SIGTERM");
  const [code, signal] = await once(child, "exit");
  expect({ code, signal }).toEqual({ code: null, signal: "SIGTERM" });
  expect([one.table.counts(), two.table.counts()]).toMatchObject([EMPTY, EMPTY]);
});

it("listens for the end of the process once, however many clients want to hear of it", async () => {
  const table = await listen();
  const before = process.listenerCount("SIGTERM");
  const options = { endpoints: [table.endpoint], releaseOnExit: true };
  const clients = await Promise.all(Array.from({ length: 12 }, () => connect(options)));
  expect(process.listenerCount("SIGTERM")).toBe(before + 1);
  await Promise.all(clients.map((client) => client.close()));
  expect(process.listenerCount("SIGTERM")).toBe(before);
});

it("says that signals do not reach a worker thread, instead of waiting for one in vain", async () => {
  const table = await listen();
  // As it is built: a worker does not read TypeScript.
  const program = `import(${JSON.stringify(BUILT)}).then(({ connect }) => connect({
    endpoints: [${JSON.stringify(table.endpoint)}], releaseOnExit: true }));`;
  const worker = new Worker(program, { eval: true, stderr: true });
  let told = "";
  for await (const piece of worker.stderr) {
    told += String(piece);
    if (told.includes("close()")) break;
  }
  await worker.terminate();
  expect(told).toMatch(/releaseOnExit has no effect in a worker thread.*: call close\(\) there/);
});
