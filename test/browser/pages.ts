/**
 * A real browser with pages of a real origin: Chromium without a window, and a web server on a
 * loopback port that serves one page with the bundled package. The page's own rules forbid what
 * careful sites forbid, among it the making of code from texts.
 */

import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { type Browser, chromium, type Page } from "playwright-core";
import { chromiumArguments, findChromium as chromiumOfMachine } from "../../lab/find-chromium.js";
import type * as holdfast from "../../src/index.js";
import { bundleForBrowser } from "./bundle.js";

const PROGRAM = 'import * as holdfast from "holdfast"; globalThis.holdfast = holdfast;';

/** What a page has besides what every page has. */
export interface PageGlobals {
  holdfast: typeof holdfast;
  lock: holdfast.Lock;
  client: holdfast.Client;
  granted: Promise<unknown>;
}

/** `undefined`: there is none on this machine, and it says so. */
export function findChromium(): string | undefined {
  const found = chromiumOfMachine();
  if (found === undefined) {
    process.stderr.write(
      "\n!!! Chromium is NOT installed: what is tested in a browser is SKIPPED\n\n",
    );
  }
  return found;
}

export function launchChromium(executablePath: string): Promise<Browser> {
  return chromium.launch({ executablePath, args: chromiumArguments() });
}

export interface PageServer extends AsyncDisposable {
  readonly origin: string;
}

/** `endpoints`: where its page may connect. */
export async function servePages(endpoints: readonly string[], port: number): Promise<PageServer> {
  const { text } = await bundleForBrowser(PROGRAM);
  const policy = `default-src 'none'; script-src 'self'; connect-src ${endpoints.join(" ")}`;
  const server = createServer(({ url }, response) => {
    response.setHeader("content-security-policy", policy);
    if (url === "/page.js") response.setHeader("content-type", "text/javascript").end(text);
    else if (url === "/") {
      response.setHeader("content-type", "text/html");
      response.end(
        '<!doctype html><title>Holdfast</title><script type="module" src="page.js"></script>',
      );
    } else response.writeHead(404).end();
  });
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

/** Opens the page; what it complains about is added to `complaints`. */
export async function openPage(
  browser: Browser,
  origin: string,
  complaints: string[],
): Promise<Page> {
  const page = await browser.newPage();
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("console", (message) => {
    if (message.type() === "error") complaints.push(message.text());
  });
  page.on("crash", () => complaints.push("the page crashed"));
  await page.goto(origin, { waitUntil: "load" });
  return page;
}
