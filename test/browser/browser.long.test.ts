/** The package in real browser pages, against a real cluster of three nodes. */
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { freePorts } from "../../lab/free-ports.js";
import { type ClusterProcess, startCluster } from "../e2e/world/cluster-process.js";
import { bundleForBrowser } from "./bundle.js";
import { findChromium, launchChromium, openPage, type PageGlobals, servePages } from "./pages.js";

describe("the bundle", () => {
  test("holds nothing of Node, and the transport of browsers", async () => {
    const { text, inputs } = await bundleForBrowser('export * from "holdfast";');
    expect(inputs).toContain("dist/src/client/transport/browser-platform.js");
    expect(inputs).not.toContain("dist/src/client/transport/node-platform.js");
    expect(text).not.toMatch(
      /AsyncLocalStorage|\bfrom\s*"node:|\brequire\(|\bprocess\.(?!versions)\w/,
    );
  });

  test("of the resource side is a few files of its own", async () => {
    const { inputs } = await bundleForBrowser('export * from "holdfast/fence";');
    const strangers = inputs.filter(
      (file) => !/^(page\.js|dist\/src\/(fence\/|errors))/.test(file),
    );
    expect(strangers).toEqual([]);
  });

  test("cannot be made of what is for Node", async () => {
    for (const program of ['import "node:fs"', 'import "fs"', 'import "ws"', 'import "level"']) {
      await expect(bundleForBrowser(program)).rejects.toThrow("which no browser has");
    }
  });
});

const executable = findChromium();

describe.skipIf(executable === undefined)("pages in Chromium", () => {
  const TTL_MS = 2_000;
  let cluster: ClusterProcess;
  let browser: Browser;
  let origin: string;
  let strangeOrigin: string;
  const servers: AsyncDisposable[] = [];
  const complaints: string[] = [];

  beforeAll(async () => {
    const [port = 0] = await freePorts(1);
    cluster = await startCluster({
      serverArguments: [`--allow-origin=http://127.0.0.1:${port}`],
    });
    const listed = await servePages(cluster.endpoints, port);
    const strange = await servePages(cluster.endpoints, 0);
    servers.push(listed, strange);
    [origin, strangeOrigin] = [listed.origin, strange.origin];
    browser = await launchChromium(executable ?? "");
  });

  afterAll(async () => {
    await browser?.close();
    for (const server of servers) await server[Symbol.asyncDispose]();
    await cluster?.stop();
  });

  /** A page with a client. */
  async function connected(name: string): Promise<Page> {
    const page = await openPage(browser, origin, complaints);
    await page.evaluate(
      async ({ endpoints, name, ttlMs }) => {
        const globals = globalThis as unknown as PageGlobals;
        globals.client = await globals.holdfast.connect({ endpoints, name, ttlMs });
      },
      { endpoints: cluster.endpoints, name, ttlMs: TTL_MS },
    );
    return page;
  }

  test("two contend for one lock, one is closed, and the other gets it", async () => {
    const key = "pages/lock";
    const first = await connected("first page");
    const firstToken = await first.evaluate(async (key) => {
      const globals = globalThis as unknown as PageGlobals;
      globals.lock = await globals.client.acquire(key);
      return globals.lock.token;
    }, key);

    const second = await connected("second page");
    const tried = await second.evaluate(async (key) => {
      const globals = globalThis as unknown as PageGlobals;
      const lock = await globals.client.tryAcquire(key);
      globals.granted = globals.client.acquire(key).then((granted) => {
        globals.lock = granted;
        return granted.token;
      });
      return lock === undefined;
    }, key);
    expect(tried).toBe(true);
    await first.evaluate(() => {
      const { lock } = globalThis as unknown as PageGlobals;
      return new Promise<void>((resolve) => {
        lock.on("contended", () => resolve());
      });
    });

    await first.close();
    const secondToken = await second.evaluate(
      () => (globalThis as unknown as PageGlobals).granted as Promise<number>,
    );
    expect(secondToken).toBeGreaterThan(firstToken);
    const end = await second.evaluate(async () => {
      const { lock, client } = globalThis as unknown as PageGlobals;
      const wasHeld = lock.isHeld;
      const released = await lock.release();
      await client.close();
      return { wasHeld, released };
    });
    expect(end).toEqual({ wasHeld: true, released: { released: true } });
    await second.close();
    expect(complaints).toEqual([]);
  });

  test("code for navigator.locks runs on the cluster, across pages", async () => {
    const name = "pages/web lock ✓";
    const first = await connected("first page");
    const second = await connected("second page");
    await first.evaluate(async (name) => {
      const { client } = globalThis as unknown as PageGlobals;
      await new Promise<void>((resolve) => {
        client.locks.request(name, () => {
          resolve();
          return new Promise(() => {});
        });
      });
    }, name);
    const seen = await second.evaluate(async (name) => {
      const globals = globalThis as unknown as PageGlobals;
      const { locks } = globals.client;
      const available = await locks.request(name, { ifAvailable: true }, (lock) => lock !== null);
      globals.granted = locks.request(name, (lock) => lock?.name);
      const { held, pending } = await locks.query();
      return { available, held: held?.map((lock) => lock.name), pending: pending?.length };
    }, name);
    expect(seen).toMatchObject({ available: false, held: [name] });

    await first.close();
    const granted = await second.evaluate(() => (globalThis as unknown as PageGlobals).granted);
    expect(granted).toBe(name);
    await second.evaluate(() => (globalThis as unknown as PageGlobals).client.close());
    await second.close();
    expect(complaints).toEqual([]);
  });

  test("a page of an origin that is not listed gets no client, and the log says why", async () => {
    const expected: string[] = [];
    const page = await openPage(browser, strangeOrigin, expected);
    const code = await page.evaluate(async (endpoints) => {
      const { holdfast } = globalThis as unknown as PageGlobals;
      try {
        await holdfast.connect({ endpoints, connectTimeoutMs: 3_000 });
        return "connected";
      } catch (error) {
        return (error as { code: string }).code;
      }
    }, cluster.endpoints);
    expect(code).toBe("UNAVAILABLE");
    await page.close();
    expect(expected.length).toBeGreaterThan(0);
    for (const complaint of expected) expect(complaint).toContain("Unexpected response code: 403");
    for (const { stderr } of cluster.nodes) {
      const lines = stderr.split("\n").filter((line) => line.includes("--allow-origin"));
      expect(lines).toEqual([expect.stringContaining(strangeOrigin)]);
    }
  });
});
