/**
 * What the public entry of the package imports, followed through the sources: a browser must be
 * able to run it.
 */
import { readFileSync } from "node:fs";
import { basename, dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";

const ROOT = join(dirname(fileURLToPath(import.meta.url)), "../..");
const DOOR = join(ROOT, "src/index.ts");
/** The one file that only Node loads, what it imports, and what it loads when it is asked to. */
const NODE_FILE = join(ROOT, "src/client/transport/node-platform.ts");
const PAGE_FILE = join(ROOT, "src/reach/read-page.ts");
const SOCKET_FILE = join(ROOT, "src/client/transport/node-socket.ts");
const SOCKET_PATH_FILE = join(ROOT, "src/reach/socket-path.ts");
const TLS_FILE = join(ROOT, "src/client/transport/node-tls.ts");
const NODE_CONTEXT_FILE = join(ROOT, "src/client/transport/node-task-context.ts");
const LOADER = "src/client/transport/load-platform.ts";

const IMPORT = /(?:^|[\s;])(?:import|export)\s*(?:[^"';]*?\sfrom\s*)?\(?\s*"([^"]+)"/g;
const TYPE_ONLY = /(?:^|[\s;])(?:import|export) type [^;]*?;/g;
const COMMENT = /\/\*[\s\S]*?\*\/|\/\/.*$/gm;

function sourceOf(file: string): string {
  return readFileSync(file, "utf8").replace(COMMENT, "");
}

function graph(): { files: Set<string>; packages: Map<string, string[]> } {
  const files = new Set<string>();
  const packages = new Map<string, string[]>();
  const open = [DOOR];
  for (let file = open.pop(); file !== undefined; file = open.pop()) {
    if (files.has(file)) continue;
    files.add(file);
    for (const [, target = ""] of sourceOf(file).replace(TYPE_ONLY, "").matchAll(IMPORT)) {
      if (target.startsWith(".")) open.push(join(dirname(file), target.replace(/\.js$/, ".ts")));
      else packages.set(target, [...(packages.get(target) ?? []), relative(ROOT, file)]);
    }
  }
  return { files, packages };
}

it("imports ws, http, TLS, sockets, os, events, worker_threads, async_hooks and diagnostics_channel in files for Node, msgpackr in framing, nothing else", () => {
  const { files, packages } = graph();
  expect(files.size).toBeGreaterThan(30);
  expect(files.has(NODE_FILE)).toBe(true);
  expect(packages.get("ws")).toEqual([relative(ROOT, NODE_FILE)]);
  expect(packages.get("node:async_hooks")).toEqual([relative(ROOT, NODE_CONTEXT_FILE)]);
  expect(packages.get("node:os")).toEqual([relative(ROOT, NODE_FILE)]);
  expect(packages.get("node:events")).toEqual([relative(ROOT, NODE_FILE)]);
  expect(packages.get("node:worker_threads")).toEqual([relative(ROOT, NODE_FILE)]);
  for (const [name, ...of] of [
    ["node:http", PAGE_FILE],
    ["node:https", PAGE_FILE],
    ["node:tls", TLS_FILE],
    ["node:crypto", TLS_FILE],
    ["node:net", SOCKET_FILE],
    ["node:path", SOCKET_FILE],
    ["node:fs", SOCKET_PATH_FILE, SOCKET_FILE],
    ["node:process", SOCKET_PATH_FILE],
  ] as const) {
    const importers = of.map((file) => relative(ROOT, file)).sort();
    expect([name, packages.get(name)?.sort()]).toEqual([name, importers]);
    packages.delete(name);
  }
  expect([...packages.keys()].sort()).toEqual([
    "msgpackr",
    "msgpackr/unpack",
    "node:async_hooks",
    "node:diagnostics_channel",
    "node:events",
    "node:os",
    "node:worker_threads",
    "ws",
  ]);
});

it("names nothing of Node outside those files", () => {
  const nodeOnly = /\b(?:Buffer|process\.|setImmediate|require\(|__dirname|NodeJS\.)/;
  const { files } = graph();
  files.delete(NODE_FILE);
  files.delete(NODE_CONTEXT_FILE);
  files.delete(TLS_FILE);
  files.delete(SOCKET_PATH_FILE);
  // It asks for it through globalThis.
  files.delete(join(ROOT, "src/client/transport/real-immediate.ts"));
  const offenders = [...files].filter((file) => nodeOnly.test(sourceOf(file)));
  // One line asks whether this is Node, through globalThis.
  expect(offenders.map((file) => relative(ROOT, file))).toEqual([]);
});

it("reaches what only Node has through the file for Node alone, and never at its beginning", () => {
  const { files } = graph();
  for (const target of [NODE_FILE, NODE_CONTEXT_FILE]) {
    const name = `./${basename(target, ".ts")}.js`;
    const importers = [...files].filter((file) => sourceOf(file).includes(`"${name}"`));
    const [importer = ""] = importers;
    expect(importers).toHaveLength(1);
    expect(importer).toBe(target === NODE_FILE ? join(ROOT, LOADER) : NODE_FILE);
    expect(sourceOf(importer)).toContain(`await import("${name}")`);
  }
  for (const [name, ...of] of [
    ["../../reach/index.js", NODE_FILE, SOCKET_FILE],
    ["./node-socket.js", NODE_FILE],
    ["./node-tls.js", NODE_FILE],
  ] as const) {
    const importers = [...files].filter((file) => sourceOf(file).includes(`"${name}"`));
    expect([name, importers.sort()]).toEqual([name, of]);
  }
});

it("stays within the rooms a client may enter", () => {
  const { files } = graph();
  const allowed = /^src\/index\.ts$|^src\/(?:errors|text|reach|client|protocol|net\/framing)\//;
  const strangers = [...files].map((file) => relative(ROOT, file)).filter((f) => !allowed.test(f));
  expect(strangers).toEqual([]);
});
