/**
 * `holdfast run` with everything that can be asked of a hold: several keys, permits, caps, delays,
 * a head start in the queue, a value that others see.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ClusterScene } from "../../world/cluster-scene.js";
import { COMMAND, type RunningCli } from "../../world/command-line.js";
import { until } from "../../world/process-life.js";

/** Says what it was given and holds it until its standard input ends. */
const SHOW_AND_HOLD =
  'printf "%s|%s|%s|\\n" "$HOLDFAST_KEY" "$HOLDFAST_SLOT" "$HOLDFAST_TOKEN"; cat';

const scene = new ClusterScene();
beforeAll(() => scene.start());
afterAll(() => scene.stop());

const run = (...args: readonly string[]) => scene.holdfast(["run", ...args]);

interface Held {
  readonly holder: RunningCli;
  readonly keys: string;
  readonly slots: string;
  readonly token: number;
}

/** Starts a run that holds until `letGo`, and waits until it does. */
async function hold(...args: readonly string[]): Promise<Held> {
  const words = ["run", ...args, "-c", SHOW_AND_HOLD];
  const holder = scene.startHoldfast(words, { keepInputOpen: true });
  await holder.printed("|\n");
  const [keys = "", slots = "", token = ""] = holder.stdout.split("|");
  return { holder, keys, slots, token: Number(token) };
}

async function letGo({ holder }: Held): Promise<void> {
  holder.child.stdin?.end();
  expect(await holder.result).toMatchObject({ code: 0, stderr: "" });
}

const holdsOf = async (key: string) => (await scene.client.inspect(key)).holds;

describe("several keys", () => {
  test("are taken in one request, under one token, and given back together", async () => {
    const held = await hold("several/b", "several/a");
    expect(held.keys).toBe("several/b\nseveral/a");
    for (const key of ["several/a", "several/b"]) {
      expect((await holdsOf(key)).map(({ token }) => token)).toEqual([held.token]);
    }
    await letGo(held);
    for (const key of ["several/a", "several/b"]) expect(await holdsOf(key)).toEqual([]);
  });

  test("are had all or none: the one that is held is named", async () => {
    const held = await hold("none/b");
    const refused = await run("-n", "none/a", "none/b", "--", "echo", "ran");
    expect([refused.code, refused.stdout]).toEqual([3, ""]);
    expect(refused.stderr).toMatch(/^holdfast: none\/b is held by .+ run \d+\n$/);
    expect(await holdsOf("none/a")).toEqual([]);
    await letGo(held);
  });

  test("never lead to a deadlock, in whatever order they are typed", async () => {
    const orders = Array.from({ length: 8 }, (_, i) => (i % 2 === 0 ? "dl/a dl/b" : "dl/b dl/a"));
    const results = await Promise.all(orders.map((keys) => run(...keys.split(" "), "--", "true")));
    expect(results.map(({ code, stderr }) => [code, stderr])).toEqual(orders.map(() => [0, ""]));
  });
});

describe("permits", () => {
  test("are as many as the limit says, each with a slot of its own", async () => {
    const first = await hold("--limit", "2", "gpu");
    const second = await hold("--permits", "1", "--limit", "2", "gpu");
    expect([first.slots, second.slots].sort()).toEqual(["0", "1"]);
    expect((await run("-n", "--limit", "2", "gpu", "--", "true")).code).toBe(3);
    await letGo(first);
    const again = await run("-n", "--permits", "1", "gpu", "-c", "echo $HOLDFAST_SLOT");
    expect(again.stdout.trim()).toBe(first.slots);
    // The cluster knows the limit, and a run that says another one gets an error.
    const other = await run("--limit", "3", "gpu", "--", "true");
    expect([other.code, other.stderr]).toEqual([5, expect.stringContaining("LIMIT_MISMATCH")]);
    await letGo(second);
  });

  test("of several keys are shown a line each, and a nested lock shows none of them", async () => {
    const nested = `"${process.execPath}" "${COMMAND}" run nested/lock -c 'echo "[$HOLDFAST_SLOT]"'`;
    const flags = ["--permits", "2", "--limit", "2"];
    const line = `echo "$HOLDFAST_SLOT"; ${nested}`;
    const { code, stdout } = await run(...flags, "pool/a", "pool/b", "-c", line);
    expect([code, stdout]).toEqual([0, "0,1\n0,1\n[]\n"]);
  });
});

test("a cap ends the command with its grace, and then the lock; the exit code is 6", async () => {
  const line = "trap 'echo told; exit 0' TERM; echo in; while :; do sleep 0.02; done";
  const flags = ["--max-hold", "1500ms", "--kill-grace", "500ms"];
  const { code, stdout, stderr } = await run(...flags, "capped", "-c", line);
  expect([code, stdout]).toEqual([6, "in\ntold\n"]);
  expect(stderr).toContain("holdfast: the lock capped has reached --max-hold 1.5s: ending the");
  expect(await holdsOf("capped")).toEqual([]);
});

test("a revoked lock ends the command in time, with the operator's reason; the exit code is 6", async () => {
  const line = "trap 'echo told; exit 0' TERM; echo in; while :; do sleep 0.02; done";
  const words = ["run", "--kill-grace=2s", "revoked", "-c", line];
  const holder = scene.startHoldfast(words, { keepInputOpen: true });
  await holder.printed("in\n");
  await scene.client.revoke({ key: "revoked" }, { graceMs: 5_000, reason: "maintenance" });
  await holder.noted("holdfast: the lock revoked is being revoked (maintenance): the command has ");
  const { code, stdout, stderr } = await holder.result;
  expect([code, stdout]).toEqual([6, "in\ntold\n"]);
  expect(stderr).toContain("holdfast: the lock revoked is being revoked (maintenance): ending the");
  expect(await holdsOf("revoked")).toEqual([]);
});

test("a minimal time keeps others out after the command has ended", async () => {
  expect((await run("--min-hold", "1h", "hourly", "--", "true")).code).toBe(0);
  const again = await run("-n", "hourly", "--", "echo", "ran");
  expect([again.code, again.stdout]).toEqual([3, ""]);
  expect(await holdsOf("hourly")).toEqual([]);
});

test("a delay keeps others out when the run died, not when the lock was given back", async () => {
  const flags = ["--lock-delay", "1m"];
  const kept = await hold(...flags, "--ttl=1s", "--kill-grace=100ms", "delayed");
  kept.holder.child.kill("SIGKILL");
  await until("the lease to end", async () => (await holdsOf("delayed")).length === 0);
  expect((await run("-n", "delayed", "--", "true")).code).toBe(3);
  expect((await run(...flags, "prompt", "--", "true")).code).toBe(0);
  expect((await run("-n", "prompt", "--", "true")).code).toBe(0);
});

test("an urgent run overtakes one that waits, and others see the value of the lock", async () => {
  const held = await hold("--value", "build 42", "queue");
  expect((await scene.client.inspect("queue")).holds).toMatchObject([{ value: "build 42" }]);
  const waiters = async (count: number) =>
    until(
      `${count} waiters`,
      async () => (await scene.client.inspect("queue")).waiters.length === count,
    );
  const token = ["queue", "-c", "echo $HOLDFAST_TOKEN"];
  const usual = run(...token);
  await waiters(1);
  const urgent = run("--priority", "60", ...token);
  await waiters(2);
  await letGo(held);
  expect(Number((await urgent).stdout)).toBeLessThan(Number((await usual).stdout));
});
