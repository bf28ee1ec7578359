/**
 * `npm run docs:pictures`: starts a local cluster, has clients work on it for two minutes, and
 * photographs two views of its page for the README. Needs Chromium. Everybody in the pictures is
 * made up. What it starts ends with it.
 */
import { mkdir, mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { type Browser, chromium } from "playwright-core";
import { chromiumArguments, findChromium } from "../lab/find-chromium.js";
import { RandomStream } from "../lab/random-stream.js";
import { ServerProcess } from "../lab/server-process.js";
import { type Client, connect, HoldfastError } from "../src/index.js";

const pathOf = (relative: string): string => fileURLToPath(new URL(relative, import.meta.url));

const WIDTH = 1_280;
const PICTURE_BYTES_MAX = 150_000;
/** So long the clients work before the pictures, so that the charts have lines. */
const WORK_MS = 120_000;
const PICTURES = [
  { name: "locks", hash: "#/locks", theme: "light", height: 620 },
  { name: "cluster", hash: "#/cluster", theme: "dark", height: 680 },
] as const;

const random = new RandomStream(7);

/** Takes a lock of `keys` again and again, and keeps it for a while. */
async function work(
  client: Client,
  keys: readonly string[],
  holdMs: number,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    const key = keys[random.below(keys.length)] ?? "";
    try {
      await client.using(key, { waitMs: 10_000, signal }, () =>
        delay(random.between(0.5, 1.5) * holdMs),
      );
    } catch (error) {
      if (signal.aborted) return;
      if (!(error instanceof HoldfastError) || error.code !== "LOCK_TIMEOUT") throw error;
    }
    await delay(random.between(0, 1) * holdMs);
  }
}

interface LocalCluster {
  readonly endpoints: readonly string[];
  readonly process: ServerProcess;
}

function startCluster(directory: string): Promise<LocalCluster> {
  const command = [process.execPath, pathOf("../dist/bin/holdfast.js"), "cluster"];
  command.push("--data", directory, "--port", "0", "--peer-port", "0");
  command.push("--json", "--stop-on-stdin-end");
  return new Promise((resolve, reject) => {
    const cluster = new ServerProcess(
      { name: "the cluster", command },
      {
        onLine: (line, from) => {
          if (from === "stderr") return;
          const { endpoints } = JSON.parse(line) as { readonly endpoints: readonly string[] };
          resolve({ endpoints, process: cluster });
        },
        onExit: () => reject(new Error(`the cluster ended: ${cluster.lastWords}`)),
      },
    );
    cluster.start();
  });
}

/** Clients of a small shop. Resolves when all that stands still in the pictures is in place. */
async function openShop(endpoints: readonly string[], signal: AbortSignal): Promise<Client[]> {
  const clients: Client[] = [];
  const client = async (name: string): Promise<Client> => {
    const at = clients.length % endpoints.length;
    const rotated = [...endpoints.slice(at), ...endpoints.slice(0, at)];
    const one = await connect({ endpoints: rotated, name, followLeader: false });
    clients.push(one);
    return one;
  };
  const wait = (one: Client, key: string, mode: "exclusive" | "shared" = "exclusive"): void => {
    // It ends with the cluster.
    one.acquire(key, { mode, signal }).catch((error: unknown) => {
      if (!signal.aborted) throw error;
    });
  };
  const nightly = await client("scheduler-1");
  await nightly.acquire("jobs/nightly-report");
  wait(await client("scheduler-2"), "jobs/nightly-report");
  wait(await client("scheduler-3"), "jobs/nightly-report");
  for (const name of ["shop-1", "shop-2", "shop-3"]) {
    await (await client(name)).acquire("config/prices", { mode: "shared" });
  }
  wait(await client("price-import-1"), "config/prices");
  await (await client("mailer-1")).acquire("mail/outbox");
  await (await client("backup-1")).acquire("jobs/backup");
  for (let worker = 1; worker <= 7; worker += 1) {
    const keys = ["orders/1001", "orders/1002", "orders/1003", "orders/1004", "orders/1005"];
    void work(await client(`billing-${worker}`), keys, 500, signal);
  }
  for (let worker = 1; worker <= 4; worker += 1) {
    void work(await client(`stock-${worker}`), ["stock/shelf-17", "stock/shelf-18"], 250, signal);
  }
  return clients;
}

async function photograph(browser: Browser, endpoint: string, directory: string): Promise<void> {
  for (const { name, hash, theme, height } of PICTURES) {
    const page = await browser.newPage({
      colorScheme: theme,
      locale: "en-GB",
      viewport: { width: WIDTH, height },
      reducedMotion: "reduce",
    });
    await page.goto(`${endpoint.replace(/^ws/, "http")}/${hash}`, { waitUntil: "load" });
    await page.locator("table tbody tr").first().waitFor();
    // The page asks for its points each five seconds, and reads its lists each second.
    await delay(6_000);
    const path = join(directory, `${name}.png`);
    await page.screenshot({ path });
    await page.close();
    const { size } = await stat(path);
    console.log(`${path}: ${Math.round(size / 1_000)} kB`);
    if (size > PICTURE_BYTES_MAX) throw new Error(`${name}.png has more than 150 kB`);
  }
}

async function main(): Promise<void> {
  const executablePath = findChromium();
  if (executablePath === undefined) throw new Error("there is no Chromium on this machine");
  const pictures = pathOf("../docs/pictures");
  await mkdir(pictures, { recursive: true });
  const directory = await mkdtemp(join(tmpdir(), "holdfast-pictures-"));
  const end = new AbortController();
  const cluster = await startCluster(directory);
  const browser = await chromium.launch({ executablePath, args: chromiumArguments() });
  try {
    const clients = await openShop(cluster.endpoints, end.signal);
    await delay(WORK_MS);
    await photograph(browser, cluster.endpoints[0] ?? "", pictures);
    end.abort();
    await Promise.all(clients.map((client) => client.close()));
  } finally {
    await browser.close();
    await cluster.process.end("SIGTERM");
    await rm(directory, { recursive: true, force: true });
  }
}

await main();
