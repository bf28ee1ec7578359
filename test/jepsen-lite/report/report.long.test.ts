/** The report in a real browser: complete in itself, without errors, readable in any window. */
import { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { type Browser, chromium, type Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { renderReport } from "../../../jepsen-lite/report/render-report.js";
import { sampleReport } from "./report-sample.js";

const CHROMIUM = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find(
  (file) => existsSync(file),
);
if (CHROMIUM === undefined) {
  console.warn("NOT TESTED: the report was opened in no browser, since there is no Chromium here");
}

describe.skipIf(CHROMIUM === undefined)("in Chromium", () => {
  let browser: Browser;
  let directory = "";
  let url = "";
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), "holdfast-report-"));
    const file = join(directory, "report.html");
    await writeFile(file, renderReport(sampleReport()));
    url = pathToFileURL(file).href;
    browser = await chromium.launch({ executablePath: CHROMIUM ?? "", args: ["--no-sandbox"] });
  });
  afterAll(async () => {
    await browser?.close();
    await rm(directory, { recursive: true, force: true });
  });

  /** Opens the page; `complaints` gets every error and every request beyond the page itself. */
  async function open(width: number, colorScheme: "light" | "dark") {
    const page = await browser.newPage({ viewport: { width, height: 800 }, colorScheme });
    const complaints: string[] = [];
    page.on("pageerror", (error) => complaints.push(error.message));
    page.on("console", (message) => complaints.push(message.text()));
    page.on("request", (request) => {
      if (request.url() !== url) complaints.push(`asks for ${request.url()}`);
    });
    await page.goto(url);
    return { page, complaints };
  }

  const widthOf = (page: Page) => page.evaluate("document.documentElement.scrollWidth");
  const textOf = (page: Page, selector: string) => page.locator(selector).first().innerText();

  test("it shows the verdict, the story and every lane, with no error and no request", async () => {
    const { page, complaints } = await open(1_300, "light");
    expect(await textOf(page, "h1")).toBe("Not valid");
    expect(await page.locator(".story li").count()).toBe(4);
    expect(await textOf(page, ".story li >> nth=0")).toContain("acquire <b>mutex/0</b>");
    expect(await textOf(page, ".again code")).toContain("--seed 7");
    const labels = await page.locator(".label").allInnerTexts();
    for (const label of ["kill", "node 1", "node 3", "mutex/2", "client 0", "client 3"]) {
      expect(labels).toContain(label);
    }
    expect(await page.locator("rect.op").count()).toBe(400 + 3);
    expect(await page.locator("rect.hold").count()).toBe(60);
    expect(complaints).toEqual([]);
    await page.close();
  });

  test("what others lost stands next to it, and what compared nothing says so", async () => {
    const { page, complaints } = await open(1_300, "light");
    const table = page.locator("section", { hasText: "Side by side" }).first();
    const row = (name: string) => table.locator("tr", { hasText: name }).allInnerTexts();
    expect((await row("updates lost, fenced")).join()).toMatch(/0 of 300\s+9 of 300/);
    expect((await row("two holders at once")).join()).toMatch(/0\s+18$/);
    expect((await row("verdict")).join()).toMatch(/valid\s+not valid/);
    // Alarming only where something was to be compared.
    expect(await page.locator("td.alarm", { hasText: "nothing" }).count()).toBe(1);
    expect(await page.locator("td.none", { hasText: "nothing" }).count()).toBe(0);
    expect(complaints).toEqual([]);
    await page.close();
  });

  test("each kind of anomaly is named, worst first, and each begins with one sentence", async () => {
    const { page, complaints } = await open(1_300, "light");
    const kinds = await page.locator("h3.kind").allInnerTexts();
    expect(kinds.map((text) => text.split(" ×")[0])).toEqual([
      "two holders",
      "token not larger",
      "lost update",
    ]);
    expect(kinds[0]).toMatch(/× 7\s*1 of them is shown$/);
    // Long tokens by what differs; whole when pointed at.
    const sentence = page.locator("#anomaly-2 .sentence");
    expect(await sentence.innerText()).toContain(
      "two clients held mutex/0 from 15.000 s to 15.200 s: client 0 by token …0005, client 1 by token …0006",
    );
    await sentence.locator("abbr").first().hover();
    expect(await textOf(page, "#tip")).toBe("3764820767670005");
    // What no fencing lets happen stands apart.
    const expected = page.locator("section", { hasText: "What was expected" });
    expect(await expected.locator(".anomaly").count()).toBe(1);
    expect(kinds[2]).toContain("× 3");
    expect(complaints).toEqual([]);
    await page.close();
  });

  test("a story leads to its mark in the time line, and the mark back to the story", async () => {
    const { page, complaints } = await open(1_300, "light");
    await page.locator("#anomaly-2 a").click();
    const mark = page.locator("#mark-2 rect");
    const seen = async () => {
      const box = await mark.boundingBox();
      if (box === null) return false;
      const { x, y, width, height } = box;
      return x > 0 && x + width < 1_300 && y > 0 && y + height < 800;
    };
    await expect.poll(seen).toBe(true);
    await expect
      .poll(() => page.evaluate("document.querySelector('.canvas').className"))
      .toContain("magnified");
    await mark.click();
    await expect.poll(() => page.evaluate("location.hash")).toBe("#anomaly-2");
    // It is drawn around the key that two held, too.
    expect(await page.locator("rect.around").count()).toBe(2);
    expect(complaints).toEqual([]);
    await page.close();
  });

  test("every operation is a point, by kind and outcome, over the bands of the faults", async () => {
    const { page, complaints } = await open(1_300, "light");
    const rows = page.locator(".row.scatter");
    expect(
      (await rows.locator(".label").allInnerTexts()).map((text) => text.split("\n")[0]),
    ).toEqual(["acquire", "release"]);
    const pointsOf = async (outcome: string) => {
      const paths = await rows.locator(`path.dots.${outcome}`).all();
      const drawn = await Promise.all(paths.map((path) => path.getAttribute("d")));
      return drawn.join("").split("M").length - 1;
    };
    expect(await pointsOf("ok")).toBe(240);
    expect(await pointsOf("fail")).toBe(80);
    expect(await pointsOf("info")).toBe(80);
    // Slower is higher.
    const path = (await rows.first().locator("path.dots.ok").getAttribute("d")) ?? "";
    const heights = [...path.matchAll(/M[\d.]+ ([\d.]+)h0/g)].map(([, y]) => Number(y));
    expect(Math.min(...heights)).toBeLessThan(Math.max(...heights) - 5);
    expect(await page.locator(".bands .band").count()).toBe(2);
    expect(complaints).toEqual([]);
    await page.close();
  });

  test("what damage hit is counted by kind of file, and what it never hit is named", async () => {
    const { page } = await open(1_300, "light");
    const files = page.locator("h3", { hasText: "Files hit by damage" }).locator("+ ul");
    expect(await files.innerText()).toMatch(/mark\s*2\s+log\/N\.seg\s*1\s+VERSION\s*0/);
    await page.close();
  });

  test("what is under the pointer is explained, and the chart can be magnified", async () => {
    const { page, complaints } = await open(1_300, "light");
    await page.locator("rect.fault").first().hover();
    expect(await textOf(page, "#tip")).toContain("kill -9 of node 1 (leader)");
    const before = await page.evaluate("document.querySelector('.canvas').scrollWidth");
    await page.locator("[data-zoom='2']").click();
    await page.locator("[data-zoom='2']").click();
    const after = await page.evaluate("document.querySelector('.canvas').scrollWidth");
    expect(Number(after)).toBeGreaterThan(3 * Number(before));
    await page.locator("[data-zoom='0']").click();
    expect(await page.evaluate("document.querySelector('.canvas').scrollWidth")).toBe(before);
    expect(complaints).toEqual([]);
    await page.close();
  });

  test.each(["light", "dark"] as const)(
    "a small window, %s, needs no sideways reading",
    async (scheme) => {
      const { page, complaints } = await open(390, scheme);
      expect(await widthOf(page)).toBe(390);
      const paper = await page.evaluate("getComputedStyle(document.body).backgroundColor");
      const [red = 0] = /\d+/.exec(String(paper)) ?? [];
      expect(Number(red) > 127).toBe(scheme === "light");
      expect(complaints).toEqual([]);
      await page.close();
    },
  );

  test("light and dark can be switched by hand", async () => {
    const { page } = await open(900, "light");
    const paper = () => page.evaluate("getComputedStyle(document.body).backgroundColor");
    const before = await paper();
    await page.locator("#theme").click();
    expect(await paper()).not.toBe(before);
    await page.locator("#theme").click();
    expect(await paper()).toBe(before);
    await page.close();
  });
});
