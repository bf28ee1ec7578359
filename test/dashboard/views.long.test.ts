/** The views of locks, sessions and waits in a real browser, against a real cluster of three nodes. */
import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { type Client, connect, type HoldfastError } from "../../src/index.js";
import { findChromium, launchChromium } from "../browser/pages.js";
import { type ClusterProcess, startCluster } from "../e2e/world/cluster-process.js";
import { axeProblems, openDashboard, type PageLook } from "./opened-page.js";

const WAIT = { timeout: 20_000 };
const LOOKS: readonly PageLook[] = [
  { theme: "light", width: 1_280 },
  { theme: "dark", width: 360 },
];
/** Written by a client, and obeyed by nobody: markup, a turn of the direction, blanks, the longest. */
const STRANGE_KEYS = [
  "evil\u202e/<img src=x onerror=alert(1)>",
  " blank  edges ",
  "ключ/🔒",
  `${"long".repeat(127)}end`,
];

const executable = findChromium();

describe.skipIf(executable === undefined)("the page", () => {
  let cluster: ClusterProcess;
  let browser: Browser;
  const clients: Client[] = [];
  const pages: Page[] = [];

  beforeAll(async () => {
    cluster = await startCluster();
    browser = await launchChromium(executable ?? "");
  });

  afterEach(async () => {
    await Promise.all(pages.splice(0).map((page) => page.close()));
    await Promise.all(clients.splice(0).map((client) => client.close()));
  });

  afterAll(async () => {
    await browser?.close();
    await cluster?.stop();
  });

  async function client(name: string, ttlMs = 10_000): Promise<Client> {
    const connected = await connect({ endpoints: cluster.endpoints, name, ttlMs });
    clients.push(connected);
    return connected;
  }

  async function open(hash: string, look: PageLook = {}) {
    const opened = await openDashboard(browser, cluster.node(1).endpoint, hash, look);
    pages.push(opened.page);
    return opened;
  }

  const rowOf = (page: Page, text: string) => page.locator("tbody tr", { hasText: text });

  test("lists locks live, and filters, sorts and pages them by the address", async () => {
    const worker = await client("worker-1");
    const other = await client("worker-2");
    const held = await worker.acquire("live/a");
    const { page, complaints } = await open("#/locks?prefix=live/");
    await rowOf(page, "live/a").getByText("worker-1").waitFor(WAIT);
    await page.mouse.move(0, 0);

    const waiting = other.acquire("live/a");
    await rowOf(page, "live/a").locator("td", { hasText: /^1$/ }).waitFor(WAIT);
    await held.release();
    await waiting;
    await rowOf(page, "live/a").getByText("worker-2").waitFor(WAIT);

    for (let i = 0; i < 120; i += 1) {
      await worker.acquire(`many/${String(i).padStart(3, "0")}`);
    }
    await page.getByLabel("Names that begin with").fill("many/");
    await rowOf(page, "many/099").waitFor(WAIT);
    expect(page.url()).toContain("prefix=many%2F");
    expect(await page.locator("tbody tr").count()).toBe(100);
    await page.getByRole("link", { name: "Next 100" }).click();
    await rowOf(page, "many/119").waitFor(WAIT);
    expect(await page.locator("tbody tr").count()).toBe(20);
    await page.getByRole("link", { name: "Previous 100" }).click();
    await rowOf(page, "many/000").waitFor(WAIT);
    await page.getByRole("button", { name: "Key" }).click();
    await page.locator("tbody tr").first().getByText("many/099").waitFor(WAIT);
    expect(page.url()).toContain("sort=-key");

    await page.getByLabel("Show").selectOption({ label: "With a queue" });
    await page.getByText("No lock is like that.").waitFor(WAIT);
    expect(complaints).toEqual([]);
  });

  test("keeps rows under the pointer where they are, and says what is new", async () => {
    const worker = await client("worker");
    const first = await worker.acquire("still/b");
    const { page, complaints } = await open("#/locks?prefix=still/");
    await rowOf(page, "still/b").hover(WAIT);
    await worker.acquire("still/a");
    await page.getByText("1 new lock, shown when you leave the table").waitFor(WAIT);
    expect(await page.locator("tbody tr").count()).toBe(1);
    await first.release();
    await rowOf(page, "still/b").getByText("no longer in use").waitFor(WAIT);
    await page.mouse.move(0, 0);
    await rowOf(page, "still/a").waitFor(WAIT);
    await rowOf(page, "still/b").waitFor({ state: "detached", ...WAIT });
    expect(complaints).toEqual([]);
  });

  test("shows names as text, whatever they contain", async () => {
    const worker = await client("<i>worker</i>");
    for (const key of STRANGE_KEYS) await worker.acquire(key);
    const { page, complaints } = await open("#/locks");
    await rowOf(page, "evil\\u{202e}/<img src=x").getByText("<i>worker</i>").waitFor(WAIT);
    for (const key of STRANGE_KEYS) {
      await page.goto("about:blank");
      await page.goto(
        `${cluster.node(1).endpoint.replace(/^ws/, "http")}/#/lock/${encodeURIComponent(key)}`,
      );
      await page.getByText("1 holder").waitFor(WAIT);
      await rowOf(page, "exclusive").first().getByText("<i>worker</i>").waitFor(WAIT);
    }
    expect(await page.locator("main img, main i").count()).toBe(0);
    expect(complaints).toEqual([]);
  });

  test("says of one lock who holds it, who waits and why, and who held it before", async () => {
    const [one, two, three] = [await client("one"), await client("two"), await client("three")];
    const before = await three.acquire("single");
    await before.release();
    const held = await one.acquire("single");
    const waits = [two.acquire("single")];
    const { page, complaints } = await open("#/lock/single");
    await page.getByText("1 holder, 1 request waiting.").waitFor(WAIT);
    await page
      .getByText(`Waits because one (exclusive, token ${held.token}) holds it.`)
      .waitFor(WAIT);
    waits.push(three.acquire("single"));
    await page.getByText("1 request is ahead: two (exclusive)").first().waitFor(WAIT);
    await page.getByText(String(held.token)).first().waitFor(WAIT);
    const periods = page.getByRole("table", { name: "Periods, newest first" });
    await periods.locator("tr", { hasText: "three" }).getByText("released").waitFor(WAIT);
    await held.release();
    await (await waits[0])?.release();
    await waits[1];
    await periods.locator("tr", { hasText: "two" }).getByText("released").waitFor(WAIT);
    await page.getByText(/Of 3 holds, half took at most/).waitFor(WAIT);
    expect(complaints).toEqual([]);
  });

  test("revokes a lock and ends a session by keyboard alone", async () => {
    const holder = await client("holder");
    const lock = await holder.acquire("taken");
    const isLost = new Promise<void>((resolve) => {
      lock.signal.addEventListener("abort", () => resolve());
    });
    const { page, complaints } = await open("#/lock/taken");
    const revoke = page.getByRole("button", { name: "Revoke …" });
    await revoke.waitFor(WAIT);
    await revoke.focus();
    await page.keyboard.press("Enter");
    const dialog = page.getByRole("dialog");
    await dialog.waitFor(WAIT);
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached", ...WAIT });
    expect(await page.evaluate("document.activeElement.textContent")).toBe("Revoke …");
    await page.keyboard.press("Enter");
    await dialog.getByLabel("Grace").fill("0");
    await dialog.getByLabel("Reason").fill("tested");
    await page.keyboard.press("Enter");
    await isLost;
    expect((lock.signal.reason as HoldfastError).details).toMatchObject({ reason: "revoked" });
    await page.getByText("Nobody holds it.").waitFor(WAIT);

    await page.goto(`${page.url().split("#")[0]}#/sessions`);
    const end = rowOf(page, "holder").getByRole("button", { name: /^End / });
    await end.waitFor(WAIT);
    await end.focus();
    await page.keyboard.press("Enter");
    await dialog.getByLabel("Grace").fill("0");
    await page.keyboard.press("Enter");
    await dialog.waitFor({ state: "detached", ...WAIT });
    await rowOf(page, "holder")
      .getByText(/ended|being ended/)
      .or(page.getByText("No client has a session."))
      .first()
      .waitFor(WAIT);
    expect(complaints).toEqual([]);
  });

  test("draws who waits for whom, and a deadlock that was refused", async () => {
    const [alice, bob] = [await client("alice"), await client("bob")];
    const [taskA, taskB] = [alice.task(), bob.task()];
    await alice.acquire("cycle/1", { task: taskA });
    await bob.acquire("cycle/2", { task: taskB });
    const waits = alice.acquire("cycle/2", { task: taskA });
    waits.catch(() => undefined);
    const { page, complaints } = await open("#/graph");
    await rowOf(page, "cycle/2").getByText("holds it").waitFor(WAIT);
    await expect(bob.acquire("cycle/1", { task: taskB })).rejects.toMatchObject({
      code: "DEADLOCK",
    });
    await page
      .getByText(/So the request of bob \(task \d+\) was refused\./)
      .first()
      .waitFor(WAIT);
    const drawn = page.getByRole("img", { name: /newest refused deadlock/ });
    expect(await drawn.locator("g.task").count()).toBe(2);
    expect(await drawn.locator("g.arrow").count()).toBe(2);
    expect(complaints).toEqual([]);
  });

  test.each(LOOKS)("has nothing that axe-core finds, and fits: %j", async (look) => {
    const [one, two] = [await client("one"), await client("two")];
    await one.acquire("axe/1");
    two.acquire("axe/1").catch(() => undefined);
    for (const hash of ["#/locks", "#/lock/axe%2F1", "#/sessions", "#/graph"]) {
      const { page, complaints } = await open(hash, look);
      await page.locator("tbody tr", { hasText: "one" }).first().waitFor(WAIT);
      expect([hash, await axeProblems(page)]).toEqual([hash, []]);
      const isTooWide = await page.evaluate(
        "document.documentElement.scrollWidth > window.innerWidth",
      );
      expect([hash, isTooWide]).toEqual([hash, false]);
      expect(complaints).toEqual([]);
    }
  });

  test("stands still while it is paused", async () => {
    const worker = await client("worker");
    const lock = await worker.acquire("paused");
    const { page, complaints } = await open("#/locks?prefix=paused");
    await rowOf(page, "paused").waitFor(WAIT);
    await page.getByRole("button", { name: "Pause" }).click();
    await page.getByRole("button", { name: "Paused" }).waitFor(WAIT);
    await lock.release();
    const watch = await open("#/locks?prefix=paused");
    await watch.page.getByText("No lock in use has a name that begins so.").waitFor(WAIT);
    expect(await rowOf(page, "paused").count()).toBe(1);
    await page.getByRole("button", { name: "Paused" }).click();
    await rowOf(page, "paused")
      .getByText("worker")
      .waitFor({ state: "detached", ...WAIT });
    expect(complaints).toEqual([]);
  });

  test("is live again after its node was killed", async () => {
    const worker = await client("survivor", 60_000);
    const { page } = await openDashboard(
      browser,
      cluster.node(2).endpoint,
      "#/locks?prefix=after/",
    );
    pages.push(page);
    await page.getByText("No lock in use has a name that begins so.").waitFor(WAIT);
    await cluster.node(2).kill();
    await worker.acquire("after/kill");
    await rowOf(page, "after/kill").getByText("survivor").waitFor({ timeout: 40_000 });
    await cluster.node(2).restart();
  });

  test("offers no act without the right to it, and says why", async () => {
    await cluster.operate("access", "init", "--out", `${cluster.directory}/admin.token`);
    const env = { HOLDFAST_ACCESS_TOKEN_FILE: `${cluster.directory}/admin.token` };
    const worker = await client("worker");
    await worker.acquire("guarded");
    for (const args of [
      ["access", "anonymous", "deny"],
      ["access", "grant", "anonymous", "observe", "*"],
    ]) {
      const { code, stderr } = await cluster.holdfast(args, { env });
      expect([args, code, stderr]).toEqual([args, 0, expect.any(String)]);
    }
    const { page, complaints } = await open("#/lock/guarded");
    const revoke = page.getByRole("button", { name: "Revoke …" });
    await page.getByText("anonymous has no permission to operate on this key").waitFor(WAIT);
    expect(await revoke.getAttribute("aria-disabled")).toBe("true");
    await revoke.click({ force: true });
    expect(await page.getByRole("dialog").count()).toBe(0);
    expect(await axeProblems(page)).toEqual([]);
    await page.goto(`${page.url().split("#")[0]}#/sessions`);
    const end = rowOf(page, "worker").getByRole("button", { name: /^End / });
    await end.waitFor(WAIT);
    expect(await end.getAttribute("aria-disabled")).toBe("true");
    expect(complaints).toEqual([]);
  });
});
