/**
 * The harness as a whole, briefly: every workload under two nemeses, then what a lock guards, with
 * and without the comparison of tokens. Long runs belong to `npm run jepsen`. Runs wait for most of
 * their time, so they go on side by side.
 */
import { expect, test } from "vitest";
import { WORKLOADS } from "../../../jepsen-lite/workloads/catalogue.js";
import { resultDirectory, startJepsen } from "./run-jepsen.js";

/** On a machine that runs other tests as well it takes two or three times as long as on an idle one. */
const RUN_MS_MAX = 400_000;

test.concurrent(
  "every workload runs under kills and partitions, and the cluster is found valid",
  async () => {
    await using out = await resultDirectory();
    const run = startJepsen([
      "--nemesis=kill,partition",
      "--time=15",
      "--clients=3",
      "--workers=1",
      "--seed=3",
      `--out=${out.directory}`,
    ]);
    const { code, stdout, stderr } = await run.ended;
    expect(code, `${stdout}\n${stderr}`).toBe(0);
    const { valid, figures, counts, coverage, checks } = await out.results();
    expect(valid).toBe(true);
    expect(figures.faults).toBeGreaterThanOrEqual(2);
    expect(coverage.map(({ nemesis }) => nemesis)).toEqual(["kill", "partition"]);
    for (const { name } of WORKLOADS) {
      const own = counts.find(({ workload }) => workload === name);
      const succeeded = Object.values(own?.operations ?? {}).reduce((sum, { ok }) => sum + ok, 0);
      expect(succeeded, name).toBeGreaterThan(0);
      expect(
        checks.some(({ subject }) => subject === name),
        name,
      ).toBe(true);
    }
  },
  RUN_MS_MAX,
);

/** Pauses of holders for longer than their leases, of one second. */
const GUARDED = ["--workload=guarded", "--nemesis=pause-clients", "--ttl=1000", "--keys=2"];
/** Within which a store that compares no tokens must be seen to lose an update. */
const SEEN_WITHIN_SECONDS = 20;

function lostOf(summary: string | undefined): number {
  return Number(/(\d+) lost/.exec(summary ?? "")?.[1]);
}

test.concurrent(
  "a store without fencing is seen to lose updates when holders are paused",
  async () => {
    await using out = await resultDirectory();
    const words = [...GUARDED, "--unfenced", `--time=${SEEN_WITHIN_SECONDS}`];
    const { code, stdout, stderr } = await startJepsen([...words, `--out=${out.directory}`]).ended;
    expect(code, `${stdout}\n${stderr}`).toBe(0);
    const store = (await out.results()).checks.find(({ subject }) => subject === "guarded-store");
    expect(lostOf(store?.summary), store?.summary).toBeGreaterThan(0);
    // What was lost is described step by step.
    const [first] = store?.anomalies ?? [];
    expect(first?.kind).toBe("lost update");
    expect(first?.steps.length).toBe(4);
    // It was to be expected, and is not held against the cluster.
    expect((await out.results()).anomalies).toEqual({});
  },
  RUN_MS_MAX,
);

test.concurrent(
  "the same store with fencing loses nothing, and turns late writers away",
  async () => {
    await using out = await resultDirectory();
    const words = [...GUARDED, `--time=${SEEN_WITHIN_SECONDS}`, `--out=${out.directory}`];
    const { code, stdout, stderr } = await startJepsen(words).ended;
    expect(code, `${stdout}\n${stderr}`).toBe(0);
    const store = (await out.results()).checks.find(({ subject }) => subject === "guarded-store");
    expect(lostOf(store?.summary)).toBe(0);
    expect(Number(/(\d+) refused/.exec(store?.summary ?? "")?.[1])).toBeGreaterThan(0);
  },
  RUN_MS_MAX,
);
