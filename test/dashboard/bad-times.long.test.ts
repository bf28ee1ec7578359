/**
 * The page when things are bad: no majority, a node that is gone or far away, a closed cluster whose
 * nodes hear each other alone, full disks, names as long as they can be. Real nodes, a real browser.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { connect as connectSocket, createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { connect, connectAdmin } from "../../src/index.js";
import { findChromium, launchChromium } from "../browser/pages.js";
import { type ClusterProcess, startCluster } from "../e2e/world/cluster-process.js";
import { canMount, fillVolume, mountVolume, unmountVolume } from "../e2e/world/volume.js";
import { axeProblems, openDashboard, type PageLook } from "./opened-page.js";

const WAIT = { timeout: 30_000 };
const LOOKS: readonly PageLook[] = [
  { theme: "light", width: 1_280 },
  { theme: "dark", width: 390 },
];
const VOLUME_MEBIBYTES = 64;
/** Notes every sentence that the page says about its connection, also one that is soon gone. */
const NOTES_NOTICES = `{
  globalThis.notices = [];
  new MutationObserver(() => {
    const text = document.querySelector('section[aria-label="Connection"]')?.textContent;
    if (text !== undefined && globalThis.notices.at(-1) !== text) globalThis.notices.push(text);
  }).observe(document, { subtree: true, childList: true, characterData: true });
}`;

const executable = findChromium();
const CAN_MOUNT = executable !== undefined && (await canMount());

describe.skipIf(executable === undefined)("the page", () => {
  let browser: Browser;
  const endings: (() => unknown)[] = [];

  beforeAll(async () => {
    browser = await launchChromium(executable ?? "");
  });
  afterEach(async () => {
    for (const end of endings.splice(0).reverse()) await end();
  });
  afterAll(() => browser?.close());

  async function started(options: Parameters<typeof startCluster>[0] = {}) {
    const cluster = await startCluster(options);
    endings.push(() => cluster.stop());
    return cluster;
  }

  async function opened(endpoint: string, hash = "#/cluster", look: PageLook = {}): Promise<Page> {
    const { page } = await openDashboard(browser, endpoint, hash, look);
    endings.push(() => page.close());
    return page;
  }

  async function shown(page: Page, text: string | RegExp): Promise<void> {
    try {
      await page.getByText(text).first().waitFor(WAIT);
    } catch (cause) {
      const instead = await page.innerText("body").catch(String);
      throw new Error(`${text} is not shown, but: ${instead}`, { cause });
    }
  }

  const rowOf = (page: Page, name: string) => page.locator("tbody tr", { hasText: name }).first();
  const sideways = (page: Page): Promise<number> =>
    page.evaluate("document.documentElement.scrollWidth - innerWidth");

  /** In both themes and widths; axe finds nothing, and nothing is wider than the window. */
  async function eachLook(endpoint: string, look: (page: Page) => Promise<void>): Promise<void> {
    for (const each of LOOKS) {
      const page = await opened(endpoint, "#/cluster", each);
      await look(page);
      expect(await axeProblems(page)).toEqual([]);
      expect(await sideways(page)).toBeLessThanOrEqual(0);
    }
  }

  test("of the last node that lives shows what it knows, and that nobody leads", async () => {
    const cluster = await started();
    const alive = cluster.node(3);
    await Promise.all([cluster.node(1).kill(), cluster.node(2).kill()]);
    await eachLook(alive.endpoint, async (page) => {
      await shown(page, /has no leader, so it grants nothing: 1 of 3 voters answers, and 2 must/);
      await shown(page, /Nobody leads the cluster, as far as node 3 knows/);
      for (const gone of ["Node 1", "Node 2"]) {
        await rowOf(page, gone)
          .getByText(/unreachable, last heard .+ ago/)
          .waitFor(WAIT);
        const cells = await rowOf(page, gone).locator("td").allInnerTexts();
        expect(cells.slice(1, 5), gone).toEqual(["-", "-", "-", "-"]);
      }
      await rowOf(page, "Node 3").getByText("no leader").waitFor(WAIT);
    });
  });

  test("leaves a node whose connection is gone at once, and says what it does", async () => {
    const cluster = await started();
    const page = await opened(cluster.node(1).endpoint);
    await shown(page, "All is well: 3 nodes serve");
    await page.evaluate(NOTES_NOTICES);
    await cluster.node(1).kill();
    await shown(page, /connected to node [23]/);
    const notices = (await page.evaluate("globalThis.notices")) as string[];
    expect(notices[0]).toMatch(/^The connection to node 1 is gone\. Trying node [23] …/);
    await rowOf(page, "Node 1")
      .getByText(/unreachable/)
      .waitFor(WAIT);
  });

  test("shows a node that is a round trip of two seconds away", async () => {
    const cluster = await started({ nodes: 1 });
    const proxy = await farAway(Number(new URL(cluster.node(1).endpoint).port), 1_000);
    endings.push(() => proxy.close());
    const { port } = proxy.address() as { port: number };
    const page = await opened(`ws://127.0.0.1:${port}`);
    await page.getByText("All is well: the only node serves").first().waitFor({ timeout: 60_000 });
    expect(await page.getByRole("region", { name: "Connection" }).count()).toBe(0);
  });

  test("of a closed cluster hears of all nodes by the one that lets it in", async () => {
    // Names that this browser cannot resolve, as in many a cluster.
    const cluster = await started({
      argumentsOf: (id) => (id === 1 ? [] : ["--advertise", `ws://node-${id}.invalid:7411`]),
    });
    const { endpoint } = cluster.node(1);
    const token = await closed(endpoint);
    await eachLook(endpoint, async (page) => {
      await page.getByLabel("Access token").fill(token);
      await page.getByRole("button", { name: "Sign in" }).click();
      await shown(page, "All is well: 3 nodes serve");
      for (const id of [2, 3]) {
        await rowOf(page, `Node ${id}`).getByText("answers").waitFor(WAIT);
        const [, , role, term] = await rowOf(page, `Node ${id}`).locator("th, td").allInnerTexts();
        expect(["leader", "follower"]).toContain(role);
        expect(Number(term)).toBeGreaterThan(0);
      }
    });
  });

  /** Resolves to the token of one who may observe everything. */
  async function closed(endpoint: string): Promise<string> {
    await using admin = await connectAdmin({ endpoints: [endpoint], followLeader: false });
    await admin.access.addIdentity("boss");
    await admin.access.grant("boss", "admin", { prefix: "" });
    await admin.access.createToken("boss");
    await admin.access.addIdentity("viewer");
    await admin.access.grant("viewer", "observe", { prefix: "" });
    const { token } = await admin.access.createToken("viewer");
    await admin.access.revoke("anonymous", { prefix: "" });
    return token;
  }

  test("leaves room for the buttons next to names as long as they can be", async () => {
    const cluster = await started({ nodes: 1 });
    const { endpoint } = cluster.node(1);
    const name = "n".repeat(120);
    await using client = await connect({ endpoints: [endpoint], name });
    await using _lock = await client.acquire("k".repeat(120));
    for (const hash of ["#/sessions", "#/locks", `#/locks/${"k".repeat(120)}`]) {
      const page = await opened(endpoint, hash);
      await page.getByTitle(name).first().waitFor(WAIT);
      expect(await sideways(page)).toBeLessThanOrEqual(0);
      for (const frame of await page.locator(".table-frame").all()) {
        expect(await frame.evaluate((each) => each.scrollWidth - each.clientWidth)).toBe(0);
      }
    }
  });

  test.runIf(CAN_MOUNT)("says that the disks are full, and whose", async () => {
    const directory = await mkdtemp(join(tmpdir(), "holdfast-full-"));
    endings.push(() => rm(directory, { recursive: true, force: true }));
    await mountVolume(directory, VOLUME_MEBIBYTES);
    endings.push(() => unmountVolume(directory));
    const cluster = await started({ directory });
    await fillDisks(cluster, directory);
    await eachLook(cluster.node(1).endpoint, async (page) => {
      await shown(page, /full: the cluster grants nothing until there is room/);
      await rowOf(page, "Node 1").getByText("disk full").waitFor(WAIT);
    });
  });

  /** Fills the volume, and has the log grow until it finds that out. */
  async function fillDisks(cluster: ClusterProcess, directory: string): Promise<void> {
    await fillVolume(directory);
    const admins = await Promise.all(
      cluster.endpoints.map((each) => connectAdmin({ endpoints: [each], followLeader: false })),
    );
    await using client = await connect({ endpoints: cluster.endpoints, ttlMs: 60_000 });
    const over = new AbortController();
    const load = Array.from({ length: 64 }, async (_, at) => {
      while (!over.signal.aborted) {
        await client
          .using(`full/${at}`, { value: "v".repeat(1_000), signal: over.signal }, () => undefined)
          .catch(() => undefined);
      }
    });
    const areFull = async (): Promise<boolean> => {
      const views = await Promise.all(admins.map((admin) => admin.vitals()));
      return views.filter(({ isDiskFull }) => isDiskFull).length > 1;
    };
    while (!(await areFull())) await new Promise(setImmediate);
    over.abort();
    await Promise.all([...load, ...admins.map((admin) => admin.close())]);
  }
});

/** A proxy before a port, which delivers everything later by `delayMs` in each direction. */
async function farAway(port: number, delayMs: number): Promise<Server> {
  const server = createServer((near) => {
    // The handshake of TCP is a round trip too.
    near.pause();
    setTimeout(() => {
      const far = connectSocket(port, "127.0.0.1");
      for (const [from, to] of [
        [near, far],
        [far, near],
      ] as const) {
        from.on("data", (bytes) => setTimeout(() => to.write(bytes), delayMs));
        from.on("error", () => to.destroy());
        from.on("close", () => setTimeout(() => to.destroy(), delayMs));
      }
      near.resume();
    }, 2 * delayMs);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return server;
}
