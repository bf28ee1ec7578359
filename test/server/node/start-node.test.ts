import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { freePorts } from "../../../lab/free-ports.js";
import { MESSAGE, STATUS, WAIT_FOREVER } from "../../../src/protocol/index.js";
import { type NodeOptions, type RunningNode, startNode } from "../../../src/server/index.js";
import { SocketClient } from "../world/socket-client.js";

const LOOPBACK = "127.0.0.1";

describe("a node in this process", () => {
  let directory: string;
  let nodes: RunningNode[];

  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), "holdfast-node-"));
    nodes = [];
  });

  afterEach(async () => {
    await Promise.all(nodes.map((node) => node.stop()));
    rmSync(directory, { recursive: true, force: true });
  });

  function optionsOf(id: number, peerPorts: readonly number[]) {
    return {
      id,
      dataDirectory: join(directory, `n${id}`),
      listen: { host: LOOPBACK, port: 0 },
      peerListen: { host: LOOPBACK, port: peerPorts[id - 1] ?? 0 },
      initialCluster: peerPorts.map((port, i) => ({
        id: i + 1,
        address: { host: LOOPBACK, port },
      })),
    } satisfies NodeOptions;
  }

  async function start(options: NodeOptions): Promise<RunningNode> {
    const node = await startNode(options);
    nodes.push(node);
    return node;
  }

  test("forms a cluster of three, serves a client, and goes on from its data", async () => {
    const peerPorts = await freePorts(3);
    const all = [1, 2, 3].map((id) => optionsOf(id, peerPorts));
    const running = await Promise.all(all.map(start));
    const first = await SocketClient.connect(running[0]?.endpoint ?? "");
    const { session } = await first.attach({ ttlMs: 60_000 });
    const granted = await first.acquire("orders/1001", 1);
    expect(granted.result).toMatchObject({ status: STATUS.granted });

    // The hold is seen on every node, whichever leads.
    for (const node of running) {
      const client = await SocketClient.connect(node.endpoint);
      const answer = await client.inspect("orders/1001");
      expect(answer.payload).toMatchObject({ holds: [{ session }], waiters: [] });
      client.close();
    }
    const status = await fetch(`http://${LOOPBACK}:${running[1]?.clientPort}/status`);
    expect(await status.json()).toMatchObject({ id: 2, holds: 1, sessions: 1 });

    await Promise.all(running.map((node) => node.stop()));
    expect((await first.closed).code).toBe(1001);
    for (const node of running) expect(await node.ended).toBeUndefined();

    const [again] = await Promise.all(all.map(start));
    const second = await SocketClient.connect(again?.endpoint ?? "", first.nonce, first.attempt);
    expect(await second.attach({ session })).toMatchObject({ session, highestSequence: 1 });
    const released = await second.end(1, 2);
    expect(released.result.status).toBe(STATUS.released);
    second.close();
  });

  test("leaves no directory behind when a port is taken", async () => {
    const [peerPort = 0] = await freePorts(1);
    const taken = createServer();
    await new Promise<void>((resolve) => taken.listen(0, LOOPBACK, resolve));
    const { port } = taken.address() as AddressInfo;
    const options = optionsOf(1, [peerPort]);
    const listen = { host: LOOPBACK, port };
    await expect(startNode({ ...options, listen })).rejects.toMatchObject({
      code: "UNAVAILABLE",
      message: `cannot listen on ${LOOPBACK}:${port} (listen): the port is taken (EADDRINUSE)`,
    });
    expect(existsSync(options.dataDirectory)).toBe(false);
    await new Promise((resolve) => taken.close(resolve));
  });

  test("refuses a second start on the same data and harms the first one in nothing", async () => {
    const [one = 0, two = 0] = await freePorts(2);
    const options = optionsOf(1, [one]);
    const node = await start(options);
    const other = { ...options, peerListen: { host: LOOPBACK, port: two } };
    await expect(startNode(other)).rejects.toThrow();
    const client = await SocketClient.connect(node.endpoint);
    await client.attach({ ttlMs: 60_000 });
    expect((await client.acquire("a", 1)).result.status).toBe(STATUS.granted);
    client.close();
  });

  test("refuses data of another node", async () => {
    const peerPorts = await freePorts(2);
    const options = optionsOf(1, peerPorts.slice(0, 1));
    await (await start(options)).stop();
    const other = { ...optionsOf(2, peerPorts), dataDirectory: options.dataDirectory };
    await expect(startNode(other)).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
  });

  test("says of data that another version wrote that it did, before whose they are", async () => {
    const [peerPort = 0, other = 0] = await freePorts(2);
    const options = optionsOf(1, [peerPort]);
    await (await startNode(options)).stop();
    writeFileSync(join(options.dataDirectory, "VERSION"), "holdfast data 1\n");
    const foreign = { ...options, initialCluster: optionsOf(1, [other]).initialCluster };
    for (const attempt of [options, foreign]) {
      await expect(startNode(attempt)).rejects.toMatchObject({
        code: "UNAVAILABLE",
        message: expect.stringMatching(/has the layout "holdfast data 1", and this version/),
      });
    }
  });

  test("refuses data of a cluster with other members or another name, and gives them back", async () => {
    const peerPorts = await freePorts(3);
    const options = optionsOf(1, peerPorts);
    await (await start(options)).stop();
    const alone = { ...options, initialCluster: options.initialCluster.slice(0, 1) };
    for (const wrong of [alone, { ...options, clusterName: "other" }]) {
      await expect(startNode(wrong)).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
    }
    await (await start(options)).stop();
  });
});

test("a wait is granted over real sockets when the holder's connection releases it", async () => {
  const directory = mkdtempSync(join(tmpdir(), "holdfast-node-"));
  const [port = 0] = await freePorts(1);
  const address = { host: LOOPBACK, port };
  const node = await startNode({
    id: 1,
    dataDirectory: join(directory, "n1"),
    listen: { host: LOOPBACK, port: 0 },
    peerListen: address,
    initialCluster: [{ id: 1, address }],
  });
  const holder = await SocketClient.connect(node.endpoint);
  const waiter = await SocketClient.connect(node.endpoint);
  await holder.attach({ ttlMs: 60_000 });
  await waiter.attach({ ttlMs: 60_000 });
  await holder.acquire("a", 1);
  const queued = await waiter.acquire("a", 1, WAIT_FOREVER);
  expect(queued.result.status).toBe(STATUS.queued);
  await holder.end(1, 2);
  const outcome = await waiter.find((message) => message.kind === MESSAGE.outcome);
  expect(outcome).toMatchObject({ sequence: 1, result: { status: STATUS.granted } });
  holder.close();
  waiter.close();
  await node.stop();
  rmSync(directory, { recursive: true, force: true });
});
