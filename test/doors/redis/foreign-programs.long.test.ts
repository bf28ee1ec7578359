/**
 * Programs from outside this project, at the doors of three nodes: redsync, which counts servers as
 * Redlock does and takes by plain SET with NX, and the health check of HAProxy. Go gets its modules
 * from its proxy.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { findCommand } from "../../../lab/find-command.js";
import { freePorts } from "../../../lab/free-ports.js";
import { DoorWorld, RespClient } from "./world/door-world.js";
import { compileGo } from "./world/foreign-program.js";

/** Its modules are fetched and compiled first. */
const GO_TIMEOUT_MS = 500_000;

const endings: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end();
});

async function openNodes(isRedlock: boolean): Promise<readonly DoorWorld[]> {
  const worlds = await DoorWorld.openCluster(3, { isRedlock });
  endings.push(...worlds.map((world) => () => world[Symbol.asyncDispose]()));
  return worlds;
}

function addressesOf(worlds: readonly DoorWorld[]): readonly string[] {
  return worlds.map(({ door }) => `127.0.0.1:${door.port}`);
}

function temporaryDirectory(name: string): string {
  const directory = mkdtempSync(join(tmpdir(), `holdfast-${name}-`));
  endings.push(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

test(
  "redsync over three nodes gets its locks with --redis-redlock, and hears why not without",
  async (context) => {
    const redsync = await compileGo(
      join(import.meta.dirname, "redsync"),
      temporaryDirectory("redsync"),
    );
    if (redsync === undefined) return context.skip("go is not installed");
    const confirming = await openNodes(true);
    const round = ["other: true", "extended: true <nil>", "released: true <nil>"];
    expect(await redsync.run(...addressesOf(confirming))).toEqual(
      Array.from({ length: 6 }, () => round).flat(),
    );
    const plain = await openNodes(false);
    const [told] = await redsync.run(...addressesOf(plain));
    expect(told).toMatch(/^lock: lock already taken/);
    expect(plain.flatMap(({ log }) => log).join("\n")).toMatch(/Redlock over one cluster/);
  },
  GO_TIMEOUT_MS,
);

test("HAProxy finds the door of a node healthy by its usual check, and sends clients there", async (context) => {
  const haproxy = findCommand("haproxy", ["/usr/sbin"]);
  if (haproxy === undefined) return context.skip("haproxy is not installed");
  const [sound, unable] = (await openNodes(false)) as [DoorWorld, DoorWorld];
  unable.node.isServing = false;
  const [port = 0] = await freePorts(1);
  const file = join(temporaryDirectory("haproxy"), "haproxy.cfg");
  writeFileSync(file, configuration(port, [unable.door.port, sound.door.port]));
  const child: ChildProcess = spawn(haproxy, ["-db", "-f", file], { stdio: "ignore" });
  endings.push(() => child.kill("SIGKILL"));
  const nodeOf = async (): Promise<string> => {
    try {
      const client = await RespClient.open(port);
      const info = await client.call("INFO", "server");
      client.close();
      return /holdfast_node:(\d+)/.exec(info)?.[1] ?? "none";
    } catch {
      return "none";
    }
  };
  // It takes turns, and takes servers for healthy until it has checked them.
  const nextTen = async (): Promise<string> => {
    const found: string[] = [];
    for (let i = 0; i < 10; i++) found.push(await nodeOf());
    return found.join(" ");
  };
  const always = Array.from({ length: 10 }, () => String(sound.node.id)).join(" ");
  await expect.poll(nextTen, { timeout: 30_000, interval: 100 }).toBe(always);
  unable.node.isServing = true;
  await expect.poll(nextTen, { timeout: 30_000, interval: 100 }).toMatch(/1 2 1|2 1 2/);
}, 60_000);

function configuration(port: number, servers: readonly number[]): string {
  return `
defaults
  mode tcp
  timeout connect 2s
  timeout client 10s
  timeout server 10s
frontend redis
  bind 127.0.0.1:${port}
  default_backend nodes
backend nodes
  option tcp-check
  tcp-check connect
  tcp-check send PING\\r\\n
  tcp-check expect string +PONG
  tcp-check send info\\ replication\\r\\n
  tcp-check expect string role:master
  tcp-check send QUIT\\r\\n
  tcp-check expect string +OK
${servers.map((one) => `  server s${one} 127.0.0.1:${one} check inter 200ms fall 1 rise 1 init-addr none\n`).join("")}`;
}
