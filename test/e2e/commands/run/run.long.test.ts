/**
 * `holdfast run` as scripts use it: exit codes, environment, streams, waiting. What it does when it
 * gets a signal is in `run-signals.long.test.ts`, when its lock is lost in
 * `run-loss.long.test.ts`.
 */
import { randomBytes } from "node:crypto";
import { chmod, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { freePorts } from "../../../../lab/free-ports.js";
import { ClusterScene } from "../../world/cluster-scene.js";
import {
  type CliOptions,
  type CliResult,
  COMMAND,
  type RunningCli,
  runCli,
} from "../../world/command-line.js";
import { oneLine } from "../../world/command-result.js";
import { until } from "../../world/process-life.js";

/** Holds the lock until its standard input ends. */
const HOLD = ["--", "sh", "-c", "echo in; cat > /dev/null"];

const scene = new ClusterScene();
/** Looks for a cluster for ten seconds; meanwhile the other tests run. */
let withoutCluster: Promise<CliResult>;
beforeAll(async () => {
  const [port] = await freePorts(1);
  withoutCluster = runCli(["run", `--endpoints=127.0.0.1:${port}`, "key", "--", "true"]);
  await scene.start();
});
afterAll(() => scene.stop());

const run = (args: readonly string[], options?: CliOptions) =>
  scene.holdfast(["run", ...args], options);

/** Starts a run that holds `key` until `letGo`, and waits until it does. */
async function hold(key: string, ...flags: readonly string[]): Promise<RunningCli> {
  const words = ["run", ...flags, key, ...HOLD];
  const holder = scene.startHoldfast(words, { keepInputOpen: true });
  await holder.printed("in\n");
  return holder;
}

async function letGo(holder: RunningCli): Promise<void> {
  holder.child.stdin?.end();
  expect(await holder.result).toMatchObject({ code: 0, stderr: "" });
}

describe("the exit code", () => {
  test("is the command's, or it ends by the signal that ended the command", async () => {
    const codes = ["exit 0", "exit 1", "exit 77", "exit 255", "kill -TERM $$", "kill -KILL $$"];
    const results = await Promise.all(codes.map((code, i) => run([`code/${i}`, "-c", code])));
    // A death by SIGKILL cannot be repeated in good order.
    expect(results.map(({ code, signal }) => code ?? signal)).toEqual([
      ...[0, 1, 77, 255],
      ...["SIGTERM", 137],
    ]);
    for (const { stdout, stderr } of results) expect([stdout, stderr]).toEqual(["", ""]);
  });

  test("is 127 for a command that is not there and 126 for one that cannot be executed", async () => {
    const plain = join(scene.cluster.directory, "plain");
    await writeFile(plain, "#!/bin/sh\n");
    const [named, path, notExecutable, directory] = await Promise.all([
      run(["missing/1", "--", "no-such-command-anywhere"]),
      run(["missing/2", "--", join(scene.cluster.directory, "none")]),
      run(["missing/3", "--", plain]),
      run(["missing/4", "--", scene.cluster.directory]),
    ]);
    expect([named.code, path.code]).toEqual([127, 127]);
    expect([notExecutable.code, directory.code]).toEqual([126, 126]);
    expect(oneLine(named.stderr)).toContain("no-such-command-anywhere: command not found");
    expect(oneLine(notExecutable.stderr)).toContain("cannot be executed");
    // The lock is not left behind by a command that never ran.
    expect((await scene.client.inspect("missing/1")).holds).toEqual([]);
    await chmod(plain, 0o755);
    expect((await run(["missing/3", "--", plain])).code).toBe(0);
  });

  // Joined to one argument, which is longer than Linux takes.
  test.runIf(process.platform === "linux")("is 125 for one that cannot be started", async () => {
    const line = Array.from({ length: 30 }, () => ":".padEnd(10_000, "x"));
    const refused = await run(["refused", "-c", "--", ...line]);
    expect(refused.code).toBe(125);
    expect(oneLine(refused.stderr)).toContain("cannot be started");
    expect((await scene.client.inspect("refused")).holds).toEqual([]);
  });

  test("is 2 for wrong usage, before anything is asked of the cluster", async () => {
    const wrong: readonly (readonly string[])[] = [
      [],
      ["key"],
      ["key", "--"],
      ["key", "true"],
      ["one", "two", "one", "--", "true"],
      [..."abcdefghijklmnopq", "--", "true"],
      ["-w", "5", "key", "--", "true"],
      ["--ttl", "1ms", "key", "--", "true"],
      ["--ttl", "10s", "--kill-grace", "10s", "key", "--", "true"],
      ["--max-hold", "5s", "key", "--", "true"],
      ["--permits", "2", "--limit", "1", "key", "--", "true"],
      ["--limit", "1", "--shared", "key", "--", "true"],
      ["--priority", "61", "key", "--", "true"],
      ["--lock-delay", "2m", "key", "--", "true"],
      ["--value", "v".repeat(1_025), "key", "--", "true"],
      ["--config", "no-such-file", "key", "--", "true"],
      ["-E", "256", "key", "--", "true"],
      ["--no-such-option", "key", "--", "true"],
      ["--endpoints", "ftp://127.0.0.1:1", "key", "--", "true"],
      ["a\nb", "--", "true"],
      ["", "--", "true"],
      ["k".repeat(513), "--", "true"],
      ["~reserved", "--", "true"],
    ];
    const results = await Promise.all(wrong.map((args) => run(args)));
    expect(results.map(({ code }, index) => [wrong[index], code])).toEqual(
      wrong.map((args) => [args, 2]),
    );
    for (const { stderr, stdout } of results) expect(oneLine(stderr) && stdout).toBe("");
    // With the numbers, so that it can be put right.
    const refusals = results.map(({ stderr }) => stderr).join("");
    expect(refusals).toMatch(/--ttl 10s .*grace 10s.*1s.*2\.5s.*13\.5s\n/);
    expect(refusals).toMatch(/--max-hold 5s .*grace 5s.*500ms.*5\.5s\n/);
  });
});

describe("a lock that another holds", () => {
  test("is not waited for with -n: 3, or what -E says", async () => {
    const holder = await hold("held/1");
    const [plain, other, zero, quiet] = await Promise.all([
      run(["-n", "held/1", "--", "echo", "ran"]),
      run(["-n", "-E", "42", "held/1", "--", "echo", "ran"]),
      run(["-n", "-E", "0", "held/1", "--", "echo", "ran"]),
      run(["-n", "-q", "held/1", "--", "echo", "ran"]),
    ]);
    expect([plain.code, other.code, zero.code, quiet.code]).toEqual([3, 42, 0, 3]);
    expect([plain, other, zero, quiet].map(({ stdout }) => stdout)).toEqual(["", "", "", ""]);
    expect(oneLine(plain.stderr)).toMatch(/^holdfast: held\/1 is held by .+ run \d+\n$/);
    expect(quiet.stderr).toBe("");
    await letGo(holder);
    expect((await run(["-n", "held/1", "--", "true"])).code).toBe(0);
  });

  test("is waited for as long as -w says: 124", async () => {
    const holder = await hold("held/2");
    const [some, none] = await Promise.all([
      run(["-w", "300ms", "held/2", "--", "echo", "ran"]),
      run(["-w", "250ms", "-q", "held/2", "--", "echo", "ran"]),
    ]);
    expect([some.code, some.stdout, none.code, none.stdout]).toEqual([124, "", 124, ""]);
    expect(oneLine(some.stderr)).toMatch(
      /^holdfast: held\/2 was not granted within 300ms: held by .+ run \d+ since [\d:]{8} \(.+\)\n$/,
    );
    expect(none.stderr).toBe("");
    expect((await scene.client.inspect("held/2")).waiters).toEqual([]);
    await letGo(holder);
  });

  test("is granted to the run that waits when its holder ends", async () => {
    const holder = await hold("held/3");
    const [held] = (await scene.client.inspect("held/3")).holds;
    const waiting = run(["held/3", "--", "sh", "-c", "echo $HOLDFAST_TOKEN"]);
    await until(
      "a waiter",
      async () => (await scene.client.inspect("held/3")).waiters.length === 1,
    );
    await letGo(holder);
    const granted = await waiting;
    expect(granted.code).toBe(0);
    expect(Number(granted.stdout)).toBeGreaterThan(held?.token ?? Number.POSITIVE_INFINITY);
  });

  test("is shared by two with -s, and by no third without", async () => {
    const first = await hold("shared", "-s");
    const second = await hold("shared", "--shared");
    const { holds } = await scene.client.inspect("shared");
    expect(holds.map(({ mode }) => mode)).toEqual(["shared", "shared"]);
    expect((await run(["-n", "shared", "--", "true"])).code).toBe(3);
    await letGo(first);
    expect((await run(["-n", "shared", "--", "true"])).code).toBe(3);
    await letGo(second);
    expect((await run(["-n", "shared", "--", "true"])).code).toBe(0);
  });
});

describe("the command", () => {
  const SHOW = 'echo "$HOLDFAST_KEY $HOLDFAST_TOKEN $HOLDFAST_SESSION $HOLDFAST_ENDPOINTS"';

  test("finds key, token, session and endpoints in its environment", async () => {
    const words = ["run", "env", "--", "sh", "-c", `${SHOW}; cat > /dev/null`];
    const holder = scene.startHoldfast(words, {
      // Only one is given: the command gets all of them.
      env: { HOLDFAST_ENDPOINTS: scene.endpoints[0] ?? "", HOLDFAST_TOKEN: "stale", KEPT: "yes" },
      keepInputOpen: true,
    });
    await holder.printed("\n");
    const [held] = (await scene.client.inspect("env")).holds;
    const [key, token, session, endpoints] = holder.stdout.trim().split(" ");
    expect([key, token, session]).toEqual(["env", `${held?.token}`, `${held?.session}`]);
    expect(endpoints?.split(",").sort()).toEqual([...scene.endpoints].sort());
    await letGo(holder);
    const kept = await run(["env", "--", "sh", "-c", "echo $KEPT"], { env: { KEPT: "yes" } });
    expect(kept.stdout).toBe("yes\n");
  });

  test("of a nested run sees its own lock, the outer command the outer one again", async () => {
    const inner = `"${process.execPath}" "${COMMAND}" run nested/b -c '${SHOW}'`;
    const { code, stdout } = await run(["nested/a", "-c", `${inner}; ${SHOW}`]);
    const [within, after] = stdout.split("\n").map((line) => line.split(" "));
    expect([code, within?.[0], after?.[0]]).toEqual([0, "nested/b", "nested/a"]);
    expect(Number(within?.[1])).toBeGreaterThan(Number(after?.[1]));
    expect(within?.[2]).not.toBe(after?.[2]);
  });

  test.each([
    ["run", "nested/1", "run nested/1 -- true", 5],
    ["run -n", "nested/2", "run -n nested/2 -- true", 3],
    ["lease take", "nested/3", "lease take nested/3", 5],
    ["elect", "nested/4", "elect nested/4 me", 5],
    ["run in another", "nested/5", "run nested/x -c '$HOLDFAST run nested/5 -- true'", 5],
  ])("may not wait for its own lock: %s", async (_, key, words, wanted) => {
    const env = { HOLDFAST: `${process.execPath} ${COMMAND}` };
    const inner = `$HOLDFAST ${words} > /dev/null; echo $?`;
    const { code, stdout, stderr } = await run([key, "-c", inner], { env });
    expect([code, stdout]).toEqual([0, `${wanted}\n`]);
    const held = `holdfast: ${key} is held by the run around this one until its command ends`;
    const why = wanted === 3 ? "" : ": waiting would never end (DEADLOCK)";
    expect(stderr).toBe(`${held}${why}\n`);
  });

  test("of a nested run may hold the lock together with the outer one, and after it", async () => {
    const inner = `"${process.execPath}" "${COMMAND}" run -s nested/shared -- echo both`;
    expect(await run(["-s", "nested/shared", "-c", inner])).toMatchObject({ stdout: "both\n" });
    const stale = { env: { HOLDFAST_HELD: "- 1 1 exclusive nested/stale" } };
    expect(await run(["nested/stale", "-c", "echo free"], stale)).toMatchObject({
      stdout: "free\n",
    });
  });

  test("of two nested runs that wait for each other says so, and waits on", async () => {
    const nested = (outer: string, other: string, wait: string) => {
      const inner = `"${process.execPath}" "${COMMAND}" run -w ${wait} ${other} -- echo in; echo $?`;
      return run([outer, "-c", `while [ ! -e both ]; do sleep 0.1; done; ${inner}`], {
        cwd: scene.cluster.directory,
      });
    };
    const runs = [nested("cross/a", "cross/b", "6s"), nested("cross/b", "cross/a", "60s")];
    await until("both hold", async () => {
      const views = await Promise.all(
        ["cross/a", "cross/b"].map((key) => scene.client.inspect(key)),
      );
      return views.every(({ holds }) => holds.length === 1);
    });
    await writeFile(join(scene.cluster.directory, "both"), "");
    const results = await Promise.all(runs);
    expect(results.map(({ stdout }) => stdout)).toEqual(["124\n", "in\n0\n"]);
    expect(results.map(({ stderr }) => stderr).join("")).toMatch(
      /holdfast: this wait may never end: those ahead for cross\/[ab] wait for cross\/[ab], which the run around this one holds until its command ends\n/,
    );
  });

  test("gets its arguments as they were given, no shell in between", async () => {
    const script = "process.stdout.write(JSON.stringify(process.argv.slice(1)))";
    const args = ["$HOME", "a b", "", "*", "-n", "--", "é\n"];
    const { stdout } = await run(["argv", "--", process.execPath, "-e", script, "--", ...args]);
    expect(JSON.parse(stdout)).toEqual(args);
  });

  test("reads standard input and writes standard output and error, byte by byte", async () => {
    const input = randomBytes(3 << 20);
    const [copied, error] = await Promise.all([
      run(["pipe/1", "--", "cat"], { input }),
      run(["pipe/2", "-c", "echo out; echo err >&2"]),
    ]);
    expect(copied.code).toBe(0);
    expect(copied.stdoutBytes.equals(input)).toBe(true);
    expect([error.stdout, error.stderr]).toEqual(["out\n", "err\n"]);
  });

  test("is gone before the lock is, and the lock is gone when the run is", async () => {
    const results = await Promise.all(
      Array.from({ length: 6 }, (_, i) =>
        // A file that only one may see: a run that finds it there was let in too early.
        run(["gone", "-c", `set -C; echo ${i} > inside && rm inside`], {
          cwd: scene.cluster.directory,
        }),
      ),
    );
    expect(results.map(({ code, stderr }) => [code, stderr])).toEqual(results.map(() => [0, ""]));
    expect((await scene.client.inspect("gone")).holds).toEqual([]);
  });
});

test("without a cluster the exit code is 4, after a word while it is looked for", async () => {
  const { code, stdout, stderr } = await withoutCluster;
  expect([code, stdout]).toEqual([4, ""]);
  expect(stderr).toMatch(/^holdfast: no node answers [^\n]+\nholdfast: [^\n]+ \(UNAVAILABLE\)\n$/);
});

test("without a cluster what cannot be a key is wrong usage all the same", async () => {
  const nowhere = ["--endpoints", "ws://127.0.0.1:1", "--connect-timeout", "60s"];
  const { code, stderr } = await run(["~reserved", ...nowhere, "--", "true"]);
  expect([code, oneLine(stderr)]).toEqual([2, expect.stringContaining("reserved")]);
});

test("arguments and variables that are not UTF-8 reach the command unchanged", async () => {
  const word = "$(printf 'caf\\351')";
  const inner = `"${process.execPath}" "${COMMAND}" run bytes/b --`;
  const line = `PLACE=${word} ${inner} sh -c 'printf "%s %s" "$1" "$PLACE"' sh ${word}`;
  const { code, stdoutBytes } = await run(["bytes/a", "-c", line]);
  expect([code, stdoutBytes.toString("latin1")]).toEqual([0, "caf\u00e9 caf\u00e9"]);
  const refused = await run(["bytes/a", "-c", `${inner.replace("bytes/b", word)} true; echo $?`]);
  expect([refused.stdoutBytes.toString(), oneLine(refused.stderr)]).toEqual([
    "2\n",
    expect.stringContaining("is not valid UTF-8"),
  ]);
});
