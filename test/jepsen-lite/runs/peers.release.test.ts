/**
 * The harness against systems whose weaknesses are known: what they cannot promise has to be seen to
 * break, or a verdict on Holdfast says nothing. Needs the servers of Redis and etcd.
 */
import { execFile } from "node:child_process";
import { once } from "node:events";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import type { ComparedSystem } from "../../../jepsen-lite/run/compared-system.js";
import { PEERS, peerRefusal } from "../../../jepsen-lite/systems/catalogue.js";
import { resultDirectory, startJepsen } from "./run-jepsen.js";

const RUN_MS_MAX = 300_000;
const refusals = new Map<string, string | undefined>();
for (const peer of PEERS) {
  const refusal = await peerRefusal([peer]);
  refusals.set(peer.name, refusal);
  if (refusal !== undefined) console.warn(`NOT TESTED: what ${peer.name} loses: ${refusal}`);
}
const isMissing = (name: string) => refusals.get(name) !== undefined;

/** Everything that runs with this directory in its arguments. */
async function processesOf(directory: string): Promise<string[]> {
  const { stdout } = await promisify(execFile)("ps", ["-eo", "pid,args"]);
  return stdout.split("\n").filter((line) => line.includes(directory));
}

/** Holdfast and one peer under the same faults: what each did. */
async function compared(peer: string, flags: readonly string[]) {
  await using out = await resultDirectory();
  const common = ["--clients=3", "--keys=1", `--out=${out.directory}`];
  const { code, stdout, stderr } = await startJepsen([`--peers=${peer}`, ...flags, ...common])
    .ended;
  const said = `${stdout}\n${stderr}`;
  expect(code, said).toBe(0);
  const { comparison } = await out.results();
  expect(comparison.map(({ name }) => name)).toEqual(["holdfast", peer]);
  const [holdfast, other] = comparison as [ComparedSystem, ComparedSystem];
  const nothing = { valid: true, twoHolders: 0, badTokens: 0, unexplained: 0 };
  expect(holdfast, said).toMatchObject({ ...nothing, fenced: { lost: 0 } });
  for (const { name, succeeded } of comparison) expect(succeeded, name).toBeGreaterThan(0);
  expect(await processesOf(out.directory)).toEqual([]);
  return { holdfast, other, said };
}

test.skipIf(isMissing("redis"))(
  "Redis gives one lock to two when its primary is cut off, and the same token again",
  async () => {
    // The leader is alone twice, for longer than a failover takes.
    const flags = ["--nemesis=partition", "--time=20", "--seed=26", "--ttl=1000"];
    const { other, said } = await compared("redis", flags);
    expect(other.valid, said).toBe(false);
    expect(other.elections, said).toBeGreaterThan(1);
    expect(other.twoHolders, said).toBeGreaterThan(0);
    expect(other.badTokens, said).toBeGreaterThan(0);
  },
  RUN_MS_MAX,
);

test.skipIf(isMissing("etcd"))(
  "etcd loses updates when holders are stopped, unless the store compares revisions",
  async () => {
    const flags = ["--workload=guarded,unfenced", "--nemesis=pause-clients", "--time=40"];
    const { other, said } = await compared("etcd", flags);
    expect(other.unfenced.lost, said).toBeGreaterThan(0);
    expect(other.fenced.lost, said).toBe(0);
  },
  RUN_MS_MAX,
);

test.skipIf(isMissing("redis"))(
  "an interruption ends the peer that is under attack, and leaves no process of it",
  async () => {
    await using out = await resultDirectory();
    const words = ["--peers=redis", "--workload=mutex", "--nemesis=pause", "--clients=2"];
    const run = startJepsen([...words, "--time=4", `--out=${out.directory}`]);
    const isAttacked = () => /starting +redis[\s\S]*attacking/.test(run.stderr());
    while (!isAttacked()) await once(run.child, "progress");
    expect((await processesOf(out.directory)).join("\n")).toContain("redis-server");
    run.child.kill("SIGINT");
    const { code, stdout, stderr } = await run.ended;
    expect(code, `${stdout}\n${stderr}`).toBe(130);
    const { comparison } = await out.results();
    expect(comparison.map(({ name }) => name)).toEqual(["holdfast", "redis"]);
    expect(await processesOf(out.directory)).toEqual([]);
  },
  RUN_MS_MAX,
);
