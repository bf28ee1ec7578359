import { describe, expect, test } from "vitest";
import type { NodeStatus } from "../../../src/client/admin/cluster-status.js";
import type { PageCaller } from "../../../src/net/index.js";
import { OP, type SessionCommand, STATUS } from "../../../src/protocol/index.js";
import { LimitCounts } from "../../../src/server/limits/limit-counts.js";
import { accessFigures } from "../../../src/server/pages/access-figures.js";
import { createPages, type PageSource } from "../../../src/server/pages/http-pages.js";
import { Histogram } from "../../../src/server/vitals/histogram.js";
import { startCluster } from "../world/cluster.js";
import { World, type WorldNode } from "../world/world.js";

const TRAFFIC = {
  log: { records: 11, bytes: 12 },
  clients: { framesSent: 21, bytesSent: 22, framesReceived: 23, bytesReceived: 24 },
  peers: { framesSent: 31, bytesSent: 32, framesReceived: 33, bytesReceived: 34 },
  redis: {
    connections: 41,
    commandsTotal: 42,
    refusedTotal: 43,
    cutOffTotal: 44,
    unendableKinds: 45,
  },
};

const CLIENT_PORT = {
  sockets: 41,
  socketsMax: 42,
  connectionsMax: 43,
  addressConnectionsMax: 44,
  unfinishedBytes: 45,
  input: {
    identity: { bytes: 50, requests: 6, loopMs: 7_000 },
    address: { bytes: 0, requests: 0, loopMs: 0 },
    strangers: { bytes: 8, requests: 0, loopMs: 9 },
    local: { bytes: 0, requests: 0, loopMs: 0 },
  },
  heldInputs: 3,
  refusedTotal: 46,
};

const STALLS = new Histogram({
  ...{ name: "event_loop_lag_seconds", help: "Stalls.", bounds: [0.1, 1], rows: [""] },
});

const WALL_MS = 1_800_000_000_000;

const STRANGER: PageCaller = { isTrusted: false };

function pagesOf(node: WorldNode, changed: Partial<PageSource> = {}) {
  const pages = createPages({
    id: node.id,
    clusterId: "c".repeat(32),
    incarnation: 1,
    pid: 42,
    uptimeMs: () => 1_234.5,
    redis: () => undefined,
    wallMs: () => WALL_MS,
    certificateEndsWallMs: () => null,
    loopDelayMaxMs: () => 1.25,
    process: () => ({
      loopDelayMaxMs: 1.25,
      stalls: STALLS,
      text: "# HELP process_test A test.\n# TYPE process_test gauge\nprocess_test 1\n",
    }),
    endpoint: () => `ws://node-${node.id}`,
    driver: () => node.driver,
    counts: () => node.table.counts(),
    possibleDeadlocks: () => node.table.possibleDeadlocks(),
    access: () => accessFigures(node.table, WALL_MS),
    quietMs: () => node.table.quietMs,
    traffic: () => TRAFFIC,
    clientPort: () => CLIENT_PORT,
    limits: () => new LimitCounts(true, { nowMs: () => 0 }, () => {}),
    tls: () => undefined,
    isDraining: () => false,
    pageFile: () => undefined,
    judge: (caller) => node.driver.judgePage(caller),
    ...changed,
  });
  return (path: string, caller: PageCaller = STRANGER) => pages(path, caller);
}

describe("the HTTP pages", () => {
  test("say ready only of a node that knows a leader and is not being stopped", async () => {
    const { leader, followers } = await startCluster();
    for (const node of [leader, ...followers]) {
      expect(pagesOf(node)("/readyz")).toMatchObject({ status: 200 });
    }
    const answer = pagesOf(leader, { isDraining: () => true })("/readyz");
    expect(answer).toMatchObject({
      status: 503,
      body: expect.stringMatching(/^Node \d is being stopped\. What helps: docs\/\S+\.md\n$/),
    });
  });

  test("name what is wrong with a node that is ready, to those who may know", async () => {
    const { leader } = await startCluster();
    const ended = { certificateEndsWallMs: () => WALL_MS - 1 };
    expect(pagesOf(leader)("/readyz").body).toBe("ok\n");
    const { status, body } = pagesOf(leader, ended)("/readyz");
    expect(status).toBe(200);
    expect(body).toMatch(/^ok\nThe certificate of node \d has expired\. What helps: /);
    const stranger = pagesOf(leader, { ...ended, judge: () => "refused" })("/readyz");
    expect(stranger).toMatchObject({ status: 200, body: "ok\n" });
  });

  test("say live, but not ready, of a node alone, and why", async () => {
    const world = new World();
    world.node(1).start();
    await world.run(2_000);
    const pages = pagesOf(world.node(1));
    expect(pages("/livez").status).toBe(200);
    const { status, body } = pages("/readyz");
    expect(status).toBe(503);
    expect(body).toContain("knows of no leader");
    expect(body).toContain("no contact with a majority");
  });

  test("describe the node in JSON as the SDK's type has it", async () => {
    const { leader } = await startCluster();
    const { body, contentType } = pagesOf(leader)("/status");
    expect(contentType).toBe("application/json");
    const status = JSON.parse(body) as NodeStatus & {
      readonly peers: readonly unknown[];
      readonly members: readonly unknown[];
      readonly uptimeMs: number;
    };
    const expected: NodeStatus = {
      id: leader.id,
      role: "leader",
      pid: 42,
      term: leader.raft.term,
      leader: leader.id,
      commitIndex: leader.raft.commitIndex,
      appliedIndex: leader.raft.appliedIndex,
      endpoint: `ws://node-${leader.id}`,
    };
    expect(status).toMatchObject(expected);
    expect(status.peers).toHaveLength(2);
    expect(status.members[0]).toEqual({ id: 1, role: "voter", address: "node-1:1" });
    expect(status.uptimeMs).toBe(1_234);
  });

  test("give metrics of which every line parses", async () => {
    const { leader } = await startCluster();
    const { body } = pagesOf(leader)("/metrics");
    const samples = body.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
    for (const line of samples)
      expect(line).toMatch(/^[a-z_]+(\{[a-z]+="[^"]+"(,[a-z]+="[^"]+")*\})? \d+(\.\d+)?$/);
    expect(samples).toContain("holdfast_is_leader 1");
    expect(samples).toContain("holdfast_leader_changes_total 1");
  });

  test("count what went to the disk and over the sockets, by direction", async () => {
    const { leader } = await startCluster();
    const lines = pagesOf(leader)("/metrics").body.split("\n");
    for (const sample of [
      "log_syncs_total 11",
      "log_bytes_total 12",
      'client_frames_total{direction="sent"} 21',
      'client_bytes_total{direction="sent"} 22',
      'client_frames_total{direction="received"} 23',
      'client_bytes_total{direction="received"} 24',
      'peer_frames_total{direction="sent"} 31',
      'peer_bytes_total{direction="sent"} 32',
      'peer_frames_total{direction="received"} 33',
      'peer_bytes_total{direction="received"} 34',
      "redis_connections 41",
      "redis_commands_total 42",
      "redis_refused_total 43",
      "redis_cut_off_total 44",
      "redis_unendable_kinds 45",
    ]) {
      expect(lines).toContain(`holdfast_${sample}`);
    }
  });

  test("count what happened to locks, and name none of them", async () => {
    const { world, leader } = await startCluster({ auditKeepMs: 3_600_000 });
    const client = world.client();
    await client.start(leader);
    const sequence = client.acquire("secret/lock", 0);
    await client.untilReply(sequence);
    await client.untilReply(client.end(sequence));
    client.query({ op: OP.watch, id: 1, key: "", isPrefix: true, after: undefined });
    await world.until("the watch begins", () => client.answer(1) !== undefined);
    await world.run(50);
    const { body } = pagesOf(leader)("/metrics");
    for (const sample of [
      'changes_total{type="granted"} 1',
      'changes_total{type="ended"} 1',
      'hold_ends_total{reason="released"} 1',
      'hold_ends_total{reason="expired"} 0',
      "watches 1",
      "history_changes 2",
      "audit_records_total 1",
      "audit_lag 0",
      "audit_failing 0",
      "cooldowns 0",
      "deadlocks_total 0",
    ]) {
      expect(body.split("\n")).toContain(`holdfast_${sample}`);
    }
    const status = pagesOf(leader)("/status").body;
    expect(JSON.parse(status)).toMatchObject({
      cooldowns: 0,
      seeing: { watches: 1, changes: 2, audit: { state: "writing", writtenTotal: 1 } },
    });
    expect(body + status).not.toContain("secret");
  });

  test("show whether a cluster is open, and count identities and refusals", async () => {
    const { world, leader } = await startCluster();
    const client = world.client();
    client.connect(leader);
    let orders = 0;
    const order = async (fields: object): Promise<void> => {
      const head = { sequence: 2 ** 32 + orders, mark: orders, acknowledged: [] };
      orders += 1;
      client.send({ ...head, ...fields } as unknown as SessionCommand);
      expect((await client.untilReply(head.sequence)).result.status).toBe(STATUS.ok);
    };
    const stateIn = (pages: ReturnType<typeof pagesOf>) =>
      JSON.parse(pages("/status", { isTrusted: true }).body).access;
    expect(stateIn(pagesOf(leader))).toEqual({ state: "open", identities: 0 });
    await order({ op: OP.putIdentity, name: "ops" });
    await order({ op: OP.setGrant, name: "ops", key: "", isPrefix: true, level: "admin" });
    const certificate = { op: OP.putCredential, name: "ops", kind: "certificate" };
    await order({ ...certificate, label: "a", expiresWallMs: 0 });
    await order({ ...certificate, label: "b", expiresWallMs: WALL_MS + 7 * 86_400_000 });
    await order({ ...certificate, label: "c", expiresWallMs: WALL_MS });
    await order({
      op: OP.setGrant,
      name: "anonymous",
      key: "jobs",
      isPrefix: false,
      level: "observe",
    });
    await order({ op: OP.setGrant, name: "anonymous", key: "", isPrefix: true, level: "none" });
    client.attach();
    await world.until("an answer to open", () => client.attached(1) !== undefined);
    expect(stateIn(pagesOf(leader))).toEqual({ state: "partlyOpen", identities: 1 });
    const lines = pagesOf(leader)("/metrics", { isTrusted: true }).body.split("\n");
    for (const sample of [
      "access_open 0",
      "identities 1",
      "credentials_expiring 1",
      "credentials_expired 1",
      'auth_refusals_total{verb="acquire",code="UNAUTHENTICATED"} 1',
      'auth_refusals_total{verb="admin",code="UNAUTHENTICATED"} 0',
      "sign_ins_refused_total 0",
    ]) {
      expect(lines).toContain(`holdfast_${sample}`);
    }
  });

  test("say of a node that reads its log that it starts", async () => {
    const { leader } = await startCluster();
    const pages = pagesOf(leader, { driver: () => undefined, counts: () => undefined });
    expect(pages("/livez").status).toBe(200);
    expect(pages("/readyz")).toMatchObject({
      status: 503,
      body: expect.stringContaining("is starting."),
    });
    expect(JSON.parse(pages("/status").body)).toMatchObject({ role: "starting", members: [] });
  });

  test("say of a caller who is not known yet that it may try again, and how the node is", async () => {
    const { leader } = await startCluster();
    const pages = pagesOf(leader, { judge: () => "unsure" });
    for (const path of ["/", "/status", "/metrics", "/unknown"]) {
      const { status, body } = pages(path);
      expect([status, body]).toEqual([
        503,
        expect.stringContaining("it has not heard from a majority"),
      ]);
    }
    expect([pages("/livez").status, pages("/readyz").status]).toEqual([200, 200]);
  });

  test("know nothing else", async () => {
    const { leader } = await startCluster();
    expect(pagesOf(leader)("/").status).toBe(200);
    expect(pagesOf(leader)("/etc/passwd").status).toBe(404);
  });
});
