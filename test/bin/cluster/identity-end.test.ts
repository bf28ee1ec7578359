/** One command ends all that an identity has or left, at a real node, and nothing of others. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { endAllOf } from "../../../bin/cluster/identity-end.js";
import { freePorts } from "../../../lab/free-ports.js";
import { type Client, connect, connectAdmin } from "../../../src/index.js";
import { startNode } from "../../../src/server/index.js";

const endings: (() => Promise<unknown> | unknown)[] = [];
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end();
});

const HOUR_MS = 3_600_000;
const NOW = { graceMs: 0, now: true, reason: "" };

/** Everything that an identity can have in the keys that begin so. */
async function fill(client: Client, prefix: string): Promise<void> {
  await client.acquire(`${prefix}/held`);
  const given = await client.acquire(`${prefix}/given`);
  await given.handOver({ ttlMs: 600_000 });
  const ended = await client.acquire(`${prefix}/closed`, { minHoldMs: HOUR_MS });
  await ended.release();
  await client.leases.take(`${prefix}/lease`, { owner: "o", request: "r", ttlMs: HOUR_MS });
}

test("ends sessions, holds, leases, handed-over holds and cooldowns of one identity, and of no other", async () => {
  const root = mkdtempSync(join(tmpdir(), "holdfast-identity-"));
  endings.push(() => rmSync(root, { recursive: true, force: true }));
  const dataDirectory = join(root, "data");
  const [port = 0] = await freePorts(1);
  const peer = { host: "127.0.0.1", port };
  const node = await startNode({
    ...{ id: 1, dataDirectory, peerListen: peer },
    initialCluster: [{ id: 1, address: peer }],
    listen: { host: "127.0.0.1", port: 0 },
  });
  endings.push(() => node.stop());
  await using admin = await connectAdmin({ endpoints: [`unix:${dataDirectory}`] });
  for (const name of ["gone", "stays"]) {
    await admin.access.addIdentity(name);
    await admin.access.grant(name, "acquire", { prefix: "" });
    const { token } = await admin.access.createToken(name);
    const client = await connect({ endpoints: [node.endpoint], token });
    endings.push(() => client.close());
    await fill(client, name);
  }
  expect(await endAllOf(admin, "gone", NOW)).toEqual({ sessions: 1, holds: 2, opened: 1 });
  const left: string[] = [];
  for await (const { key } of admin.query()) left.push(key);
  expect(left).toEqual(["stays/closed", "stays/given", "stays/held", "stays/lease"]);
  // It has not lost its token, and may have come back since.
  expect(await endAllOf(admin, "gone", NOW)).toMatchObject({ holds: 0, opened: 0 });
});
