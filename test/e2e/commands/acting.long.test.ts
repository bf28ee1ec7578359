/**
 * The commands that take away, set and measure: `revoke`, `session`, `limit`, `elect` and `bench`,
 * each against a cluster of real processes, with the exit codes that scripts rely on.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { connect, type HoldfastError } from "../../../src/index.js";
import { ClusterScene } from "../world/cluster-scene.js";
import { expectFailure } from "../world/command-result.js";
import { expectDocumented } from "../world/documented-json.js";
import { until } from "../world/process-life.js";

const scene = new ClusterScene({ nodes: 1 }, { name: "billing-7", metadata: "m" });
beforeAll(() => scene.start());
afterAll(() => scene.stop());

const ask = (...args: readonly string[]) => scene.holdfast(args);
const start = (...args: readonly string[]) => scene.startHoldfast(args);

async function aborted(signal: AbortSignal): Promise<HoldfastError> {
  await until("the loss", () => signal.aborted);
  return signal.reason;
}

describe("revoke", () => {
  test("gives the holder the reason and time; the holder may release in peace", async () => {
    const lock = await scene.client.acquire("revoke/peace");
    const told = new Promise((resolve) => {
      lock.on("revoking", ({ reason }) => resolve(reason));
    });
    const revoked = await ask("revoke", "revoke/peace", "--grace", "10m", "--reason", "hotfix");
    expect([revoked.code, revoked.stdout]).toEqual([
      0,
      "revoke/peace: 1 hold asked to end, at the latest in 10m 00s\n",
    ]);
    expect(await told).toBe("hotfix");
    expect(lock.isHeld).toBe(true);
    expect(await lock.release()).toEqual({ released: true });
  });

  test("says until when a lease goes on whose owner does not hear of it", async () => {
    const owner = "a shell";
    await scene.client.leases.take("revoke/lease", { owner, ttlMs: 3_600_000 });
    const asked = await ask("revoke", "revoke/lease", "--grace", "1s");
    const left = /at the latest in (1h 00m|59m \d\ds); 1 lease among them, whose owner is not told/;
    const hint = / \(--now ends it at once\)\n$/;
    expect(asked.stdout).toMatch(new RegExp(`^revoke/lease: 1 hold asked to end, ${left.source}`));
    expect(asked.stdout).toMatch(hint);
    const again = await ask("revoke", "revoke/lease");
    expect(again.stdout).toMatch(/^revoke\/lease: asked to end before, at the latest in /);
    const ended = await ask("revoke", "revoke/lease", "--now");
    expect(ended.stdout).toBe("revoke/lease: 1 hold ended\n");
  });

  test("with --now ends every hold of the key at once", async () => {
    const locks = await Promise.all(
      [1, 2].map(() => scene.client.acquire("revoke/now", { mode: "shared" })),
    );
    const { code, stdout } = await ask("revoke", "revoke/now", "--now", "--json");
    expect(code).toBe(0);
    const document = JSON.parse(stdout);
    expectDocumented(document, "revoke");
    const left = { opened: 0, endsInMs: 0, leasesLeft: 0 };
    expect(document).toEqual({ key: "revoke/now", token: null, revoked: 2, ...left });
    for (const { signal } of locks) {
      expect((await aborted(signal)).details).toMatchObject({ reason: "revoked" });
    }
  });

  test("of a token takes that hold alone, and is 5 when nothing is held under it", async () => {
    const [one, other] = await Promise.all(
      [1, 2].map(() => scene.client.acquire("revoke/token", { mode: "shared" })),
    );
    const token = String(one?.token);
    const revoked = await ask("revoke", "--token", token, "--now");
    expect([revoked.code, revoked.stdout]).toEqual([0, `fencing token ${token}: 1 hold ended\n`]);
    const again = await ask("revoke", "--token", token);
    expectFailure(again, 5, new RegExp(`there is no hold with fencing token ${token}`));
    expect(other?.isHeld).toBe(true);
    await other?.release();
  });

  test("opens a key that an ended hold keeps closed", async () => {
    const lock = await scene.client.acquire("revoke/closed", { minHoldMs: 3_600_000 });
    await lock.release();
    const { code, stdout } = await ask("revoke", "revoke/closed", "--grace", "10m");
    expect([code, stdout]).toEqual([0, "revoke/closed: not held, opened\n"]);
    const next = await scene.client.tryAcquire("revoke/closed");
    expect(next?.isHeld).toBe(true);
    await next?.release();
  });

  test("takes every key in use below a prefix, and no other", async () => {
    const other = await scene.client.acquire("revoke/beside");
    const locks = [
      await scene.client.acquire("revoke/below/1", { mode: "shared" }),
      await scene.client.acquire("revoke/below/1", { mode: "shared" }),
      await scene.client.acquire("revoke/below/2"),
    ];
    const closed = await scene.client.acquire("revoke/below/3", { minHoldMs: 3_600_000 });
    await closed.release();
    const { code, stdout } = await ask("revoke", "--prefix", "revoke/below/", "--now");
    expect([code, stdout]).toEqual([0, "3 keys: 3 holds ended, opened\n"]);
    for (const { signal } of locks) {
      expect((await aborted(signal)).details).toMatchObject({ reason: "revoked" });
    }
    const again = await ask("revoke", "--prefix", "revoke/below/", "--json");
    expect(JSON.parse(again.stdout)).toEqual({
      prefix: "revoke/below/",
      keys: 0,
      ...{ revoked: 0, opened: 0, endsInMs: 0, leasesLeft: 0 },
    });
    expect(other.isHeld).toBe(true);
    await other.release();
    expectFailure(await ask("revoke", "a", "--prefix", "b"), 2, /exclude each other/);
  });

  test("of a key that nobody holds is done", async () => {
    const { code, stdout } = await ask("revoke", "revoke/nobody");
    expect([code, stdout]).toEqual([0, "revoke/nobody: not held\n"]);
  });

  test("is wrong usage without one target, or with what excludes each other", async () => {
    expectFailure(await ask("revoke"), 2, /give a key or --token/);
    expectFailure(await ask("revoke", "a", "--token", "1"), 2, /exclude each other/);
    expectFailure(await ask("revoke", "a", "--now", "--grace", "1s"), 2, /exclude each other/);
    expectFailure(await ask("revoke", "a", "--grace", "2h"), 2, /longer than 1h/);
    expectFailure(await ask("revoke", "a", "--grace", "5"), 2, /needs a unit/);
    expectFailure(await ask("revoke", "a", "--grace", "30m1h"), 2, /the largest unit comes first/);
    expectFailure(await ask("revoke", "a", "--grace", "90d"), 2, /longer than 49d/);
    expectFailure(await ask("revoke", "--token", "9007199254740993"), 2, /whole number/);
  });
});

describe("session", () => {
  test("ls shows every client but itself, as a table and as objects", async () => {
    const lock = await scene.client.acquire("session/1");
    const { code, stdout } = await ask("session", "ls", "--json");
    expect(code).toBe(0);
    const sessions: Record<string, unknown>[] = stdout
      .split("\n")
      .slice(0, -1)
      .map((line) => JSON.parse(line));
    expect(sessions).toHaveLength(1);
    expectDocumented(sessions[0], "session ls");
    expect(sessions[0]).toMatchObject({
      session: scene.client.session,
      name: "billing-7",
      metadata: "m",
      holds: 1,
    });
    const table = await ask("session", "ls");
    expect(table.stdout).toMatch(
      /^SESSION +NAME +NODE +ADDRESS .*\n +\d+ +billing-7 +[123] +127\.0\.0\.1 +1 +0 +15s /,
    );
    await lock.release();
  });

  test("end takes everything from a client, and is 5 when there is no such session", async () => {
    const other = await connect({ endpoints: scene.endpoints });
    const lock = await other.acquire("session/2");
    const id = String(other.session);
    const ended = await ask("session", "end", id, "--now", "--reason", "host is gone", "--json");
    expect([ended.code, JSON.parse(ended.stdout)]).toEqual([0, { session: Number(id) }]);
    expectDocumented(JSON.parse(ended.stdout), "session end");
    await aborted(lock.signal);
    expect((await scene.client.tryAcquire("session/2"))?.isHeld).toBe(true);
    await until("the end of the session", async () => {
      const again = await ask("session", "end", id);
      if (again.code !== 0) expectFailure(again, 5, new RegExp(`there is no session ${id}`));
      return again.code !== 0;
    });
    await other.close();
  });

  test("end is the end of a run that waits: it does not ask again", async () => {
    const lock = await scene.client.acquire("session/3");
    const run = start("run", "session/3", "--", "true");
    let session = 0;
    await until("the run to wait", async () => {
      session = (await scene.client.inspect("session/3")).waiters[0]?.session ?? 0;
      return session !== 0;
    });
    expect((await ask("session", "end", String(session), "--now")).code).toBe(0);
    expectFailure(await run.result, 5, /an operator ended the wait for session\/3/);
    await lock.release();
  });
});

test("limit sets how many permits a semaphore has, until it is taken back", async () => {
  const set = await ask("limit", "limit/gpu", "2", "--json");
  expect(JSON.parse(set.stdout)).toEqual({ key: "limit/gpu", limit: 2 });
  expectDocumented(JSON.parse(set.stdout), "limit");
  const held = await scene.client.semaphore("limit/gpu").acquire({ permits: 2 });
  expect(await scene.client.semaphore("limit/gpu").tryAcquire()).toBeUndefined();
  const shown = await ask("inspect", "limit/gpu");
  expect(shown.stdout).toMatch(
    /^limit\/gpu: a semaphore of 2 permits\n[\s\S]* 2 permits [\s\S]*slots 0 1/,
  );
  await held.release();
  const none = await ask("limit", "limit/gpu", "none");
  expect([none.code, none.stdout]).toEqual([0, "limit/gpu: no limit set\n"]);
  await expect(scene.client.semaphore("limit/gpu").acquire()).rejects.toThrow("no limit");
  const lock = await scene.client.acquire("limit/lock");
  expectFailure(await ask("limit", "limit/lock", "3"), 5, /WRONG_KIND/);
  expectFailure(await ask("limit", "limit/lock", "0"), 2, /from 1 to 1000000, or none/);
  await lock.release();
});

describe("elect", () => {
  test("leads until it is interrupted; followers see it come and go", async () => {
    const following = start("elect", "lead/1", "--observe", "--count", "3", "--json");
    await following.printed("\n");
    const leading = start("elect", "lead/1", "host-7", "--json");
    await leading.printed("\n");
    const led = JSON.parse(leading.stdout);
    expectDocumented(led, "elect");
    expect(led).toMatchObject({ name: "lead/1", value: "host-7" });
    await following.printed("host-7");
    leading.child.kill("SIGINT");
    expect(await leading.result).toMatchObject({ code: null, signal: "SIGINT", stderr: "" });
    const { code, stdout } = await following.result;
    expect(code).toBe(0);
    const told = stdout
      .split("\n")
      .slice(0, -1)
      .map((line) => JSON.parse(line));
    for (const object of told) expectDocumented(object, "elect --observe");
    expect(told.map(({ leader }) => leader?.token)).toEqual([undefined, led.token, undefined]);
  });

  test("runs a command as the leader: with the token, and with the command's exit code", async () => {
    const script = 'echo "$HOLDFAST_KEY $HOLDFAST_TOKEN"; exit 7';
    const { code, stdout } = await ask("elect", "lead/2", "host-7", "--", "sh", "-c", script);
    expect([code, stdout]).toEqual([7, expect.stringMatching(/^lead\/2 \d{16}\n$/)]);
  });

  test("is 3 or 124 while another leads, and shows who", async () => {
    const term = await scene.client.election("lead/3").campaign("host-1");
    expectFailure(await ask("elect", "-n", "lead/3", "host-7"), 3, /held by billing-7/);
    expectFailure(await ask("elect", "-w", "50ms", "lead/3", "host-7"), 124, /within 50ms/);
    const now = await ask("elect", "lead/3", "--observe", "--count", "1");
    expect([now.code, now.stderr]).toEqual([0, ""]);
    expect(now.stdout).toMatch(/ host-1 leads {2}token \d+ {2}billing-7\n$/);
    const waiting = start("elect", "lead/3", "host-7");
    await until("the candidate", async () => {
      return (await scene.client.inspect("lead/3")).waiters.length === 1;
    });
    waiting.child.kill("SIGTERM");
    expect(await waiting.result).toMatchObject({ code: null, signal: "SIGTERM", stdout: "" });
    expect((await scene.client.inspect("lead/3")).waiters).toEqual([]);
    await term.resign();
  });

  test("says nothing with -q that the exit code says as well", async () => {
    const term = await scene.client.election("lead/5").campaign("host-1");
    const told = { stdout: "", stderr: "" };
    expect(await ask("elect", "-q", "-n", "lead/5", "host-7")).toMatchObject({ code: 3, ...told });
    const late = await ask("elect", "-q", "-w", "50ms", "lead/5", "host-7");
    expect(late).toMatchObject({ code: 124, ...told });
    await term.resign();
  });

  test("is 6 when leadership is revoked, and gives it up at once", async () => {
    const leading = start("elect", "lead/4", "host-7");
    await leading.printed("leading lead/4 as host-7");
    await scene.client.revoke({ key: "lead/4" }, { graceMs: 600_000, reason: "hotfix" });
    const { code, stderr } = await leading.result;
    expect([code, stderr]).toEqual([
      6,
      "holdfast: the leadership of lead/4 was lost: it was revoked (hotfix)\n",
    ]);
    expect((await scene.client.inspect("lead/4")).holds).toEqual([]);
  });
});

describe("bench", () => {
  test("measures for the given time, and leaves nothing held", async () => {
    const args = ["--workers", "4", "--keys", "2", "--clients", "2", "--warm-up", "0s"];
    const { code, stdout, stderr } = await ask("bench", ...args, "--duration", "400ms", "--json");
    expect([code, stderr]).toEqual([0, ""]);
    const document = JSON.parse(stdout);
    expectDocumented(document, "bench");
    expect(document).toMatchObject({
      workers: 4,
      keys: 2,
      clients: 2,
      isWhole: true,
      failures: {},
    });
    expect(document.cycles).toBeGreaterThan(0);
    const counted = document.acquireHistogram.map(({ count }: { count: number }) => count);
    expect(counted.reduce((sum: number, count: number) => sum + count, 0)).toBe(document.cycles);
    for (const key of ["bench/0", "bench/1"])
      expect((await scene.client.inspect(key)).holds).toEqual([]);
  });

  test("shows people a rate, latencies and a picture, and on no terminal no progress", async () => {
    const { code, stdout, stderr } = await ask("bench", "--duration", "1s", "--warm-up", "0s");
    expect([code, stderr]).toEqual([0, ""]);
    expect(stdout).toMatch(/^32 workers, 32 locks, 1 connection, [^\n]+\n[\d,]+ locks per second/);
    expect(stdout).toMatch(/\nacquire +\S+s [\s\S]*\n +\S+s +[\d,]+ +#+\n/);
  });

  test("is stopped early by Ctrl-C: shows what it has and gives everything back", async () => {
    const measuring = start("bench", "--duration", "10m", "--warm-up", "0s", "--json");
    await until("its locks", async () => (await keysBelow("bench/")) > 0);
    measuring.child.kill("SIGINT");
    const { signal, stdout } = await measuring.result;
    expect(signal).toBe("SIGINT");
    expect(JSON.parse(stdout)).toMatchObject({ isWhole: false, failures: {} });
    expect(await keysBelow("bench/")).toBe(0);
  });

  async function keysBelow(prefix: string): Promise<number> {
    let count = 0;
    for await (const { holds } of scene.client.query(prefix)) count += holds.length;
    return count;
  }

  test("is bounded: wrong usage beyond", async () => {
    expectFailure(await ask("bench", "--duration", "2h"), 2, /from 1ms to 1h/);
    expectFailure(await ask("bench", "--workers", "10001"), 2, /from 1 to 10000/);
    expectFailure(await ask("bench", "--duration", "10"), 2, /needs a unit/);
  });
});
