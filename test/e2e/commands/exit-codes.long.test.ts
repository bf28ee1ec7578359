/** Every exit code of the table, one by one, each by what it is for. */
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { EXIT } from "../../../bin/exit/exit-codes.js";
import { freePorts } from "../../../lab/free-ports.js";
import { startCluster } from "../world/cluster-process.js";
import { ClusterScene } from "../world/cluster-scene.js";
import { type CliResult, runCli } from "../world/command-line.js";
import { expectFailure } from "../world/command-result.js";

const scene = new ClusterScene({ nodes: 1 });
const ask = scene.holdfast;
const tested = new Set<number>();

beforeAll(() => scene.start());
afterAll(() => scene.stop());

function expectEnd(result: CliResult, code: number, reason: RegExp): void {
  tested.add(code);
  expectFailure(result, code, reason);
}

test("0: done", async () => {
  expect(await ask(["run", "code/0", "--", "true"])).toMatchObject({
    code: EXIT.done,
    stderr: "",
  });
  tested.add(EXIT.done);
});

test("1: failed, as a port that is taken", async () => {
  const port = new URL(scene.endpoints[0] ?? "").port;
  const args = ["cluster", "--nodes=1", `--port=${port}`, "--peer-port=0"];
  const data = `--data=${scene.cluster.directory}/another`;
  expectEnd(await ask([...args, data]), EXIT.failed, /port \d+ of node 1 is taken/);
});

test("2: wrong usage, of a command, a flag, a value, a variable", async () => {
  expectEnd(await ask(["statsu"]), EXIT.usage, /Did you mean status\?/);
  expectEnd(await ask(["watch", "--cuont", "1"]), EXIT.usage, /Did you mean --count\?/);
  expectEnd(await ask(["session", "edn", "1"]), EXIT.usage, /Did you mean end\?/);
  expectEnd(await ask(["run", "-w", "5", "k", "--", "true"]), EXIT.usage, /unit/);
  const env = { HOLDFAST_ENDPOINTS: "ftp://127.0.0.1" };
  expectEnd(await ask(["ls"], { env }), EXIT.usage, /^holdfast: HOLDFAST_ENDPOINTS/);
});

test("3: held by another, or what -E says instead", async () => {
  const lock = await scene.client.acquire("code/3");
  expectEnd(await ask(["run", "-n", "code/3", "--", "true"]), EXIT.held, /code\/3 is held by/);
  expectEnd(await ask(["run", "-n", "-E", "75", "code/3", "--", "true"]), 75, /code\/3 is held by/);
  await lock.release();
});

test("4: no cluster, for every command that needs one", async () => {
  const [port] = await freePorts(1);
  const nowhere = [`--endpoints=127.0.0.1:${port}`, "--connect-timeout=100ms"];
  const commands = [
    ["run", "k", "--", "true"],
    ["elect", "k", "v"],
    ["elect", "k", "--observe"],
    ["ls"],
    ["inspect", "k"],
    ["explain", "k"],
    ["history", "k"],
    ["watch", "k"],
    ["graph"],
    ["revoke", "k"],
    ["session", "ls"],
    ["session", "end", "1"],
    ["limit", "k", "1"],
    ["settings", "get"],
    ["member", "ls"],
    ["transfer"],
    ["bench"],
  ];
  for (const command of commands) {
    const separator = command.indexOf("--") < 0 ? command.length : command.indexOf("--");
    const args = [...command.slice(0, separator), ...nowhere, ...command.slice(separator)];
    expectEnd(await runCli(args), EXIT.noCluster, /UNAVAILABLE/);
  }
});

test("5: refused", async () => {
  expectEnd(await ask(["session", "end", "999999"]), EXIT.refused, /there is no session 999999/);
  expectEnd(
    await ask(["revoke", "--token", "1"]),
    EXIT.refused,
    /there is no hold with fencing token 1/,
  );
});

test("6: the lock was lost while the command ran", async () => {
  const held = scene.startHoldfast(["run", "-q", "code/6", "--", "sleep", "600"]);
  for await (const { type } of scene.client.watch("code/6")) if (type === "granted") break;
  await scene.client.revoke({ key: "code/6" }, { now: true });
  expect(await held.result).toMatchObject({ code: EXIT.lost, stdout: "", stderr: "" });
  tested.add(EXIT.lost);
});

test("70: what should not happen, in one line, with a stack only when asked for", async () => {
  const fault = `import os from "node:os";
    import { syncBuiltinESMExports } from "node:module";
    os.hostname = () => { throw new TypeError("a fault"); };
    syncBuiltinESMExports();`;
  const env = { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(fault)}` };
  expectEnd(await ask(["watch", "k"], { env }), EXIT.internal, /internal error: a fault/);
  const debugging = await ask(["watch", "k"], { env: { ...env, HOLDFAST_DEBUG: "1" } });
  expect(debugging.code).toBe(EXIT.internal);
  expect(debugging.stderr.split("\n").length).toBeGreaterThan(2);
});

test("124: not granted in time", async () => {
  const lock = await scene.client.acquire("code/124");
  const result = await ask(["run", "-w", "50ms", "code/124", "--", "true"]);
  expectEnd(result, EXIT.timedOut, /not granted within 50ms/);
  await lock.release();
});

test("125, 126, 127: cannot be started, cannot be executed, is not there; and it is released", async () => {
  // Three words that may be, and a line made of them that is longer than any argument.
  const words = Array.from({ length: 3 }, () => "x".repeat(60_000));
  const started = await ask(["run", "code/125", "-c", "--", ...words]);
  expectEnd(started, EXIT.notStarted, /cannot be started/);
  expectEnd(await ask(["run", "code/126", "--", "/"]), EXIT.notExecutable, /cannot be executed/);
  expectEnd(await ask(["run", "code/127", "--", "./none"]), EXIT.notFound, /not found/);
  for (const code of [125, 126, 127]) {
    expect((await scene.client.inspect(`code/${code}`)).holds).toEqual([]);
  }
});

test("7: an audit that is not in order", async () => {
  const cluster = await startCluster({ nodes: 1, serverArguments: ["--audit"] });
  try {
    await cluster.nodes[0]?.stop();
    const data = join(cluster.directory, "n1");
    const expected = ["--expect", `1:${"0".repeat(64)}`];
    const verified = await ask(["audit", "verify", "--data", data, ...expected]);
    expect(verified.code).toBe(EXIT.altered);
    tested.add(EXIT.altered);
  } finally {
    await cluster.stop();
  }
});

test("ended by signal n, of the command too: 128 + n for a shell; else the command's own code", async () => {
  const own = await ask(["run", "code/n", "--", "sh", "-c", "exit 77"]);
  const killed = await ask(["run", "code/n", "--", "sh", "-c", "kill -KILL $$"]);
  expect([own.code, killed.code]).toEqual([77, 137]);
  const watching = scene.startHoldfast(["watch", "code/n"]);
  await watching.noted("watching");
  watching.child.kill("SIGHUP");
  expect((await watching.result).signal).toBe("SIGHUP");
});

test("none was left out", () => {
  expect(Object.values(EXIT).filter((code) => !tested.has(code))).toEqual([]);
});
