/**
 * A tab of a real Chromium, without a window, that measures how smooth its page is: the time between
 * frames, tasks that block it, and its heap. The same meter runs in a tab without a page, so that its
 * own cost is on both sides of a comparison. Chromium comes from the machine and is never downloaded.
 */
import type { Browser, CDPSession, Page } from "playwright-core";
import { chromiumArguments, findChromium } from "../../../lab/find-chromium.js";
import { loadPackage } from "../../peers/load-package.js";

/** A tab in which there is nothing to see. */
export const BLANK = "about:blank";

const WINDOW = { width: 1_280, height: 900 };
const ROWS_MS_MAX = 30_000;

/** What a tab measured between `start` and `read`. */
export interface TabFigures {
  /** Milliseconds from each frame to the next; at least one. */
  readonly frameMs: readonly number[];
  /** Milliseconds of each task of more than 50 ms. */
  readonly longTaskMs: readonly number[];
  /** The heap of JavaScript, after a collection. */
  readonly heapBytes: number;
  /** Messages that its page received from the node, and their bytes. */
  readonly messages: number;
  readonly messageBytes: number;
}

/** The part of a browser's window that the meter uses. It is compiled for Node.js. */
interface MeteredWindow {
  meter: { frameMs: number[]; longTaskMs: number[]; lastMs: number };
  requestAnimationFrame(onFrame: (nowMs: number) => void): void;
  readonly PerformanceObserver: new (
    onEntries: (list: { getEntries(): readonly { readonly duration: number }[] }) => void,
  ) => { observe(options: { readonly entryTypes: readonly string[] }): void };
}

/** @throws Error that names the package, if Chromium or its driver is missing */
export async function launchChromium(): Promise<Browser> {
  const { chromium } = await loadPackage("playwright-core", () => import("playwright-core"));
  const executablePath = findChromium();
  if (executablePath === undefined) {
    throw new Error("there is no Chromium on this machine: install the Debian package chromium");
  }
  const args = chromiumArguments();
  // Signals are for this process, which then also ends its nodes.
  const signals = { handleSIGINT: false, handleSIGTERM: false, handleSIGHUP: false };
  return chromium.launch({ executablePath, args, ...signals });
}

export class MeteredTab {
  /** Complaints of the page so far. */
  readonly #complaints: string[] = [];
  readonly #page: Page;
  readonly #inspector: CDPSession;
  #messages = 0;
  #messageBytes = 0;

  private constructor(page: Page, inspector: CDPSession) {
    this.#page = page;
    this.#inspector = inspector;
    page.on("pageerror", (error) => this.#complaints.push(String(error)));
    page.on("crash", () => this.#complaints.push("the page crashed"));
    page.on("websocket", (socket) => {
      socket.on("framereceived", ({ payload }) => {
        this.#messages += 1;
        this.#messageBytes += payload.length;
      });
    });
  }

  /** Resolves when the page at `url` shows the first row of a table; at once for `BLANK`. */
  static async open(browser: Browser, url: string): Promise<MeteredTab> {
    const page = await browser.newPage({ viewport: WINDOW });
    try {
      const tab = new MeteredTab(page, await page.context().newCDPSession(page));
      await page.goto(url);
      if (url !== BLANK) {
        await page.locator("tbody tr").first().waitFor({ timeout: ROWS_MS_MAX });
      }
      return tab;
    } catch (error) {
      await page.close();
      throw error;
    }
  }

  /** Begins to measure; once. */
  async start(): Promise<void> {
    await this.#page.evaluate(() => {
      const view = globalThis as unknown as MeteredWindow;
      const meter = { frameMs: [] as number[], longTaskMs: [] as number[], lastMs: -1 };
      view.meter = meter;
      const onFrame = (nowMs: number) => {
        if (meter.lastMs >= 0) meter.frameMs.push(nowMs - meter.lastMs);
        meter.lastMs = nowMs;
        view.requestAnimationFrame(onFrame);
      };
      view.requestAnimationFrame(onFrame);
      new view.PerformanceObserver((list) => {
        for (const { duration } of list.getEntries()) meter.longTaskMs.push(duration);
      }).observe({ entryTypes: ["longtask"] });
    });
    this.#messages = 0;
    this.#messageBytes = 0;
  }

  /** @throws Error if not one frame was shown, or the page complained */
  async read(): Promise<TabFigures> {
    const [messages, messageBytes] = [this.#messages, this.#messageBytes];
    const { frameMs, longTaskMs } = await this.#page.evaluate(() => {
      const { meter } = globalThis as unknown as MeteredWindow;
      return { frameMs: [...meter.frameMs], longTaskMs: [...meter.longTaskMs] };
    });
    // The collection takes longer than a frame.
    await this.#inspector.send("HeapProfiler.collectGarbage");
    const { usedSize } = await this.#inspector.send("Runtime.getHeapUsage");
    const problems = await this.#page.getByRole("alert").allInnerTexts();
    const complaints = [...this.#complaints, ...problems.filter((text) => text !== "")];
    if (complaints.length > 0) throw new Error(`the page complains: ${complaints.join("; ")}`);
    if (frameMs.length === 0) throw new Error("the page showed no frame");
    return { frameMs, longTaskMs, heapBytes: usedSize, messages, messageBytes };
  }

  async close(): Promise<void> {
    await this.#page.context().close();
  }
}
