/**
 * The page that people open in a browser: its files, read once, and the headers that it is served
 * with. The files are equal for everyone and hold nothing secret, so they need no login. The page
 * asks for what it shows like every other client.
 *
 * The policy of the page names where it may connect. To strangers it must not name members.
 */
import { readFile } from "node:fs/promises";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import type { HttpAnswer, PageBrowser } from "../../net/index.js";
import type { NodeEndpoint } from "../../protocol/index.js";
import { installed } from "../installation.js";

const pack = promisify(gzip);

/** Where the build puts them. */
const DIRECTORY = "dist/dashboard/";
const LIST = "files.json";
const INDEX = "index.html";

const TYPES: Readonly<Record<string, string>> = {
  html: "text/html; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
  svg: "image/svg+xml",
};

/** A file's name contains the hash of its content, so it never changes. */
const FOR_EVER = "public, max-age=31536000, immutable";
/** What CSP takes as a host with a port; anything else could be read as another directive. */
const HOST = /^(\[[0-9a-f:.]+\]|[a-z0-9_.-]+)(:\d{1,5})?$/i;

interface PageFile {
  readonly contentType: string;
  readonly plain: Uint8Array;
  readonly packed: Uint8Array;
}

export type PageFiles = ReadonlyMap<string, PageFile>;

let read: Promise<PageFiles> | undefined;

/**
 * The files of this installation; empty if it was not built. The nodes of one process share them.
 */
export function readPageFiles(): Promise<PageFiles> {
  read ??= readAll();
  return read;
}

async function readAll(): Promise<PageFiles> {
  const directory = installed(DIRECTORY);
  const names = await namesIn(directory);
  const files = names.map(
    async (name) => [name, await readOne(new URL(name, directory), name)] as const,
  );
  return new Map(await Promise.all(files));
}

/** None if there is no page. */
async function namesIn(directory: URL): Promise<readonly string[]> {
  try {
    return JSON.parse(await readFile(new URL(LIST, directory), "utf8")) as string[];
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}

async function readOne(url: URL, name: string): Promise<PageFile> {
  const plain = await readFile(url);
  const contentType = TYPES[name.slice(name.lastIndexOf(".") + 1)] ?? "application/octet-stream";
  return { contentType, plain, packed: await pack(plain, { level: 9 }) };
}

/** `path` as requested. `undefined`: it names no file of the page. */
export function pageFileAt(
  files: PageFiles,
  path: string,
  browser: PageBrowser,
  endpoints: readonly NodeEndpoint[],
  control: string | undefined,
): HttpAnswer | undefined {
  const isIndex = path === "/" && browser.wantsHtml;
  const name = isIndex ? INDEX : path.slice(1);
  const file = name === INDEX && !isIndex ? undefined : files.get(name);
  if (file === undefined) return undefined;
  return {
    status: 200,
    contentType: file.contentType,
    body: "",
    bytes: browser.takesGzip ? file.packed : file.plain,
    headers: {
      ...(browser.takesGzip ? { "Content-Encoding": "gzip" } : {}),
      Vary: "Accept, Accept-Encoding",
      "Referrer-Policy": "no-referrer",
      ...(isIndex
        ? {
            "Cache-Control": "no-cache",
            "Content-Security-Policy": policy(browser, endpoints, control),
          }
        : { "Cache-Control": FOR_EVER }),
    },
  };
}

/**
 * Some browsers do not take `'self'` for the WebSocket of the page's own host, so that is named,
 * too.
 */
function policy(
  { host }: PageBrowser,
  endpoints: readonly NodeEndpoint[],
  control: string | undefined,
): string {
  const own = host !== undefined && HOST.test(host) ? [`ws://${host}`, `wss://${host}`] : [];
  const members = urlsOf(endpoints).map(({ protocol, host }) => `${protocol}//${host}`);
  const all = [...own, ...members, ...(control === undefined ? [] : [control])];
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self'",
    `connect-src ${["'self'", ...new Set(all)].join(" ")}`,
    "frame-ancestors 'none'",
    "base-uri 'none'",
    "form-action 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join("; ");
}

/** The origins of the pages that members serve, by the endpoints that clients get. */
export function originsOf(endpoints: readonly NodeEndpoint[]): string[] {
  return urlsOf(endpoints).map(({ protocol, host }) => {
    return `${protocol === "wss:" ? "https:" : "http:"}//${host}`;
  });
}

/** Each node names its own endpoint to the others: what no page could connect to is left out. */
function urlsOf(endpoints: readonly NodeEndpoint[]): URL[] {
  return endpoints
    .filter(({ endpoint }) => URL.canParse(endpoint))
    .map(({ endpoint }) => new URL(endpoint))
    .filter(({ protocol, host }) => /^wss?:$/.test(protocol) && HOST.test(host));
}
