/**
 * Every alert of `deploy/prometheus/alerts.yml` is made to fire by its real cause, on real nodes that
 * a real Prometheus scrapes. Times are a sixtieth of those in the file; thresholds are as there.
 * What follows assumes what was before: a cluster goes from well to quite dead.
 */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { connect as connectSocket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createSecureContext } from "node:tls";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { endAllStarted } from "../../lab/end-with-process.js";
import { freePorts } from "../../lab/free-ports.js";
import { createAuthority, issueNodeCertificate } from "../../src/certificates/index.js";
import {
  type Admin,
  type Client,
  connect,
  connectAdmin,
  type HoldfastError,
  type Lock,
} from "../../src/index.js";
import type { ClusterProcess } from "../e2e/world/cluster-process.js";
import { NodeHandle } from "../e2e/world/node-handle.js";
import { type ProxiedCluster, startProxied } from "../e2e/world/proxied-cluster.js";
import { canTrace, traceDisk } from "../e2e/world/traced-disk.js";
import { canMount, fillVolume, mountVolume, unmountVolume } from "../e2e/world/volume.js";
import { PrometheusServer, prometheusProgram, RULES } from "./prometheus-server.js";

const PROMETHEUS = prometheusProgram("prometheus");
const CAN_MOUNT = await canMount();
const CAN_TRACE = await canTrace();
const IDS = [1, 2, 3];
/** One more than the threshold of the alert. */
const WAITERS = 1_001;
const SIGN_INS = 25;
const TRANSFERS = 7;
/** Changes that a node keeps in memory, so that an audit that is not written soon has a gap. */
const CHANGES_MAX = 256;
/** The node whose store has a volume of its own. */
const SMALL = 3;
const VOLUME_MEBIBYTES = 32;
const CERTIFICATE_DAYS = 3;
/** The limit of a process, which then takes some hundred sockets for clients. */
const DESCRIPTORS = 480;
const SOCKETS = 150;
/** A heap that some ten thousand large locks fill. */
const HEAP_MIB = 96;
const LOCKS_AT_ONCE = 2_000;
const DISK_DELAY_MS = 150;
/** Longer than the threshold of the alert. */
const LONG_WAIT_MS = 31_000;
/** Locks, and requests that wait for each. */
const LONG_HOLDS = 50;
const LONG_WAITS = 4;

/** What has fired in this file. */
const fired = new Set<string>();
const endings: (() => unknown)[] = [];
afterAll(async () => {
  for (const end of endings.splice(0).reverse()) await end();
  endAllStarted();
});

async function demandFiring(
  prometheus: PrometheusServer,
  names: readonly string[],
  cause?: () => unknown,
): Promise<void> {
  await prometheus.untilFiring(names, cause);
  for (const name of names) fired.add(name);
}

/** Takes locks until it is told to stop. */
function flood(client: Client, tasks: number): () => Promise<void> {
  let isOn = true;
  const loops = Array.from({ length: tasks }, async (_, task) => {
    while (isOn) {
      // While there is no leader, nothing succeeds.
      const lock = await client.acquire(`flood/${task}`).catch(() => undefined);
      await lock?.release().catch(() => undefined);
    }
  });
  return async () => {
    isOn = false;
    await Promise.all(loops);
  };
}

describe.skipIf(PROMETHEUS === undefined || !CAN_MOUNT)("a closed cluster of three nodes", () => {
  let proxied: ProxiedCluster;
  let cluster: ClusterProcess;
  let prometheus: PrometheusServer;
  /** As admin, whom no limits stop. */
  let client: Client;
  let admin: Admin;
  let tokens: string;
  /** It has waited for these locks since the beginning. */
  let patient: Client;
  let keeper: Client;
  const kept: Lock[] = [];
  let lastWait: Promise<string>;

  const token = (name: string): string => readFileSync(join(tokens, name), "utf8").trim();
  const access = (...words: string[]) =>
    cluster.holdfast(["access", ...words], {
      env: { HOLDFAST_ACCESS_TOKEN_FILE: join(tokens, "admin") },
    });
  const connectAsAdmin = () => {
    return connect({ endpoints: proxied.endpoints, token: token("admin"), ttlMs: 120_000 });
  };
  const work = async () => {
    const tasks = Array.from({ length: CHANGES_MAX }, async (_, task) => {
      const lock = await client.acquire(`worked/${task}`);
      await lock.release();
    });
    await Promise.all(tasks);
  };
  const follower = async (): Promise<NodeHandle> => {
    const { leaderId } = await admin.members();
    return cluster.node(leaderId === 1 ? 2 : 1);
  };

  beforeAll(async () => {
    const directory = mkdtempSync(join(tmpdir(), "holdfast-alerts-"));
    endings.push(() => rmSync(directory, { recursive: true, force: true }));
    const store = join(directory, `n${SMALL}`, "store");
    mkdirSync(store, { recursive: true });
    await mountVolume(store, VOLUME_MEBIBYTES);
    endings.push(() => unmountVolume(store));
    proxied = await startProxied({
      directory,
      serverArguments: ["--audit", `--changes-max=${CHANGES_MAX}`, "--identity-limit=commands=200"],
    });
    ({ cluster } = proxied);
    tokens = join(cluster.directory, "tokens");
    mkdirSync(tokens);
    await cluster.operate("access", "init", `--out=${join(tokens, "admin")}`);
    for (const name of ["monitoring", "greedy"]) {
      await access("add", name);
      await access("token", name, `--out=${join(tokens, name)}`);
      await access("grant", name, name === "greedy" ? "acquire" : "observe", "*");
    }
    await access("anonymous", "deny");
    prometheus = await PrometheusServer.start(PROMETHEUS as string, {
      addresses: cluster.endpoints.map((endpoint) => new URL(endpoint).host),
      further: `authorization: { credentials_file: ${join(tokens, "monitoring")} }`,
    });
    client = await connectAsAdmin();
    patient = await connectAsAdmin();
    keeper = await connectAsAdmin();
    for (let number = 0; number < LONG_HOLDS; number += 1) {
      kept.push(await keeper.acquire(`kept/${number}`));
      const waits = Array.from({ length: LONG_WAITS }, () =>
        patient.acquire(`kept/${number}`, { mode: "shared" }),
      );
      Promise.all(waits).catch(() => undefined);
    }
    // The others have waited for longer when this one gives up.
    lastWait = patient.acquire("kept/0", { waitMs: LONG_WAIT_MS }).then(
      () => "granted",
      (error: HoldfastError) => error.code,
    );
    admin = await connectAdmin({ endpoints: proxied.endpoints, token: token("admin") });
  });
  afterAll(async () => {
    await admin?.close();
    await client?.close();
    await prometheus?.stop();
    await proxied?.stop();
  });

  test("is scraped with a token, and when all is well no alert fires", async () => {
    await prometheus.until("five scrapes of each node", async () => {
      const scraped = await prometheus.query("count_over_time((up == 1)[1h:1s]) >= 5");
      return scraped.length === IDS.length;
    });
    await prometheus.until(
      "no alert to fire",
      async () => (await prometheus.firing()).length === 0,
    );
    expect(await prometheus.query("sum(holdfast_is_leader)")).toMatchObject([
      { value: [expect.any(Number), "1"] },
    ]);
  });

  test("alerts of many waiters, limits, refused sign-ins, credentials and changes of the leader", async () => {
    await access("token", "greedy", "--label=short", "--expires=3d");
    await access("token", "greedy", "--label=old", `--out=${join(tokens, "old")}`);
    await access("remove", "greedy", "--label=old");
    const greedy = await connect({ endpoints: proxied.endpoints, token: token("greedy") });
    const calm = flood(greedy, 50);
    await client.acquire("wanted");
    const waits = Array.from({ length: WAITERS }, () => client.acquire("wanted"));
    const waited = Promise.allSettled(waits);
    for (let count = 0; count < SIGN_INS; count += 1) {
      const refused = connect({ endpoints: [cluster.node(1).endpoint], token: token("old") });
      await expect(refused).rejects.toMatchObject({ code: "UNAUTHENTICATED" });
    }
    for (let count = 0; count < TRANSFERS; count += 1) await admin.transferLeadership();
    await demandFiring(prometheus, [
      "HoldfastManyWaiters",
      "HoldfastLimitExceeded",
      "HoldfastSignInsRefused",
      "HoldfastCredentialsExpire",
      "HoldfastLeaderChanges",
    ]);
    await calm();
    await greedy.close();
    await client.close();
    await waited;
    client = await connectAsAdmin();
  });

  test("alerts when it is opened again", async () => {
    await access("anonymous", "allow");
    await demandFiring(prometheus, ["HoldfastAccessOpened"]);
    await access("anonymous", "deny");
  });

  test("alerts of a node that stands still for a moment", async () => {
    const paused = await follower();
    paused.pause();
    // Longer than it waits for the answer.
    expect(await paused.status()).toBe(undefined);
    paused.resume();
    await prometheus.untilFiringFor(new URL(paused.endpoint).host, "HoldfastEventLoopStalls");
    fired.add("HoldfastEventLoopStalls");
  });

  test("alerts of a node that is cut off, and of what it misses", async () => {
    const { id } = await follower();
    for (const link of proxied.linksOf(id)) link.cut();
    await demandFiring(prometheus, ["HoldfastNodeCutOff", "HoldfastNodeBehind"], work);
    for (const link of proxied.linksOf(id)) link.heal();
  });

  test("alerts of waits that last long", async () => {
    expect(await lastWait).toBe("LOCK_TIMEOUT");
    await demandFiring(prometheus, ["HoldfastLongWaits"], () => kept.pop()?.release());
    await patient.close();
    await keeper.close();
  });

  test("alerts of an audit that cannot be written, and of what is missing in it", async () => {
    const makeRoom = await fillVolume(join(cluster.directory, `n${SMALL}`, "store"));
    await demandFiring(prometheus, ["HoldfastAuditFailing", "HoldfastAuditIncomplete"], work);
    await makeRoom();
    await prometheus.until("the audit to be written again", async () => {
      return !(await prometheus.firing()).includes("HoldfastAuditFailing");
    });
  });

  test("alerts of a node that starts on a full disk", async () => {
    const small = cluster.node(SMALL);
    await small.kill("SIGTERM");
    const makeRoom = await fillVolume(join(cluster.directory, `n${SMALL}`, "store"));
    await small.start();
    await demandFiring(prometheus, ["HoldfastDiskFull"]);
    await small.kill("SIGTERM");
    await makeRoom();
  });

  test("alerts of a node whose data are damaged", async () => {
    rmSync(join(cluster.directory, `n${SMALL}`, "store", "CURRENT"));
    await cluster.node(SMALL).start();
    await demandFiring(prometheus, ["HoldfastNodeQuarantined"]);
  });

  test("alerts of a node that hangs, and of a majority that is lost by it", async () => {
    const hanging = cluster.nodes.find(({ id }) => id !== SMALL) as NodeHandle;
    hanging.pause();
    await prometheus.untilFiringFor(new URL(hanging.endpoint).host, "HoldfastNodeDown");
    await demandFiring(prometheus, ["HoldfastNodeDown", "HoldfastNoLeader"]);
  });
});

describe.skipIf(PROMETHEUS === undefined)(
  "a node with TLS, little memory and few descriptors",
  () => {
    let directory: string;
    let node: NodeHandle;
    let prometheus: PrometheusServer;
    let port = 0;
    let ca: string;

    beforeAll(async () => {
      directory = mkdtempSync(join(tmpdir(), "holdfast-alerts-"));
      const authority = createAuthority({ name: "authority", days: 30 });
      ca = authority.certificatePem;
      const host = { cluster: "prod", nodeId: 1, hosts: ["127.0.0.1"], days: CERTIFICATE_DAYS };
      const { certificatePem, keyPem } = issueNodeCertificate(authority, host);
      const at = (name: string): string => join(directory, name);
      writeFileSync(at("ca.crt"), ca);
      writeFileSync(at("node.crt"), certificatePem);
      writeFileSync(at("node.key"), keyPem);
      const [clientPort = 0, peerPort] = await freePorts(2);
      port = clientPort;
      node = new NodeHandle(
        1,
        `wss://127.0.0.1:${port}`,
        [
          ...["--id=1", `--data=${at("n1")}`, `--listen=127.0.0.1:${port}`, "--cluster-name=prod"],
          ...[`--initial-cluster=1=127.0.0.1:${peerPort}`, "--stop-on-stdin-end"],
          ...["--audit", "--audit-max-size=1MiB"],
          ...[
            `--tls-cert=${at("node.crt")}`,
            `--tls-key=${at("node.key")}`,
            `--tls-ca=${at("ca.crt")}`,
          ],
        ],
        {
          launcher: ["bash", "-c", `ulimit -n ${DESCRIPTORS}; exec "$@"`, "bash"],
          env: () => ({ NODE_OPTIONS: `--max-old-space-size=${HEAP_MIB}` }),
          tls: { secureContext: createSecureContext({ ca }), hasCertificate: false },
        },
      );
      await node.start();
      prometheus = await PrometheusServer.start(PROMETHEUS as string, {
        addresses: [`127.0.0.1:${port}`],
        further: `scheme: https\ntls_config: { ca_file: ${at("ca.crt")} }`,
      });
    });
    afterAll(async () => {
      await prometheus?.stop();
      await node?.stop();
      rmSync(directory, { recursive: true, force: true });
    });

    test("alerts of a certificate that expires in three days", async () => {
      await demandFiring(prometheus, ["HoldfastCertificateExpires"]);
    });

    test("alerts of changed files that cannot be used, and of sockets beyond the limit", async () => {
      writeFileSync(join(directory, "node.crt"), "no certificate\n");
      node.hangUp();
      const sockets = Array.from({ length: SOCKETS }, () => connectSocket(port, "127.0.0.1"));
      for (const socket of sockets) socket.on("error", () => undefined);
      await demandFiring(prometheus, ["HoldfastTlsFilesRefused", "HoldfastConnectionsRefused"]);
      for (const socket of sockets) socket.destroy();
    });

    test("alerts of an audit that a client in a loop has filled", async () => {
      const client = await connect({ endpoints: [node.endpoint], ca, ttlMs: 120_000 });
      const calm = flood(client, 64);
      await demandFiring(prometheus, ["HoldfastAuditSizeLimited"]);
      await calm();
      await client.close();
    });

    test("alerts of a heap that is nearly full", async () => {
      const greedy = await connect({ endpoints: [node.endpoint], ca, ttlMs: 120_000 });
      let asked = 0;
      const ask = async (): Promise<void> => {
        // It may have room again after a collection, before it was looked at.
        const { stderr } = node;
        if (stderr.lastIndexOf("is scarce:") > stderr.lastIndexOf("is not scarce")) return;
        const batch = Array.from({ length: LOCKS_AT_ONCE }, (_, at) => {
          const key = `greedy/${asked + at}/`.padEnd(512, "k");
          return greedy.acquire(key, { waitMs: 0, value: "v".repeat(1_024) });
        });
        asked += LOCKS_AT_ONCE;
        await Promise.allSettled(batch);
      };
      await demandFiring(prometheus, ["HoldfastMemoryScarce"], ask);
      await greedy.close();
    });

    test.skipIf(!CAN_TRACE)("alerts of a slow disk, and of commits that wait for it", async () => {
      const log = join(directory, "n1", "log");
      const files = readdirSync(log).map((name) => join(log, name));
      const calls = "pwrite64,pwritev,pwritev2,write,fdatasync";
      const slow = `${calls}:delay_exit=${DISK_DELAY_MS * 1_000}`;
      const endDelay = traceDisk(node.pid, files, slow);
      const client = await connect({ endpoints: [node.endpoint], ca, ttlMs: 120_000 });
      const calm = flood(client, 1);
      await demandFiring(prometheus, ["HoldfastLogSyncSlow", "HoldfastCommitSlow"]);
      await endDelay();
      await calm();
      await client.close();
    });
  },
);

test.skipIf(PROMETHEUS === undefined || !CAN_MOUNT || !CAN_TRACE)("every alert has fired", () => {
  const names = Array.from(readFileSync(RULES, "utf8").matchAll(/^ *- alert: (\w+)$/gm));
  expect([...fired].sort()).toEqual(names.map(([, name]) => name).sort());
});
