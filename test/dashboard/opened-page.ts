/**
 * The page of a real node in a real browser, for tests: opens a view, notes everything that the
 * browser complains about, and asks axe-core what is wrong with it.
 */
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import type { Browser, Page } from "playwright-core";

const AXE = createRequire(import.meta.url).resolve("axe-core/axe.min.js");

export interface OpenedPage {
  readonly page: Page;
  /** Errors of the console, and what the page threw. */
  readonly complaints: readonly string[];
}

export interface PageLook {
  readonly theme?: "light" | "dark";
  readonly width?: number;
}

/** `hash`: the view, such as `#/locks`. */
export async function openDashboard(
  browser: Browser,
  endpoint: string,
  hash: string,
  { theme = "light", width = 1_280 }: PageLook = {},
): Promise<OpenedPage> {
  const complaints: string[] = [];
  const page = await browser.newPage({
    colorScheme: theme,
    viewport: { width, height: 900 },
    reducedMotion: "reduce",
  });
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("console", (message) => {
    if (message.type() === "error") complaints.push(message.text());
  });
  await page.goto(`${endpoint.replace(/^ws/, "http")}/${hash}`, { waitUntil: "load" });
  return { page, complaints };
}

/** What axe-core finds wrong, one line each. */
export async function axeProblems(page: Page): Promise<readonly string[]> {
  await page.evaluate(await readFile(AXE, "utf8"));
  return page.evaluate(async () => {
    const { axe } = globalThis as unknown as { axe: typeof import("axe-core") };
    const { violations } = await axe.run();
    return violations.flatMap(({ id, help, nodes }) =>
      nodes.map(({ html }) => `${id}: ${help}: ${html}`),
    );
  });
}
