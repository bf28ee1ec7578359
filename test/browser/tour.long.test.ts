/**
 * The tour of a local cluster, in a real browser: every act with one click, and the sentence of what
 * was measured. Also the port that it goes through, knocked at by everyone who may not.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { RunningCli } from "../e2e/world/command-line.js";
import { interrupt, startLocal } from "../e2e/world/local-cluster.js";
import { findChromium, launchChromium } from "./pages.js";

const CHROMIUM = findChromium();
/** For an act whose end is a lease or an election, on a busy machine. */
const ACT_MS_MAX = 60_000;

let directory = "";
let cluster: RunningCli;
let address = "";
let page1 = "";

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), "holdfast-tour-"));
  cluster = startLocal(join(directory, "data"));
  await cluster.printed("#/tour?control=");
  await cluster.printed("Ctrl-C stops it.");
  address = /http:\S+#\/tour\?control=\S+/.exec(cluster.stdout)?.[0] ?? "";
  page1 = new URL(address).origin;
});
afterAll(async () => {
  await interrupt({ cluster, pids: [] });
  rmSync(directory, { recursive: true, force: true });
});

describe("the port of the tour", () => {
  const controlPort = () => {
    const [, port = "0", secret = ""] = /control=(\d+)\.(\S+)$/.exec(address) ?? [];
    return { port: Number(port), secret };
  };

  interface Knock {
    readonly method?: string;
    readonly path?: string;
    readonly headers?: Record<string, string | undefined>;
    readonly host?: string;
  }

  /** As the page knocks, except for what is given; resolves to status and headers. */
  function knock({ method = "GET", path = "/state", headers = {}, host = "127.0.0.1" }: Knock) {
    const { port, secret } = controlPort();
    const all = {
      host: `127.0.0.1:${port}`,
      origin: page1,
      authorization: `Bearer ${secret}`,
      ...headers,
    };
    const given = Object.fromEntries(
      Object.entries(all).filter(([, value]) => value !== undefined),
    );
    return new Promise<{ status: number; allowed: string | undefined }>((resolve, reject) => {
      const asked = request({ host, port, path, method, headers: given as Record<string, string> });
      asked.on("error", reject).on("response", (response) => {
        response.resume();
        const allowed = response.headers["access-control-allow-origin"];
        resolve({ status: response.statusCode ?? 0, allowed });
      });
      asked.end(method === "POST" ? "nonsense" : undefined);
    });
  }

  test("lets in the pages of the nodes with the secret, and no other page, name or secret", async () => {
    expect(await knock({})).toEqual({ status: 200, allowed: page1 });
    expect(await knock({ headers: { origin: "http://127.0.0.1:1" } })).toMatchObject({
      status: 403,
    });
    expect(await knock({ headers: { origin: "null" } })).toEqual({
      status: 403,
      allowed: undefined,
    });
    expect(await knock({ headers: { origin: undefined } })).toMatchObject({ status: 403 });
    const { port, secret } = controlPort();
    expect(await knock({ headers: { host: `evil.example:${port}` } })).toMatchObject({
      status: 403,
    });
    expect(await knock({ headers: { host: `localhost:${port}` } })).toMatchObject({ status: 403 });
    expect(await knock({ headers: { authorization: undefined } })).toMatchObject({ status: 401 });
    const wrong = `Bearer ${secret.slice(0, -1)}-`;
    expect(await knock({ headers: { authorization: wrong } })).toMatchObject({ status: 401 });
    expect(await knock({ headers: { authorization: `Basic ${secret}` } })).toMatchObject({
      status: 401,
    });
  });

  test("knows two requests, and acts on neither without a tour that has begun", async () => {
    expect(await knock({ method: "DELETE" })).toMatchObject({ status: 405 });
    expect(await knock({ method: "GET", path: "/act" })).toMatchObject({ status: 405 });
    expect(await knock({ path: "/" })).toMatchObject({ status: 404 });
    expect(await knock({ method: "POST", path: "/act" })).toMatchObject({ status: 409 });
  });

  test("answers the question of a browser before a request, without the secret", async () => {
    const asked = await knock({ method: "OPTIONS", headers: { authorization: undefined } });
    expect(asked).toEqual({ status: 204, allowed: page1 });
    const stranger = { authorization: undefined, origin: "https://evil.example" };
    expect(await knock({ method: "OPTIONS", headers: stranger })).toMatchObject({ status: 403 });
  });

  test("is open on loopback only", async () => {
    await expect(knock({ host: "127.0.0.2" })).rejects.toThrow("ECONNREFUSED");
  });

  test("is named by the policy of the pages, and by nothing else that nodes serve", async () => {
    const response = await fetch(page1, { headers: { accept: "text/html" } });
    const { port } = controlPort();
    expect(response.headers.get("content-security-policy")).toContain(`http://127.0.0.1:${port}`);
    expect(await response.text()).not.toContain(String(port));
  });
});

describe.runIf(CHROMIUM !== undefined)("in a browser", () => {
  let browser: Browser;
  let page: Page;
  const faults: string[] = [];

  beforeAll(async () => {
    browser = await launchChromium(CHROMIUM ?? "");
    page = await browser.newPage();
    page.on("pageerror", (error) => faults.push(error.message));
    await page.goto(address);
  });
  afterAll(() => browser?.close());

  const section = (name: string) => page.getByRole("region", { name, exact: true });
  const button = (name: string) => page.getByRole("button", { name, exact: true });

  async function measured(title: string, label: string): Promise<string> {
    await section(title).getByRole("button", { name: label }).click();
    const told = section(title).locator(".measured");
    await told.waitFor({ timeout: ACT_MS_MAX });
    return (await told.textContent()) ?? "";
  }

  async function mend(): Promise<void> {
    await button("Mend the cluster").click();
    await page.getByText("killed", { exact: true }).waitFor({ state: "detached" });
    await page.getByText("stopped", { exact: true }).waitFor({ state: "detached" });
  }

  test("the secret leaves the address at once, and the tour begins with one click", async () => {
    await button("Begin the tour").click();
    await page.getByText("holds the lock", { exact: true }).waitFor({ timeout: ACT_MS_MAX });
    expect(page.url()).toBe(`${page1}/#/tour`);
  });

  test("a holder that is paused: the token rises, and its late write is refused", async () => {
    const text = await measured("Pause a holder", "Pause the holder");
    const found =
      /token went from (\d+) to (\d+)\. .*wrote with token (\d+), and the fence refused/.exec(text);
    expect(found, text).not.toBeNull();
    const [, before, later, late] = (found ?? []).map(Number);
    expect(later).toBeGreaterThan(before ?? 0);
    expect(late).toBe(before);
  });

  test("a leader that is killed: another leads, and it says for how long nothing was granted", async () => {
    const text = await measured("Kill the leader", "Kill the leader");
    expect(text).toMatch(
      /Node (\d) was killed, node (?!\1)\d leads now\. For \d+ ms nothing was granted/,
    );
    await page.getByText("killed", { exact: true }).waitFor();
    await mend();
  });

  test("a node that is stopped: the others go on granting", async () => {
    const text = await measured("Stop a node", "Stop a follower");
    expect(text).toMatch(/Node \d stands still and 2 nodes go on\. .* was granted [1-9]\d* times/);
    await mend();
  });

  test("the end of the tour ends its workers, and leaves the nodes running", async () => {
    await button("End the tour").click();
    await button("Begin the tour").waitFor();
    expect(faults).toEqual([]);
  });

  test("a page without the secret says where the tour is to be found", async () => {
    const stranger = await browser.newPage();
    await stranger.goto(`${page1}/#/tour`);
    await stranger.getByText("Open the address that this command printed").waitFor();
    expect(await stranger.getByRole("button", { name: "Begin the tour" }).count()).toBe(0);
    await stranger.close();
  });
});
