import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { BLANK, launchChromium, MeteredTab } from "../../../bench/workloads/page/metered-tab.js";
import { findChromium } from "../../../lab/find-chromium.js";

/** A table, a heap of 20 MB, and a task of 200 ms each quarter of a second. */
const BUSY = `<!doctype html><table><tbody><tr><td>row</td></tr></tbody></table><script>
globalThis.kept = Array.from({ length: 2_500_000 }, (_, index) => index + 0.5);
setInterval(() => { const end = performance.now() + 200; while (performance.now() < end); }, 250);
</script>`;
const COMPLAINING = `${BUSY}<p role="alert">the cluster does not answer</p>`;

const executable = findChromium();
if (executable === undefined) {
  process.stderr.write("\n!!! Chromium is NOT installed: the meter of pages is NOT tested\n\n");
}

describe.skipIf(executable === undefined)("the meter of a tab", () => {
  const server = createServer(({ url }, response) => {
    response.setHeader("content-type", "text/html");
    response.end(url === "/complaining" ? COMPLAINING : BUSY);
  });
  let browser: Awaited<ReturnType<typeof launchChromium>>;
  let origin = "";

  beforeAll(async () => {
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    browser = await launchChromium();
  });

  afterAll(async () => {
    await browser?.close();
    server.closeAllConnections();
    server.close();
  });

  async function measured(url: string, isEnough: (frames: number, tasks: number) => boolean) {
    const tab = await MeteredTab.open(browser, url);
    try {
      await tab.start();
      for (;;) {
        const figures = await tab.read().catch((error: Error) => {
          if (error.message === "the page showed no frame") return undefined;
          throw error;
        });
        if (figures === undefined) continue;
        if (isEnough(figures.frameMs.length, figures.longTaskMs.length)) return figures;
      }
    } finally {
      await tab.close();
    }
  }

  test("sees the tasks that block a page, the frames they delay, and what it keeps", async () => {
    const { frameMs, longTaskMs, heapBytes } = await measured(
      origin,
      (frames, tasks) => frames > 0 && tasks > 0,
    );
    expect(Math.max(...longTaskMs)).toBeGreaterThanOrEqual(195);
    expect(Math.max(...frameMs)).toBeGreaterThan(100);
    expect(heapBytes).toBeGreaterThan(20_000_000);
  });

  test("shows frames of an empty tab, which receives nothing and keeps little", async () => {
    const figures = await measured(BLANK, (frames) => frames >= 10);
    expect(figures).toMatchObject({ messages: 0, messageBytes: 0 });
    expect(figures.heapBytes).toBeLessThan(5_000_000);
  });

  test("does not measure a page that says that something is wrong", async () => {
    await expect(measured(`${origin}/complaining`, () => true)).rejects.toThrow(
      "the page complains: the cluster does not answer",
    );
  });
});
