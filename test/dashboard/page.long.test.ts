/** The page in a real browser, from real nodes of a cluster under load, one of which is killed. */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import axe from "axe-core";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { connect, connectAdmin } from "../../src/index.js";
import { findChromium, launchChromium } from "../browser/pages.js";
import { type ClusterProcess, startCluster } from "../e2e/world/cluster-process.js";

const executable = findChromium();
const WIDE = { width: 1_280, height: 800 };
/** As on a busy machine, where the cluster answers before the page has drawn its first frame. */
const FRAMES_COME_LATE = `{
  const later = setTimeout;
  globalThis.requestAnimationFrame = (draw) => later(() => draw(performance.now()), 1_000);
  globalThis.setTimeout = (task, delayMs, ...rest) => later(task, Math.max(delayMs, 1_000), ...rest);
}`;
const NARROW = { width: 360, height: 740 };

describe.skipIf(executable === undefined)("the page", () => {
  let cluster: ClusterProcess;
  let browser: Browser;

  beforeAll(async () => {
    cluster = await startCluster();
    browser = await launchChromium(executable ?? "");
  });

  afterAll(async () => {
    await browser?.close();
    await cluster?.stop();
  });

  interface Opened {
    readonly page: Page;
    /** What the browser complained of. */
    readonly complaints: readonly string[];
  }

  async function open(
    node: number,
    { theme = "light", viewport = WIDE }: { theme?: "light" | "dark"; viewport?: typeof WIDE } = {},
  ): Promise<Opened> {
    const page = await browser.newPage({ colorScheme: theme, viewport });
    const complaints: string[] = [];
    page.on("pageerror", (error) => complaints.push(String(error)));
    page.on("console", (message) => {
      if (message.type() === "error") complaints.push(message.text());
    });
    await page.goto(cluster.node(node).endpoint.replace("ws:", "http:"));
    return { page, complaints };
  }

  async function shown(page: Page, text: string | RegExp): Promise<void> {
    try {
      await page.getByText(text).first().waitFor({ timeout: 20_000 });
    } catch (cause) {
      const instead = await page.innerText("body").catch(String);
      throw new Error(`${text} is not shown, but: ${instead}`, { cause });
    }
  }

  /** What axe finds. Evaluated by the debugger, which no policy of the page forbids. */
  async function findings(page: Page): Promise<string[]> {
    await page.evaluate(axe.source);
    const { violations } = await page.evaluate(() => {
      return (globalThis as unknown as { axe: typeof axe }).axe.run();
    });
    return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(" ")}`);
  }

  async function overflow(page: Page): Promise<number> {
    return page.evaluate("document.documentElement.scrollWidth - innerWidth");
  }

  /** Workers that take and release locks until the test is over, whatever becomes of nodes. */
  async function underLoad(work: () => Promise<void>): Promise<void> {
    await using client = await connect({ endpoints: cluster.endpoints, name: "load" });
    const ending = new AbortController();
    const workers = Array.from({ length: 8 }, async (_, at) => {
      while (!ending.signal.aborted) await client.using(`load/${at % 3}`, () => undefined);
    });
    try {
      await work();
    } finally {
      ending.abort();
      await Promise.all(workers);
    }
  }

  test.each(["light", "dark"] as const)("has nothing for axe to find, %s", async (theme) => {
    for (const viewport of [WIDE, NARROW]) {
      const { page, complaints } = await open(1, { theme, viewport });
      await shown(page, /All is well/);
      expect(await findings(page)).toEqual([]);
      expect(await overflow(page)).toBeLessThanOrEqual(0);
      expect(complaints).toEqual([]);
      await page.close();
    }
  });

  test("is used by keyboard alone: skip link, views, switches", async () => {
    const { page } = await open(1);
    await shown(page, /All is well/);
    await page.keyboard.press("Tab");
    expect(await focused(page)).toBe("Skip to the content");
    await page.keyboard.press("Enter");
    expect(await page.evaluate("document.activeElement.id")).toBe("content");
    const pause = page.getByRole("button", { name: "Pause" });
    await pause.focus();
    await page.keyboard.press("Space");
    await shown(page, /what is shown does not change/);
    await page.reload();
    await shown(page, /what is shown does not change/);
    await page.getByRole("button", { name: "Paused" }).click();
    await page.getByLabel("Theme").selectOption("dark");
    await page.reload();
    expect(await page.evaluate("document.documentElement.dataset.theme")).toBe("dark");
    await page.close();
  });

  test("says what nothing is shown at an address of no view", async () => {
    const { page } = await open(1);
    await shown(page, /All is well/);
    await page.evaluate("location.hash = '#/nowhere'");
    await shown(page, "No such view");
    await page.close();
  });

  test("goes on at another member when its node is killed, and says so", async () => {
    await underLoad(async () => {
      const { page } = await open(1);
      await shown(page, /All is well/);
      const node = cluster.node(1);
      await node.kill();
      await shown(page, /Node 1 does not answer; connected to node [23]\./);
      await shown(page, /Node 1 does not answer.*; if one more fails, the cluster stops/);
      await shown(page, /unreachable/);
      expect(await findings(page)).toEqual([]);
      await node.start();
      await shown(page, /All is well/);
      await page.close();
    });
  });

  test("is found by holdfast dashboard, which opens it where there is a desktop", async () => {
    const address = cluster.node(1).endpoint.replace("ws:", "http:");
    const printed = await cluster.holdfast(["dashboard", "--print"]);
    expect(printed).toMatchObject({ code: 0, stdout: `${address}/\n`, stderr: "" });
    const bin = await mkdtemp(join(tmpdir(), "holdfast-desktop-"));
    try {
      await writeFile(
        join(bin, "xdg-open"),
        `#!/bin/sh\nprintf %s "$1" >"${bin}/opened.part"\nmv "${bin}/opened.part" "${bin}/opened"\n`,
        { mode: 0o755 },
      );
      const env = { DISPLAY: ":0", PATH: `${bin}:${process.env["PATH"]}` };
      expect(await cluster.holdfast(["dashboard"], { env })).toMatchObject({ code: 0 });
      await expect
        .poll(() => readFile(join(bin, "opened"), "utf8").catch(() => ""))
        .toBe(`${address}/`);
    } finally {
      await rm(bin, { recursive: true });
    }
  });

  test("is not found where no node serves it", async () => {
    await using bare = await startCluster({ nodes: 1, serverArguments: ["--dashboard=off"] });
    const { code, stderr } = await bare.holdfast(["dashboard", "--print"]);
    expect({ code, stderr }).toEqual({
      code: 4,
      stderr: expect.stringContaining("no node serves the dashboard"),
    });
  });

  test("asks for a token when the cluster is secured, and again when the token ends", async () => {
    await using boss = await connectAdmin({ endpoints: cluster.endpoints });
    await boss.access.addIdentity("boss");
    await boss.access.grant("boss", "admin", { prefix: "" });
    const { token: bossToken } = await boss.access.createToken("boss");
    await using admin = await connectAdmin({ endpoints: cluster.endpoints, token: bossToken });
    await admin.access.addIdentity("viewer");
    await admin.access.grant("viewer", "observe", { prefix: "" });
    const { token, label } = await admin.access.createToken("viewer");
    const { page } = await open(1);
    await shown(page, /All is well/);
    await admin.access.revoke("anonymous", { prefix: "" });
    try {
      await shown(page, /it was secured while this dashboard was open/);
      expect(await findings(page)).toEqual([]);
      await signIn(page, token.slice(0, -1));
      await shown(page, /the access token is damaged/);
      await signIn(page, token);
      await shown(page, /viewer at node 1/);
      await shown(page, /All is well/);
      const kept = await page.evaluate(
        "JSON.stringify([Object.values(localStorage), Object.values(sessionStorage), document.cookie, location.href])",
      );
      expect(kept).not.toContain(token);
      await admin.access.removeCredential("viewer", label);
      await shown(page, /Your access token is no longer accepted/);
      const again = await admin.access.createToken("viewer");
      await page.getByLabel(/Keep it in this tab/).check();
      await signIn(page, again.token);
      await shown(page, /viewer at node 1/);
      await page.reload();
      await shown(page, /viewer at node 1/);
      await page.getByRole("button", { name: "Sign out" }).click();
      await shown(page, "Sign in");
      await page.addInitScript(FRAMES_COME_LATE);
      await page.reload();
      await shown(page, "This cluster is secured.");
    } finally {
      await admin.access.grant("anonymous", "admin", { prefix: "" });
      await page.close();
    }
  });

  async function signIn(page: Page, token: string): Promise<void> {
    await page.getByLabel("Access token").fill(token);
    await page.getByRole("button", { name: "Sign in" }).click();
  }

  async function focused(page: Page): Promise<unknown> {
    return page.evaluate("document.activeElement.textContent");
  }
});
