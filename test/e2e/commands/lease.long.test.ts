/**
 * `holdfast lease` as the steps of a pipeline use it: each step is a process of its own, and what
 * they share is a file or a variable.
 */
import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ClusterScene } from "../world/cluster-scene.js";
import { type CliOptions, COMMAND } from "../world/command-line.js";
import { documentOf, expectFailure } from "../world/command-result.js";
import { expectDocumented } from "../world/documented-json.js";
import { until } from "../world/process-life.js";

interface Taken {
  readonly token: number;
  readonly owner: string;
  readonly trustMs: number | null;
}

const scene = new ClusterScene({ nodes: 3 });
let place = "";
beforeAll(async () => {
  place = await mkdtemp(join(tmpdir(), "holdfast-lease-"));
  await scene.start();
});
afterAll(async () => {
  await scene.stop();
  await rm(place, { recursive: true, force: true });
});

const ask = (args: readonly string[], options?: CliOptions) => {
  return scene.holdfast(["lease", ...args], options);
};

const as = (owner: string): CliOptions => ({ env: { HOLDFAST_LEASE_OWNER: owner } });

/** What a line of a shell prints in which `holdfast` is the command. */
const shell = async (line: string): Promise<string> => {
  const whole = `holdfast() { "${process.execPath}" "${COMMAND}" "$@"; }; ${line}`;
  return (await scene.holdfast(["run", "shell", "-c", whole])).stdout;
};

const holdsOf = async (key: string) => (await scene.client.inspect(key)).holds;

describe("a lease in a file", () => {
  test("is taken by one step, extended by the next and released by the last", async () => {
    const file = join(place, "lease.json");
    const taken = await ask([
      "take",
      "deploy/prod",
      "--ttl",
      "1m",
      "--name",
      "ci-7",
      "--out",
      file,
    ]);
    expect([taken.code, taken.stdout]).toEqual([0, ""]);
    expect(taken.stderr).toMatch(
      /^holdfast: deploy\/prod: leased for 5[34](\.\d)?s from now, token \d+; its owner is in .*, for you only\n$/,
    );
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    const { owner } = JSON.parse(await readFile(file, "utf8")) as Taken;
    expect(taken.stderr).not.toContain(owner);
    expect(await holdsOf("deploy/prod")).toMatchObject([{ session: 0, sessionName: "ci-7" }]);

    const extended = await ask(["extend", "--lease", file, "--ttl", "5m"]);
    expect([extended.code, extended.stderr]).toEqual([0, ""]);
    expect(extended.stdout).toMatch(/^deploy\/prod: leased for 4m 30s from now, token \d+\n$/);
    const shown = await ask(["show", "deploy/prod"]);
    expect(shown.stdout).toMatch(/\nci-7 +exclusive +\S+ +(5m 00s|4m 5\ds) +\d+\n$/);
    expect(shown.stdout).not.toContain(owner);

    const released = await ask(["release", "--lease", file]);
    expect([released.code, released.stdout]).toEqual([0, "deploy/prod: released\n"]);
    expect(await holdsOf("deploy/prod")).toEqual([]);
    const again = await ask(["release", "--lease", file]);
    expect([again.code, again.stdout]).toEqual([0, ""]);
    expect(again.stderr).toMatch(/no lease to release: it was released before/);
    const late = await ask(["extend", "--lease", file]);
    expectFailure(late, 6, /"deploy\/prod": the lease was released/);
  });

  test("takes nothing if the file cannot be written, and replaces one only by force", async () => {
    const file = join(place, "taken.json");
    await writeFile(file, "{}");
    expectFailure(await ask(["take", "file/1", "--out", file]), 1, /exists: --force replaces it/);
    expectFailure(await ask(["take", "file/1", "--out", join(place, "no", "x")]), 1, /no such dir/);
    expect(await holdsOf("file/1")).toEqual([]);
    expect((await ask(["take", "file/1", "--out", file, "--force"])).code).toBe(0);
    expect((await ask(["release", "--lease", file])).code).toBe(0);
  });
});

describe("a lease in variables", () => {
  test("is for eval: the next commands find its owner, and the lock its token", async () => {
    const taken = await ask(["take", "eval/a", "eval/it's b", "--ttl", "1m"]);
    expect(taken.code).toBe(0);
    const variables = new Map(
      [...taken.stdout.matchAll(/^export (\w+)=('(?:[^']|'\\'')*'|\S*)$/gms)].map(
        ([, name, text]) => {
          return [name ?? "", (text ?? "").replace(/^'|'$/g, "").replaceAll("'\\''", "'")] as const;
        },
      ),
    );
    expect(variables.get("HOLDFAST_KEY")).toBe("eval/a\neval/it's b");
    const [hold] = await holdsOf("eval/a");
    expect(variables.get("HOLDFAST_TOKEN")).toBe(String(hold?.token));
    const env = { HOLDFAST_LEASE_OWNER: variables.get("HOLDFAST_LEASE_OWNER") ?? "" };
    const extended = await ask(["extend", "eval/a", "--ttl", "2m", "--json"], { env });
    expectDocumented(documentOf(extended), "lease extend");
    const released = await ask(["release", "eval/it's b", "--json"], { env });
    const document = documentOf(released);
    expectDocumented(document, "lease release");
    expect(document).toEqual({ keys: ["eval/it's b"], released: 1, waits: 0, reason: null });
    expect(await holdsOf("eval/a")).toEqual([]);
  });

  test("is one document with --json, and what take, show and inspect say agrees", async () => {
    const taken = documentOf<Taken>(await ask(["take", "json/1", "--ttl", "1m", "--json"]));
    expectDocumented(taken, "lease take");
    expect(taken.trustMs).toBeLessThanOrEqual(54_000);
    const shown = documentOf<{ leases: unknown[] }>(await ask(["show", "json/1", "--json"]));
    expectDocumented(shown, "lease show");
    expect(shown.leases).toMatchObject([{ token: taken.token }]);
    expect((await ask(["release", "json/1"], as(taken.owner))).code).toBe(0);
  });
});

describe("a lease of which nobody learns", () => {
  test("is given back if its output cannot be written: exit code 1", async () => {
    for (const json of ["", "--json"]) {
      const line = `holdfast lease take full/1 --ttl 10m ${json} > /dev/full; echo code $?`;
      expect(await shell(line)).toBe("code 1\n");
      expect(await holdsOf("full/1")).toEqual([]);
    }
  });

  test("is given back if nobody reads its output", async () => {
    const line = "{ (holdfast lease take unread/1 --ttl 10m; echo code $? >&3) | true; } 3>&1";
    expect(await shell(line)).toBe("code 1\n");
    expect(await holdsOf("unread/1")).toEqual([]);
  });

  test("does not look refused by a signal that comes when its owner is notified", async () => {
    for (let i = 0; i < 5; i += 1) {
      const key = `told/${i}`;
      const taking = scene.startHoldfast(["lease", "take", key, "--ttl", "1m"]);
      taking.child.stdout?.once("data", () => taking.child.kill("SIGTERM"));
      const { code, signal } = await taking.result;
      expect({ code, signal, holds: (await holdsOf(key)).length }).toEqual({
        ...{ code: 0, signal: null, holds: 1 },
      });
    }
  });

  test("leaves no secret of its owner to a command under a run", async () => {
    const { stdout } = await scene.holdfast(["run", "child", "--", "env"], as("secret-owner"));
    expect(stdout).toContain("HOLDFAST_TOKEN=");
    expect(stdout).not.toContain("secret-owner");
  });
});

describe("a lock that is leased", () => {
  test("is refused to others, and to another request of its owner; a repeat finds its lease", async () => {
    const take = ["take", "held/1", "--ttl", "1m"];
    const first = documentOf<Taken>(await ask([...take, "--request", "r", "--json"], as("o")));
    const repeated = documentOf<Taken>(
      await ask([...take, "--request", "r", "--json", "-n"], as("o")),
    );
    expect(repeated.token).toBe(first.token);
    expectFailure(await ask([...take, "-n"], as("o")), 3, /this owner has a lease there/);
    expectFailure(await ask(["take", "held/1", "-n", "-E", "9"]), 9, /held\/1 is held by /);
    expectFailure(
      await ask(["take", "held/1", "-w", "300ms"]),
      124,
      /not granted within 300ms: held by /,
    );
    const run = await scene.holdfast(["run", "-n", "held/1", "--", "true"]);
    expect(run.code).toBe(3);
    const others = await ask(["release", "held/1"], as("other"));
    expect([others.code, others.stderr]).toEqual([6, expect.stringMatching(/this owner had none/)]);
    expect((await ask(["release", "held/1"], as("o"))).code).toBe(0);
  });

  test("is waited for in the queue, and a take that is interrupted leaves nothing", async () => {
    const lock = await scene.client.acquire("queue/1");
    const taking = scene.startHoldfast(["lease", "take", "queue/1", "--ttl", "1m", "--json"]);
    const leaving = scene.startHoldfast(["lease", "take", "queue/1"]);
    await until("both wait", async () => {
      return (await scene.client.inspect("queue/1")).waiters.length === 2;
    });
    leaving.child.kill("SIGTERM");
    expect((await leaving.result).signal).toBe("SIGTERM");
    expect((await scene.client.inspect("queue/1")).waiters).toHaveLength(1);
    await lock.release();
    const taken = documentOf<Taken>(await taking.result);
    expect(await holdsOf("queue/1")).toMatchObject([{ token: taken.token }]);
    expect((await ask(["release", "queue/1"], as(taken.owner))).code).toBe(0);
  });

  test("may be without end where the cluster allows that, and is shown so", async () => {
    const take = ["take", "endless/1", "--ttl", "forever", "--json"];
    expectFailure(await ask(take), 2, /needs the setting endlessLeases/);
    await scene.client.changeSetting("endlessLeases", 1);
    const taken = documentOf<Taken>(await ask(take));
    expect(taken.trustMs).toBeNull();
    expect((await ask(["show", "endless/1"])).stdout).toContain("no end");
    const inspected = await scene.holdfast(["inspect", "endless/1"]);
    expect(inspected.stdout).toContain("no end");
    expect((await scene.holdfast(["top", "--once"])).stdout).toMatch(/endless\/1 .* no end /);
    const revoked = await scene.holdfast(["revoke", "endless/1", "--now"]);
    expect(revoked.stdout).toBe("endless/1: 1 hold ended\n");
    const late = await ask(["extend", "endless/1"], as(taken.owner));
    expectFailure(late, 6, /the lease was revoked/);
    await scene.client.changeSetting("endlessLeases", undefined);
  });

  test("is refused with what makes no sense, before a cluster is asked", async () => {
    expectFailure(await ask(["take"]), 2, /missing required argument/);
    expectFailure(await ask(["take", "a", "a"]), 2, /given twice/);
    expectFailure(await ask(["take", "a", "--ttl", "0s"]), 2, /duration of 1ms to 7d/);
    expectFailure(await ask(["take", "a", "--request", "r"]), 2, /--request needs an owner/);
    expectFailure(await ask(["take", "a", "--force"]), 2, /--force requires --out/);
    expectFailure(await ask(["extend", "a"]), 2, /no owner: give --lease/);
    const both = ["extend", "a", "--add", "--exactly"];
    expectFailure(await ask(both), 2, /cannot be used with/);
    expectFailure(
      await ask(["take", "a", "--ttl", "25h"]),
      2,
      /86400000 ms, the setting leaseTtlMsMax/,
    );
  });
});
