/**
 * A member that lost its directory and is started again as if nothing had happened. It has
 * forgotten what it confirmed, so the others never count on it, however often it is started, until
 * an operator recovers it. Real processes, real files.
 */
import { access, rm } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { freePorts } from "../../../lab/free-ports.js";
import { connect } from "../../../src/index.js";
import {
  type ClusterProcess,
  type NodeHandle,
  runCli,
  startCluster,
} from "../world/cluster-process.js";
import { until } from "../world/process-life.js";

const endings: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end();
});

interface Trio {
  readonly cluster: ClusterProcess;
  readonly leader: NodeHandle;
  readonly victim: NodeHandle;
  readonly third: NodeHandle;
  readonly victimDirectory: string;
}

async function startTrio(): Promise<Trio> {
  const cluster = await startCluster();
  endings.push(() => cluster.stop());
  const leader = await cluster.leader();
  const [victim, third] = cluster.nodes.filter(({ id }) => id !== leader.id);
  if (victim === undefined || third === undefined) throw new Error("three nodes are needed");
  const victimDirectory = join(cluster.directory, `n${victim.id}`);
  return { cluster, leader, victim, third, victimDirectory };
}

async function readiness(node: NodeHandle): Promise<string> {
  const response = await fetch(`${node.endpoint.replace(/^ws/, "http")}/readyz`);
  return `${response.status} ${await response.text()}`;
}

const UNREADY = /^503 (.*\n)*.*no contact with a majority.*\n$/;

test("a wiped directory is refused for good, and the node counts again when it was recovered", async () => {
  const { cluster, leader, victim, third, victimDirectory } = await startTrio();
  const { id } = victim;
  const refusal = "another data directory than before: bring it back with holdfast recover";
  const client = await connect({ endpoints: cluster.endpoints, ttlMs: 120_000 });
  endings.push(() => client.close());
  const kept = await client.acquire("kept");
  const goesOn = async (): Promise<void> => {
    for (let round = 0; round < 3; round += 1) {
      expect(await (await client.acquire("work")).release()).toEqual({ released: true });
    }
  };
  await goesOn();
  await victim.stop();
  await rm(victimDirectory, { recursive: true });

  /** Starts the victim and sees it refused by every other running node, and not ready. */
  const expectRefused = async (others: readonly NodeHandle[]): Promise<void> => {
    const before = victim.stderr.length;
    await victim.start();
    const refusers = (): number[] =>
      others
        .filter(({ id: other }) =>
          victim.stderr
            .slice(before)
            .split("\n")
            .some((line) => line.includes(`refused by node ${other} `) && line.includes(refusal)),
        )
        .map(({ id: other }) => other);
    await until("everybody's refusal", () => refusers().length === others.length);
    expect(await readiness(victim)).toMatch(UNREADY);
    expect(await victim.status()).toMatchObject({ leader: 0 });
  };

  // The others saw only its first life: from the second start on its incarnation is higher.
  for (let start = 1; start <= 3; start += 1) {
    await expectRefused([leader, third]);
    await goesOn();
    await victim.stop();
  }
  for (const node of [leader, third]) {
    expect(node.stderr).toContain(`node ${id} has ${refusal} --id ${id}`);
  }

  // Nor by nodes that were restarted since, and not as the one that is missing for a majority.
  await leader.restart();
  await third.restart();
  await goesOn();
  await third.kill();
  await until("the majority to be gone", async () => UNREADY.test(await readiness(leader)));
  await expectRefused([leader]);
  expect(await readiness(leader)).toMatch(UNREADY);
  await third.start();
  await goesOn();

  await victim.stop();
  const recovered = await cluster.operate(
    ...["recover", `--id=${id}`, `--data=${victimDirectory}`, "--json"],
  );
  expect(JSON.parse(recovered.stdout)).toMatchObject({ id, problem: null, wasVoter: true });
  const before = victim.stderr.length;
  await victim.start();
  await cluster.operate("member", "promote", String(id));
  expect(victim.stderr.slice(before)).not.toContain("another data directory");
  await until("the node to be ready", async () => (await readiness(victim)).startsWith("200"));
  // Without the third node nothing is granted unless the recovered one counts.
  await third.kill();
  await goesOn();
  const view = await client.inspect("kept");
  expect(view.holds.map(({ token }) => token)).toEqual([kept.token]);
});

test("a voter is not started on a fresh directory by telling it to join", async () => {
  const { cluster, leader, victim, third } = await startTrio();
  await victim.stop();
  const [clientPort, peerPort] = await freePorts(2);
  const fresh = join(cluster.directory, "fresh");
  const result = await runCli([
    "server",
    ...[`--id=${victim.id}`, `--data=${fresh}`],
    ...[`--listen=127.0.0.1:${clientPort}`, `--peer-listen=127.0.0.1:${peerPort}`],
    `--join=${leader.endpoint},${third.endpoint}`,
  ]);
  expect(result.code).toBe(1);
  expect(result.stderr.trimEnd().split("\n").at(-1)).toBe(
    `holdfast: node ${victim.id} votes in that cluster but ${fresh} has none of its data: ` +
      "bring it back with holdfast recover",
  );
  await expect(access(fresh)).rejects.toMatchObject({ code: "ENOENT" });
});
