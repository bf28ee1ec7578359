/** The vitals of real nodes, as the SDK shows them. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { freePorts } from "../../../lab/free-ports.js";
import { type Admin, connect, connectAdmin } from "../../../src/client/index.js";
import { type RunningNode, startNode } from "../../../src/server/index.js";

const HOST = "127.0.0.1";
const IDS = [1, 2, 3];

let directory: string;
let nodes: RunningNode[] = [];

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), "holdfast-vitals-"));
  const ports = await freePorts(IDS.length);
  const initialCluster = ports.map((port, at) => ({ id: at + 1, address: { host: HOST, port } }));
  nodes = await Promise.all(
    IDS.map((id) =>
      startNode({
        id,
        initialCluster,
        audit: true,
        dataDirectory: join(directory, `n${id}`),
        listen: { host: HOST, port: 0 },
        peerListen: { host: HOST, port: ports[id - 1] as number },
      }),
    ),
  );
});

afterEach(async () => {
  await Promise.all(nodes.map((node) => node.stop()));
  rmSync(directory, { recursive: true, force: true });
});

/** The page of metrics of a node. */
async function metricsOf({ clientPort }: RunningNode): Promise<string> {
  return (await fetch(`http://${HOST}:${clientPort}/metrics`)).text();
}

/** An admin of this node alone. */
function adminOf(node: RunningNode): Promise<Admin> {
  return connectAdmin({ endpoints: [node.endpoint], followLeader: false });
}

describe("the admin of one node", () => {
  test("asks that node and no other, and is answered by it when the others are gone", async () => {
    const first = nodes[0] as RunningNode;
    await using client = await connect({ endpoints: [first.endpoint] });
    await client.acquire("orders/1");
    const admins = await Promise.all(nodes.map(adminOf));
    const views = await Promise.all(admins.map((admin) => admin.vitals()));
    expect(views.map(({ node }) => node)).toEqual(IDS);
    expect(new Set(views.map(({ leader }) => leader)).size).toBe(1);
    expect(views.filter(({ role }) => role === "leader")).toHaveLength(1);
    for (const view of views) {
      expect(view.startedWallMs).toBeLessThanOrEqual(view.wallMs);
      expect(view).toMatchObject({ auditState: "writing", certificateEndsWallMs: null });
      expect(view.events[0]).toMatchObject({ kind: "started" });
    }
    for (const [at, admin] of admins.entries()) {
      expect(admin.endpoints).toEqual([nodes[at]?.endpoint]);
    }
    await client.close();
    await Promise.all(nodes.slice(1).map((node) => node.stop()));
    const [admin] = admins as [Admin, ...Admin[]];
    let view = await admin.vitals();
    while (view.leader !== 0) view = await admin.vitals({ after: view.wallMs });
    expect(view).toMatchObject({ node: 1, hasQuorumContact: false });
    expect((await admin.vitals()).events.map(({ kind }) => kind)).toContain("noLeader");
    await Promise.all(admins.map((each) => each.close()));
  });

  test("gets what was measured: synced writes and the answers of peers", async () => {
    const admins = await Promise.all(nodes.map(adminOf));
    await using client = await connect({ endpoints: [nodes[0]?.endpoint ?? ""] });
    for (let i = 0; i < 20; i += 1) await (await client.acquire(`orders/${i}`)).release();
    for (const [at, admin] of admins.entries()) {
      let { peers } = await admin.vitals();
      while (peers.some(({ roundTripMs }) => roundTripMs === null)) {
        ({ peers } = await admin.vitals());
      }
      expect(peers).toHaveLength(2);
      const text = await metricsOf(nodes[at] as RunningNode);
      for (const { node, roundTripMs } of peers) {
        expect(roundTripMs).toBeGreaterThan(0);
        expect(text).toMatch(
          new RegExp(`^holdfast_peer_round_trip_seconds_count\\{peer="${node}"\\} [1-9]`, "m"),
        );
      }
      expect(text).toMatch(/^holdfast_log_sync_seconds_count [1-9]/m);
      expect(text).toMatch(/^process_resident_memory_bytes [1-9]/m);
    }
    const texts = await Promise.all(nodes.map(metricsOf));
    const commits = texts.map((text) => /^holdfast_commit_seconds_count (\d+)$/m.exec(text)?.[1]);
    expect(commits.some((count) => Number(count) >= 20)).toBe(true);
    await Promise.all(admins.map((admin) => admin.close()));
  });

  test("refuses options that are none", async () => {
    const admin = await adminOf(nodes[0] as RunningNode);
    await expect(admin.vitals({ after: -1 })).rejects.toThrow(RangeError);
    await expect(admin.vitals({ before: 1 } as object)).rejects.toThrow(TypeError);
    await expect(connectAdmin({ followLeader: 1 as unknown as boolean })).rejects.toThrow(
      TypeError,
    );
    await admin.close();
  });
});
