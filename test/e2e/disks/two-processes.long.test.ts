/**
 * A second process on the data directory of a running node, after the lock file that keeps it out
 * was removed. Real processes, real files.
 */
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { EXIT } from "../../../bin/exit/exit-codes.js";
import { freePorts } from "../../../lab/free-ports.js";
import { connect } from "../../../src/index.js";
import { startCluster } from "../world/cluster-process.js";
import { NodeHandle } from "../world/node-handle.js";
import { until } from "../world/process-life.js";

test("a second process does not start without the lock, and when it is made to, the first one ends", async () => {
  const [port = 0, peerPort = 0, secondPort = 0, secondPeerPort = 0] = await freePorts(4);
  await using cluster = await startCluster({ nodes: 1, ports: [port, peerPort] });
  const first = cluster.node(1);
  const directory = join(cluster.directory, "n1");
  const lock = join(directory, "store", "LOCK");
  const listen = `127.0.0.1:${secondPort}`;
  const second = new NodeHandle(1, `ws://${listen}`, [
    "--id=1",
    `--data=${directory}`,
    `--listen=${listen}`,
    `--peer-listen=127.0.0.1:${secondPeerPort}`,
    `--initial-cluster=1=127.0.0.1:${peerPort}`,
    "--stop-on-stdin-end",
  ]);
  await using client = await connect({
    endpoints: [first.endpoint, second.endpoint],
    ttlMs: 120_000,
  });
  const kept = [];
  for (let number = 0; number < 20; number += 1) kept.push(await client.acquire(`kept/${number}`));

  await expect(second.start()).rejects.toThrow(/in use by another process/);
  await rm(lock);
  await expect(second.start()).rejects.toThrow(/store\/LOCK was removed/);
  expect(second.exitCode).toBe(EXIT.failed);
  const counter = await client.acquire("counter");

  // An operator who is sure, and wrong.
  await writeFile(lock, "");
  try {
    const starting = second.start();
    starting.catch(() => undefined);
    // The first one goes on meanwhile, and the last that it acknowledges before it ends is kept.
    let rounds = 0;
    for (; first.isRunning; rounds += 1) await counter.update(String(rounds));
    await starting;
    expect(first.exitCode).toBe(EXIT.failed);
    expect(first.stderr.trimEnd().split("\n").at(-1)).toBe(
      `holdfast: node 1 ended: another process has opened the data directory ${directory}`,
    );
    await until(
      "the second process to lead",
      async () => (await second.status())?.role === "leader",
    );
    for (const { key, token } of kept) {
      const view = await client.inspect(key);
      expect(view.holds.map((hold) => hold.token)).toEqual([token]);
    }
    const counted = await client.inspect("counter");
    expect(counted.holds).toMatchObject([{ token: counter.token, value: String(rounds - 1) }]);
    const next = await client.acquire("next");
    expect(next.token).toBeGreaterThan(counter.token);
    // What both wrote is one log.
    await second.restart();
    expect((await second.status())?.role).not.toBe("quarantined");
  } finally {
    await second.stop();
  }
}, 180_000);
