/**
 * The package as it is installed: packed, unpacked into an empty project with nothing else but its
 * dependencies, and used from there. Needs no network.
 */
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { transformSync } from "esbuild";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const MANIFEST: { readonly version: string; readonly dependencies: Record<string, string> } =
  JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
const project = mkdtempSync(join(tmpdir(), "holdfast-project-"));
const packed: string[] = [];

/** Everything of both doors that a first program uses, with the types it relies on. */
const CONSUMER = `
import { clusterStatus, connect, connectAdmin, HoldfastError, type Client, type Lock } from "holdfast";
import { Gate, type Claim, claimOf, fenceRequests, SqlFence } from "holdfast/fence";

const gate: Gate = new Gate({ name: "orders" });
const claim: Claim = { token: 7, mode: "exclusive" };
gate.admit(claim);
let code: string | undefined;
try {
  gate.admit({ token: 6, mode: "exclusive" });
} catch (error) {
  if (error instanceof HoldfastError) code = error.code;
}
if (code !== "STALE_TOKEN") throw new Error("the entry points have two different errors");

export async function work(client: Client): Promise<void> {
  await using lock: Lock = await client.acquire("orders/1001", { waitMs: 5_000 });
  gate.admit(lock);
  gate.admit(claimOf(lock, "orders/1001"));
}

/** What a program hands on that has options of its own: each may be undefined. */
export async function handOn(
  client: Client,
  options: { waitMs?: number | undefined; signal?: AbortSignal | undefined },
): Promise<void> {
  const { waitMs, signal } = options;
  await client.using("orders/1001", { ...options, priority: undefined }, () => undefined);
  const [lock] = await Promise.all([
    client.acquire("a", { waitMs, signal, value: undefined, task: undefined }),
    client.tryAcquire("b", { signal }),
    client.acquireAll([{ key: "c", mode: undefined }], { waitMs }),
    client.semaphore("d", { limit: undefined }).acquire({ permits: undefined, waitMs }),
    connect({ endpoints: undefined, ttlMs: undefined, signal }),
    connectAdmin({ timeoutMs: undefined, signal }),
    clusterStatus(undefined, { timeoutMs: undefined, signal }),
  ]);
  await lock.upgrade({ waitMs, signal });
  const handed = await lock.handOver({ ttlMs: undefined, owner: undefined });
  await client.adopt(handed, { task: undefined, rest: undefined, signal });
  await client.revoke({ key: "a" }, { graceMs: undefined, reason: undefined, signal });
  client.watch("a", { after: undefined, signal });
  await client.locks.request("w", { mode: undefined, ifAvailable: undefined, signal }, () => 1);
  new Gate({ name: undefined, state: undefined });
}
if (![connect, fenceRequests, SqlFence].every((door) => typeof door === "function")) {
  throw new Error("a door is missing");
}
`;

function write(path: string, text: string): void {
  mkdirSync(dirname(join(project, path)), { recursive: true });
  writeFileSync(join(project, path), text);
}

function run(program: string, ...args: readonly string[]): string {
  try {
    return execFileSync(program, args, { cwd: project, encoding: "utf8", stdio: "pipe" });
  } catch (error) {
    const { stdout, stderr } = error as { stdout: string; stderr: string };
    throw new Error(`${program} ${args.join(" ")}\n${stdout}${stderr}`);
  }
}

beforeAll(() => {
  const options = ["--ignore-scripts", "--json", "--offline", "--pack-destination", project];
  const output = execFileSync("npm", ["pack", ...options], { cwd: ROOT, encoding: "utf8" });
  const [{ filename, files }] = JSON.parse(output.slice(output.indexOf("[")));
  packed.push(...files.map(({ path }: { path: string }) => path));
  mkdirSync(join(project, "node_modules/holdfast"), { recursive: true });
  const tarball = join(project, filename);
  execFileSync("tar", ["-xzf", tarball, "-C", join(project, "node_modules/holdfast"), "--strip=1"]);

  mkdirSync(join(project, "node_modules/@types"));
  for (const name of [...Object.keys(MANIFEST.dependencies), "@types/node"]) {
    symlinkSync(join(ROOT, "node_modules", name), join(project, "node_modules", name));
  }
  write("package.json", JSON.stringify({ name: "consumer", type: "module", private: true }));
  write("consumer.ts", CONSUMER);
});

afterAll(() => rmSync(project, { recursive: true, force: true }));

test("what is packed is what is used: no tests, no sources, no traces of building", () => {
  const expected =
    /^(package\.json|README\.md|LICENSE|CHANGELOG\.md|ARCHITECTURE\.md|docs\/.+\.(md|json|svg|png)|clients\/.+|deploy\/.+\.(json|yml)|dist\/(src|bin|commonjs|dashboard)\/.+)$/;
  expect(packed.filter((path) => !expected.test(path))).toEqual([]);
  expect(packed).toContain("dist/src/fence/index.d.ts");
  expect(packed).toContain("dist/bin/holdfast.js");
});

const COMPILERS: readonly (readonly [string, string])[] = [
  ["the compiler of this repository", join(ROOT, "node_modules/typescript/bin/tsc")],
  [
    "the oldest one that the documents name",
    join(ROOT, "test/types/oldest-typescript/node_modules/typescript/bin/tsc"),
  ],
];

const SURROUNDINGS: readonly (readonly [string, object])[] = [
  ["Node", { module: "nodenext", moduleResolution: "nodenext", types: ["node"] }],
  [
    "a bundler, for browsers, without the types of Node",
    {
      module: "esnext",
      moduleResolution: "bundler",
      types: [],
      lib: ["ES2022", "DOM", "ESNext.Disposable"],
    },
  ],
];

describe.each(COMPILERS)("by %s", (_, compiler) => {
  const diagnostics = (): string => run(process.execPath, compiler, "-p", "tsconfig.json");

  test.each(SURROUNDINGS)("its types are whole for %s", (__, options) => {
    const strict = {
      target: "ES2022",
      lib: ["ES2022", "ESNext.Disposable"],
      strict: true,
      exactOptionalPropertyTypes: true,
      skipLibCheck: false,
      noEmit: true,
    };
    const config = { compilerOptions: { ...strict, ...options }, files: ["consumer.ts"] };
    write("tsconfig.json", JSON.stringify(config));
    expect(diagnostics()).toBe("");
  });

  test("its types bring along what they need beyond the libraries of the target", () => {
    // As a template for a web page has it: no `lib`, no types of Node.
    const options = { target: "ES2022", module: "esnext", moduleResolution: "bundler", types: [] };
    const compilerOptions = { ...options, strict: true, skipLibCheck: false, noEmit: true };
    write("plain.ts", CONSUMER.replace("await using lock", "const lock"));
    write("tsconfig.json", JSON.stringify({ compilerOptions, files: ["plain.ts"] }));
    expect(diagnostics()).toBe("");
  });
});

/** Only the oldest compiler still knows how Node.js 10 looked for files. */
const COMMONJS: readonly (readonly [string, object])[] = [
  ["node10", { module: "commonjs", moduleResolution: "node10" }],
  ["node16", { module: "node16", moduleResolution: "node16" }],
];

test.each(COMMONJS)("its types are whole for CommonJS with %s", (_, options) => {
  const [, [, oldest]] = COMPILERS as readonly [unknown, readonly [string, string]];
  const strict = { target: "ES2022", lib: ["ES2022", "ESNext.Disposable"], types: ["node"] };
  const compilerOptions = { ...strict, ...options, strict: true, noEmit: true };
  write("commonjs/package.json", JSON.stringify({ type: "commonjs" }));
  write("commonjs/consumer.ts", CONSUMER);
  const config = { compilerOptions, files: ["consumer.ts"] };
  write("commonjs/tsconfig.json", JSON.stringify(config));
  expect(run(process.execPath, oldest, "-p", "commonjs/tsconfig.json")).toBe("");
});

test("what cannot load ES modules gets a build for CommonJS, and Node one copy for both", () => {
  const { code } = transformSync(CONSUMER, { loader: "ts", target: "node20", format: "cjs" });
  write("commonjs/consumer.cjs", code);
  run(process.execPath, "--no-experimental-require-module", "commonjs/consumer.cjs");
  write(
    "both.mjs",
    `import { createRequire } from "node:module";
    import * as imported from "holdfast";
    const required = createRequire(import.meta.url)("holdfast");
    if (required.HoldfastError !== imported.HoldfastError) process.exit(1);`,
  );
  run(process.execPath, "both.mjs");
});

test("its doors open in Node, and a door that is none stays shut", () => {
  const { code } = transformSync(CONSUMER, { loader: "ts", target: "node20" });
  write("consumer.mjs", code);
  run(process.execPath, "consumer.mjs");
  write("required.cjs", 'if (typeof require("holdfast").connect !== "function") process.exit(1);');
  run(process.execPath, "required.cjs");
  write("intruder.mjs", 'import "holdfast/dist/src/server/index.js";');
  expect(() => run(process.execPath, "intruder.mjs")).toThrow("ERR_PACKAGE_PATH_NOT_EXPORTED");
});

test("its command runs", () => {
  const command = join(project, "node_modules/holdfast/dist/bin/holdfast.js");
  expect(run(command, "--version").trim()).toBe(MANIFEST.version);
});
