/**
 * Signals that reach `holdfast run`: while it waits they end the wait, while the command runs they
 * are the command's. Whichever it was, the lock is free when the run has ended.
 */
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { constants } from "node:os";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ClusterScene } from "../../world/cluster-scene.js";
import { type RunningCli, startCli } from "../../world/command-line.js";
import { gone, until } from "../../world/process-life.js";

const scene = new ClusterScene();
beforeAll(() => scene.start());
afterAll(() => scene.stop());

/** Starts a run; its standard input stays open, so that no command ends because of that. */
function startRun(key: string, line: string): RunningCli {
  return scene.startHoldfast(["run", key, "-c", line], { keepInputOpen: true });
}

/** So that a shell ends its script, too. */
function diesBy(signal: NodeJS.Signals): { readonly code: null; readonly signal: NodeJS.Signals } {
  return { code: null, signal };
}

function endsWith(code: number): { readonly code: number; readonly signal: null } {
  return { code, signal: null };
}

async function expectFree(key: string): Promise<void> {
  expect(await scene.client.inspect(key)).toMatchObject({ holds: [], waiters: [] });
}

test.each([
  ["SIGTERM", diesBy("SIGTERM")],
  ["SIGINT", diesBy("SIGINT")],
  ["SIGHUP", diesBy("SIGHUP")],
  ["SIGUSR1", endsWith(128 + constants.signals.SIGUSR1)],
  ["SIGUSR2", endsWith(128 + constants.signals.SIGUSR2)],
] as const)(
  "%s while waiting ends the wait: %j, and the place in the queue is given up",
  async (signal, end) => {
    const key = `waiting/${signal}`;
    await using lock = await scene.client.acquire(key);
    const waiting = startRun(key, "echo ran");
    await until("the waiter", async () => (await scene.client.inspect(key)).waiters.length === 1);
    waiting.child.kill(signal);
    expect(await waiting.result).toMatchObject({ ...end, stdout: "", stderr: "" });
    const view = await scene.client.inspect(key);
    expect(view.holds.map(({ token }) => token)).toEqual([lock.token]);
    expect(view.waiters).toEqual([]);
  },
);

test("a signal while the cluster is looked for ends the run", async () => {
  // Takes connections and says nothing.
  const silent = createServer().listen(0, "127.0.0.1");
  await once(silent, "listening");
  const { port } = silent.address() as AddressInfo;
  const looking = startCli(["run", `--endpoints=127.0.0.1:${port}`, "key", "--", "true"]);
  await once(silent, "connection");
  looking.child.kill("SIGTERM");
  expect(await looking.result).toMatchObject({ ...diesBy("SIGTERM"), stderr: "" });
  silent.close();
});

test.each([
  ["SIGTERM", diesBy("SIGTERM")],
  ["SIGINT", diesBy("SIGINT")],
  ["SIGQUIT", endsWith(131)],
] as const)(
  "%s while holding goes to the command and ends both: %j, and the lock is free",
  async (signal, end) => {
    const key = `holding/${signal}`;
    // `exec`, and an answer of `cat` itself: between the start of a program and its exec, a shell
    // that was given -c catches SIGINT and forgets it (dash does so in one of three tries here).
    const holding = startRun(key, "ulimit -c 0; echo in $$; exec cat");
    await holding.printed("in ");
    const command = Number(holding.stdout.slice(3));
    holding.child.stdin?.write("ready\n");
    await holding.printed("ready\n");
    holding.child.kill(signal);
    expect(await holding.result).toMatchObject({ ...end, stderr: "" });
    await gone([command]);
    await expectFree(key);
  },
);

test("a signal that ends nothing reaches the command as often as it is sent", async () => {
  const counting = `let count = 0;
    process.on("SIGUSR2", () => process.stdout.write("got " + ++count + "\\n"));
    process.stdin.on("end", () => process.exit()).resume();
    process.stdout.write("in\\n");`;
  const words = ["run", "often", "--", process.execPath, "-e", counting];
  const holding = scene.startHoldfast(words, { keepInputOpen: true });
  await holding.printed("in\n");
  for (const count of [1, 2, 3]) {
    holding.child.kill("SIGUSR2");
    await holding.printed(`got ${count}\n`);
  }
  holding.child.stdin?.end();
  expect(await holding.result).toMatchObject({ code: 0, stderr: "" });
});

test("a signal reaches everything the command has started", async () => {
  const holding = startRun("group", "sh -c 'echo in $$; exec sleep 600' & wait");
  await holding.printed("in ");
  const grandchild = Number(holding.stdout.slice(3));
  holding.child.kill("SIGTERM");
  expect(await holding.result).toMatchObject(diesBy("SIGTERM"));
  await gone([grandchild]);
  await expectFree("group");
});

test("a command that handles the signal decides how the run ends, and keeps the lock until then", async () => {
  const line = "trap 'echo told; read answer; exit 7' TERM; echo in; while :; do sleep 0.02; done";
  const holding = startRun("handled", line);
  await holding.printed("in\n");
  holding.child.kill("SIGTERM");
  await holding.printed("told\n");
  expect((await scene.client.inspect("handled")).holds).toHaveLength(1);
  holding.child.stdin?.write("\n");
  expect(await holding.result).toMatchObject({ code: 7 });
  await expectFree("handled");
});
