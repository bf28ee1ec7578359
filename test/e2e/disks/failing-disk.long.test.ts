/**
 * A node that starts on a full disk waits for space, shows that it waits, and continues by itself.
 * A node whose disk fails ends and says that it was the disk. Real processes: a file system of
 * limited size, and system calls that fail under `strace`.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { endWithProcess } from "../../../lab/end-with-process.js";
import { freePorts } from "../../../lab/free-ports.js";
import { connect } from "../../../src/index.js";
import { COMMAND } from "../world/command-line.js";
import { NodeHandle } from "../world/node-handle.js";
import { until } from "../world/process-life.js";
import { canTrace, traceDisk } from "../world/traced-disk.js";
import { canMount, fillVolume, mountVolume, unmountVolume } from "../world/volume.js";

const VOLUME_MEBIBYTES = 64;

const endings: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end();
});

async function temporaryDirectory(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), "holdfast-disk-"));
  endings.push(() => rm(path, { recursive: true, force: true }));
  return path;
}

const CAN_MOUNT = await canMount();
const CAN_TRACE = await canTrace();

interface Place {
  readonly node: NodeHandle;
  readonly directory: string;
  readonly words: readonly string[];
}

async function placeIn(directory: string): Promise<Place> {
  const [client, peer] = await freePorts(2);
  const words = [
    ...["--id", "1", "--data", join(directory, "n1"), "--listen", `127.0.0.1:${client}`],
    ...["--initial-cluster", `1=127.0.0.1:${peer}`, "--stop-on-stdin-end", "--audit"],
  ];
  const node = new NodeHandle(1, `ws://127.0.0.1:${client}`, words);
  endings.push(() => node.stop());
  return { node, directory, words };
}

async function page(node: NodeHandle, path: string): Promise<string> {
  const response = await fetch(`${node.endpoint.replace(/^ws/, "http")}${path}`);
  return `${response.status} ${await response.text()}`;
}

async function takeLock(node: NodeHandle): Promise<void> {
  const client = await connect({ endpoints: [node.endpoint], ttlMs: 120_000 });
  const lock = await client.acquire("a");
  await lock.release();
  await client.close();
}

describe.skipIf(!CAN_MOUNT)("a node that starts on a full disk", () => {
  async function volume(): Promise<string> {
    const directory = await temporaryDirectory();
    await mountVolume(directory, VOLUME_MEBIBYTES);
    endings.push(() => unmountVolume(directory));
    return directory;
  }

  async function demandWaiting(node: NodeHandle): Promise<void> {
    expect(await page(node, "/livez")).toBe("200 ok\n");
    expect(await page(node, "/readyz")).toBe("503 waiting for room on the disk\n");
    expect(await node.status()).toMatchObject({ id: 1, role: "starting", isDiskFull: true });
    expect(await page(node, "/metrics")).toContain("holdfast_waiting_for_room 1");
    expect(node.stderr.match(/waiting for room on the disk/g)).toHaveLength(1);
  }

  test("waits for room, says so, and serves when there is room, with fresh data", async () => {
    const { node, directory } = await placeIn(await volume());
    const makeRoom = await fillVolume(directory);
    await node.start();
    await demandWaiting(node);
    await makeRoom();
    await until("it serves", async () =>
      (await page(node, "/readyz").catch(() => "")).startsWith("200 ok\n"),
    );
    await takeLock(node);
  });

  test("waits with the data it has, and ends at once when it is told to", async () => {
    const { node, directory } = await placeIn(await volume());
    await node.start();
    await takeLock(node);
    await node.kill();
    const makeRoom = await fillVolume(directory);
    await node.start();
    await demandWaiting(node);
    await node.kill("SIGTERM");
    expect(node.exitCode).toBe(0);
    await makeRoom();
    await node.start();
    await takeLock(node);
  });
});

describe.skipIf(!CAN_TRACE)("a node whose disk fails under its store", () => {
  test("ends and says that it was the disk, not that its data are corrupt", async () => {
    const { node, directory } = await placeIn(await temporaryDirectory());
    await node.start();
    await takeLock(node);
    const store = join(directory, "n1", "store");
    const journal = (await readdir(store)).find((name) => name.endsWith(".log")) as string;
    endings.push(traceDisk(node.pid, [join(store, journal)], "fdatasync,fsync:error=EIO"));
    // Each one is written to the audit, as soon as the tracer is there for the next one to fail.
    await until("the node ends", async () => {
      await Promise.race([takeLock(node).catch(() => undefined), node.exited]);
      return !node.isRunning;
    });
    expect(node.exitCode).toBe(1);
    expect(node.stderr).toMatch(/^holdfast: node 1 ended: the disk failed: EIO: store: .*$/m);
    expect(node.stderr).not.toContain("corrupt");
  });

  test("does not start, and says that it is the disk, when the store cannot be read", async () => {
    const { node, directory, words } = await placeIn(await temporaryDirectory());
    await node.start();
    await node.kill("SIGTERM");
    const traced = spawn(
      "strace",
      [
        ...["-f", "-qq", "-o", "/dev/null", "-P", join(directory, "n1", "store", "CURRENT")],
        ...["-e", "inject=read,pread64:error=EIO", process.execPath, COMMAND, "server", ...words],
      ],
      { stdio: ["pipe", "ignore", "pipe"] },
    );
    endWithProcess(traced);
    let said = "";
    traced.stderr.setEncoding("utf8").on("data", (text: string) => {
      said += text;
    });
    const [code] = (await once(traced, "close")) as [number | null];
    expect(code).toBe(1);
    expect(said).toMatch(/cannot use the data directory .*: the disk failed: EIO: store: /);
    expect(said).not.toContain("corrupt");
  });
});
