import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { PeerProcess } from "../../bench/peers/peer-process.js";

/** Leaves a sign where it runs, and goes on until it is told to end. */
const SERVER = 'fs.writeFileSync("ready", ""); setInterval(() => {}, 1000);';
/** As that, but does not listen to a polite request. */
const STUBBORN = `process.on("SIGTERM", () => {}); ${SERVER}`;

let parent = "";

beforeEach(() => {
  parent = mkdtempSync(join(tmpdir(), "holdfast-test-"));
});

afterEach(() => rmSync(parent, { recursive: true, force: true }));

function start(code: string): Promise<PeerProcess> {
  return PeerProcess.start("server", {
    command: process.execPath,
    arguments: ["-e", code],
    directory: join(parent, "1"),
  });
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise((resolve) => setTimeout(resolve, 5));
}

test("a server is told to end, or killed, and its directory is gone with it", async () => {
  for (const code of [SERVER, STUBBORN]) {
    const server = await start(code);
    await until(() => existsSync(join(parent, "1", "ready")));
    expect(isAlive(server.pid)).toBe(true);
    await server.stop();
    expect(isAlive(server.pid)).toBe(false);
    expect(existsSync(join(parent, "1"))).toBe(false);
  }
});

test("a server that ends by itself is reported, with what it said last", async () => {
  const server = await start('console.error("no room on disk"); process.exit(3);');
  await expect(server.death).rejects.toThrow(/server ended by itself\nno room on disk/);
});

test("a program that is not there is reported", async () => {
  const missing = PeerProcess.start("server", {
    command: join(parent, "nothing"),
    arguments: [],
    directory: join(parent, "1"),
  });
  await expect(missing).rejects.toThrow(/server could not be started/);
});

test("a server does not outlive the process that started it, even a killed one", async () => {
  const module = new URL("../../dist/bench/peers/peer-process.js", import.meta.url).href;
  const options = {
    command: process.execPath,
    arguments: ["-e", SERVER],
    directory: join(parent, "1"),
  };
  const code =
    `const { PeerProcess } = await import(${JSON.stringify(module)});` +
    `console.log((await PeerProcess.start("server", ${JSON.stringify(options)})).pid);`;
  const starter = spawn(process.execPath, ["--input-type=module", "-e", code], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [line] = (await once(starter.stdout, "data")) as [Buffer];
  const pid = Number(line.toString());
  expect(isAlive(pid)).toBe(true);
  starter.kill("SIGKILL");
  await once(starter, "exit");
  while (isAlive(pid) || existsSync(parent))
    await new Promise((resolve) => setTimeout(resolve, 10));
});
