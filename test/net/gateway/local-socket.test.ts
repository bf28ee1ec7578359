/** The socket in a node's data directory: who can open it, whose it is, and what it serves. */
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, statSync } from "node:fs";
import { get } from "node:http";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { MESSAGE } from "../../../src/protocol/index.js";
import { openSocketDirectory } from "../../../src/reach/socket-path.js";
import { BareClient, command, OPEN, TestGateway } from "./client.js";

const NAME = "local.sock";
/** The answer to an HTTP request through the socket. */
interface Answer {
  readonly status: number | undefined;
  readonly text: string;
}

let directory: string;
const gateways: TestGateway[] = [];

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "holdfast-local-"));
});

afterEach(async () => {
  await Promise.all(gateways.splice(0).map(({ gateway }) => gateway.close()));
  rmSync(directory, { recursive: true, force: true });
});

async function start(...args: ConstructorParameters<typeof TestGateway>): Promise<TestGateway> {
  const gateway = new TestGateway(...args);
  gateways.push(gateway);
  return gateway.start();
}

async function startLocal(tuning: object = {}): Promise<TestGateway> {
  const gateway = await start(tuning);
  await gateway.gateway.listenLocal(directory);
  return gateway;
}

/** For clients that are given an address. */
function through(path = join(directory, NAME)): object {
  return { createConnection: () => connect(path) };
}

async function page(headers: object = {}, path = join(directory, NAME)): Promise<Answer> {
  const [response] = await once(
    get({ ...{ socketPath: path, path: "/livez", agent: false }, headers: { ...headers } }),
    "response",
  );
  let text = "";
  for await (const part of response) text += part;
  return { status: response.statusCode, text };
}

describe("the socket in a data directory", () => {
  test("serves pages and clients, which the driver learns are local", async () => {
    const gateway = await startLocal();
    expect(await page()).toEqual({ status: 200, text: "page /livez\n" });
    const client = await BareClient.connect(gateway, through());
    client.say(OPEN);
    await client.messages.find((message) => message.kind === MESSAGE.attached);
    client.say(command(1));
    await client.reply(1);
    expect([...gateway.connections.values()].map(({ isLocal }) => isLocal)).toEqual([true]);
    await BareClient.connect(gateway);
    expect([...gateway.connections.values()].map(({ isLocal }) => isLocal)).toEqual([true, false]);
  });

  test("is for the user of the node, and nothing else is left in the directory", async () => {
    const umask = process.umask(0);
    try {
      await startLocal();
    } finally {
      process.umask(umask);
    }
    expect(statSync(join(directory, NAME)).mode & 0o777).toBe(0o600);
    expect(readdirSync(directory)).toEqual([NAME]);
  });

  test("is gone when the port is closed, and its clients with it", async () => {
    const gateway = await startLocal();
    const client = await BareClient.connect(gateway, through());
    await gateway.gateway.close();
    expect((await client.closed).code).toBe(1001);
    expect(readdirSync(directory)).toEqual([]);
  });

  test("replaces the socket of a process that was killed, with what it was making", async () => {
    const killed = createServer().listen(join(directory, "other"));
    await once(killed, "listening");
    renameSync(join(directory, "other"), join(directory, NAME));
    await new Promise((resolve) => killed.close(resolve));
    mkdirSync(join(directory, `${NAME}.tmp`, "s"), { recursive: true });
    expect(readdirSync(directory)).toEqual([NAME, `${NAME}.tmp`]);
    await startLocal();
    expect((await page()).status).toBe(200);
    expect(readdirSync(directory)).toEqual([NAME]);
  });

  test("is not taken from a process that lives, nor removed by another", async () => {
    const first = await startLocal();
    const second = await start();
    await expect(second.gateway.listenLocal(directory)).rejects.toMatchObject({
      code: "UNAVAILABLE",
      message: `another process serves ${join(directory, NAME)}`,
    });
    await second.gateway.close();
    expect((await page()).status).toBe(200);
    rmSync(join(directory, NAME));
    const third = await startLocal();
    await first.gateway.close();
    expect((await page()).status).toBe(200);
    await third.gateway.close();
  });

  test.skipIf(process.platform !== "linux")("may have a path of any length", async () => {
    const deep = join(directory, "d".repeat(100), "e".repeat(200));
    mkdirSync(deep, { recursive: true });
    const gateway = await start();
    await gateway.gateway.listenLocal(deep);
    expect(readdirSync(deep)).toEqual([NAME]);
    const short = openSocketDirectory(deep, NAME);
    expect((await page({}, `${short.path}/${NAME}`)).status).toBe(200);
    short.close();
    await gateway.gateway.close();
    expect(readdirSync(deep)).toEqual([]);
  });

  test("checks Host and Origin as the port does", async () => {
    const gateway = await startLocal();
    const [response] = await once(
      get({
        ...{ socketPath: join(directory, NAME), path: "/status", agent: false },
        headers: { host: "evil.example" },
      }),
      "response",
    );
    response.resume();
    expect(response.statusCode).toBe(421);
    const options = { ...through(), origin: "https://evil.example" };
    await expect(BareClient.connect(gateway, options)).rejects.toThrow("403");
  });

  test("has room when strangers have taken all places, and takes none of theirs", async () => {
    const gateway = await startLocal({ connectionsMax: 2 });
    const locals = [
      await BareClient.connect(gateway, through()),
      await BareClient.connect(gateway, through()),
      await BareClient.connect(gateway, through()),
    ];
    await BareClient.connect(gateway);
    await BareClient.connect(gateway);
    await expect(BareClient.connect(gateway)).rejects.toThrow("503");
    locals.push(await BareClient.connect(gateway, through()));
    expect(gateway.connections.size).toBe(6);
  });
});
