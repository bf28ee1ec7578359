/**
 * Saving a cluster of real processes to a file: what is in the file and who may read it, what is said
 * when it cannot be written, and that nothing is left of one that was not. A backup that is not whole
 * must not pass for one. Making a cluster of it is in `snapshot-restore.long.test.ts`.
 */
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { chmod, mkdir, open, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { endAllStarted, endWithProcess } from "../../../lab/end-with-process.js";
import { freePorts } from "../../../lab/free-ports.js";
import { ERROR_NUMBERS } from "../../../src/errors/index.js";
import { connect, connectAdmin } from "../../../src/index.js";
import {
  type Attached,
  MESSAGE,
  OP,
  type OpenCommand,
  type ResumeCommand,
  STATUS,
} from "../../../src/protocol/index.js";
import { frameOf } from "../../net/gateway/client.js";
import { startCli } from "../world/cluster-process.js";
import { bareEnvironment, COMMAND } from "../world/command-line.js";
import { expectFailure } from "../world/command-result.js";
import { expectDocumented } from "../world/documented-json.js";
import { until } from "../world/process-life.js";
import { RawConnection } from "../world/raw-connection.js";
import { NOBODY, SnapshotScene, TTL_MS } from "../world/snapshot-scene.js";

const scene = new SnapshotScene();
const { ask, file, restore } = scene;
const bad = (): string => join(scene.old.directory, "bad.hfs");
/** What a node answers to a client that asks for a session with these words. */
async function attached(command: OpenCommand | ResumeCommand): Promise<Attached> {
  const connection = await RawConnection.toClientPort(scene.old.endpoints[0] ?? "");
  connection.send(frameOf([command]));
  const answer = await connection.heard(({ kind }) => kind === MESSAGE.attached);
  connection.close();
  return answer as Attached;
}

beforeAll(() => scene.start());

afterAll(async () => {
  endAllStarted();
  await scene.stop();
});

describe("saving", () => {
  test("writes a file for its owner alone, and says what is in it", async () => {
    const saved = await ask(["snapshot", "save", file(), "--json"]);
    expect([saved.code, saved.stderr]).toEqual([0, ""]);
    const document = JSON.parse(saved.stdout) as { bytes: number; index: number };
    expectDocumented(document, "snapshot save");
    const { mode, size } = await stat(file());
    expect([mode & 0o777, size]).toEqual([0o600, document.bytes]);
    expect(await readdir(scene.place)).toEqual(["locks.hfs"]);
    const inspected = await ask(["snapshot", "inspect", file(), "--json"]);
    const contents: unknown = JSON.parse(inspected.stdout);
    expectDocumented(contents, "snapshot inspect");
    expect(contents).toMatchObject({
      ...{ index: document.index, bytes: document.bytes, isIntact: true, longestLeaseMs: TTL_MS },
      ...{ holds: 1, waiters: 0 },
      settings: { waitersMax: 77 },
    });
  });
  test("shows people the same in words", async () => {
    const { code, stdout } = await ask(["snapshot", "inspect", file()]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^cluster +[0-9a-f]{32}$/m);
    expect(stdout).toMatch(/^locks in use +\d+; holds 1, waiters 0, cooldowns 0$/m);
    expect(stdout).toMatch(/^settings +waitersMax 77$/m);
    expect(stdout).toMatch(/^digest +ok$/m);
  });
  test("replaces nothing unless it is told to", async () => {
    const before = await readFile(file());
    expectFailure(await ask(["snapshot", "save", file()]), 1, /exists: --force replaces it/);
    expect((await readFile(file())).equals(before)).toBe(true);
    const forced = await ask(["snapshot", "save", file(), "--force"]);
    expect([forced.code, forced.stdout]).toEqual([0, expect.stringContaining("of cluster")]);
    expect(await readdir(scene.place)).toEqual(["locks.hfs"]);
  });
  test("goes through pipes, both ways", async () => {
    const { code, stdoutBytes, stderr } = await ask(["snapshot", "save", "-"]);
    expect([code, stderr]).toEqual([0, expect.stringMatching(/^holdfast: standard output: /)]);
    const { stdout } = await ask(["snapshot", "inspect", "-", "--json"], { input: stdoutBytes });
    expect(JSON.parse(stdout)).toMatchObject({ file: "-", bytes: stdoutBytes.length });
    expectFailure(await ask(["snapshot", "save", "-", "--json"]), 2, /exclude each other/);
  });
  test("from a program gives the same", async () => {
    await using admin = await connectAdmin({ endpoints: scene.old.endpoints });
    const snapshot = await admin.snapshot();
    let bytes = 0;
    for await (const chunk of snapshot.chunks()) bytes += chunk.length;
    expect([snapshot.clusterId, bytes]).toEqual([admin.clusterId, snapshot.byteLength]);
  });
  test("gives nobody a session or a hold: no secret is in the file, and nothing in it serves as one", async () => {
    const { endpoints } = scene.old;
    const nonce = randomBytes(16).toString("hex");
    const opened = {
      op: OP.open,
      nonce,
      attempt: 1,
      ttlMs: 60_000,
      name: "",
      metadata: "",
    } as const;
    const { session } = await attached(opened);
    const handed = await (await scene.client.acquire("left")).handOver();
    const secret = handed.holds[0]?.secret ?? "";
    const saved = await ask(["snapshot", "save", "-"]);
    const text = saved.stdoutBytes.toString("latin1").toLowerCase();
    for (const hex of [nonce, secret]) {
      expect(hex).toHaveLength(32);
      expect(text).not.toContain(hex);
      expect(saved.stdoutBytes.includes(Buffer.from(hex, "hex"))).toBe(false);
    }
    const guesses = new Set(text.match(/[0-9a-f]{32}/g));
    expect(guesses.size).toBeGreaterThan(2);
    const resume = { op: OP.resume, session, nonce, attempt: 2 } as const;
    for (const guess of guesses) {
      const { status } = await attached({ ...resume, nonce: guess });
      expect(status).toBe(ERROR_NUMBERS.FORBIDDEN);
      const guessed = { ...handed, holds: [{ keys: ["left"], secret: guess, task: 1 }] };
      expect((await scene.client.adopt(guessed)).locks).toEqual([]);
    }
    expect((await attached(resume)).status).toBe(STATUS.ok);
    await using heir = await connect({ endpoints });
    expect((await heir.adopt(handed)).locks.map(({ key }) => key)).toEqual(["left"]);
  });
  test("says in one line what is in the way, and leaves nothing behind", async () => {
    const [port] = await freePorts(1);
    const nowhere = { HOLDFAST_ENDPOINTS: `127.0.0.1:${port}`, HOLDFAST_CONNECT_TIMEOUT: "200ms" };
    const other = file("other.hfs");
    expectFailure(await ask(["snapshot", "save", other], { env: nowhere }), 4, /UNAVAILABLE/);
    expectFailure(
      await ask(["snapshot", "save", file("no/such/place")]),
      1,
      /there is no such directory/,
    );
    await mkdir(file("directory"));
    const replacing = await ask(["snapshot", "save", file("directory"), "--force"]);
    expectFailure(replacing, 1, /is not a regular file/);
    expectFailure(await ask(["snapshot", "save"]), 2, /missing required argument 'file'/);
    expectFailure(await ask(["snapshot", "sav", other]), 2, /Did you mean save\?/);
    await chmod(file("directory"), 0o555);
    const unprivileged = process.getuid?.() === 0 ? { uid: NOBODY } : {};
    const denied = await ask(["snapshot", "save", file("directory/x")], unprivileged);
    expectFailure(denied, 1, /permission denied/);
    await rm(file("directory"), { recursive: true });
    expect(await readdir(scene.place)).toEqual(["locks.hfs"]);
  });
  test.skipIf(!existsSync("/dev/full"))("says when the disk is full", async () => {
    const full = await open("/dev/full", "w");
    const child = spawn(process.execPath, [COMMAND, "snapshot", "save", "-"], {
      stdio: ["ignore", full.fd, "pipe"],
      env: { ...bareEnvironment(), HOLDFAST_ENDPOINTS: scene.old.endpoints.join(",") },
    });
    endWithProcess(child);
    let stderr = "";
    child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      stderr += text;
    });
    const [code] = await once(child, "close");
    await full.close();
    expect([code, stderr]).toEqual([1, expect.stringMatching(/^holdfast: [^\n]*ENOSPC[^\n]*\n$/)]);
  });
  test("is given up by Ctrl-C without a trace", async () => {
    const paused = await scene.old.leader();
    for (const node of scene.old.nodes) node.pause();
    const saving = startCli(["snapshot", "save", file("late.hfs")], {
      env: { HOLDFAST_ENDPOINTS: paused.endpoint, HOLDFAST_CONNECT_TIMEOUT: "1m" },
    });
    await until("it listens", () => saving.child.pid !== undefined);
    await until("the signal is obeyed", () => {
      saving.child.kill("SIGINT");
      return saving.child.exitCode !== null || saving.child.signalCode !== null;
    });
    for (const node of scene.old.nodes) node.resume();
    const { code, signal } = await saving.result;
    expect(code ?? signal).toBe(code === null ? "SIGINT" : 130);
    expect(await readdir(scene.place)).toEqual(["locks.hfs"]);
    await scene.old.leader();
  });
});
describe("a file that is not whole", () => {
  test("is refused, by name, and nothing is made of it", async () => {
    const whole = await readFile(file());
    const altered = Buffer.from(whole);
    altered[whole.length - 50] = (altered[whole.length - 50] ?? 0) ^ 1;
    const later = Buffer.from(whole);
    later.writeUInt32LE(2, 16);
    const wrong: readonly (readonly [Buffer | string, RegExp])[] = [
      [whole.subarray(0, whole.length - 10), /bad\.hfs: the snapshot is cut short/],
      [altered, /bad\.hfs: the snapshot is damaged/],
      [later, /bad\.hfs: the snapshot is in format 2/],
      ["# notes\n", /bad\.hfs: this is not a snapshot of a Holdfast cluster/],
      ["", /bad\.hfs: this is not a snapshot/],
    ];
    for (const [content, reason] of wrong) {
      await writeFile(bad(), content);
      expectFailure(await ask(["snapshot", "inspect", bad()]), 1, reason);
      expectFailure(await restore(1, { from: bad() }), 1, reason);
    }
    await rm(bad());
    expectFailure(await ask(["snapshot", "inspect", bad()]), 1, /there is no such file/);
    expectFailure(await ask(["snapshot", "inspect", scene.place]), 1, /it is a directory/);
    expect(await readdir(scene.place)).toEqual(["locks.hfs"]);
  });
});
