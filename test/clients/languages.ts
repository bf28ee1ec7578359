/** The clients of `clients`, and how their parts of a transcript are played. */
import { spawn, spawnSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { endWithProcess } from "../../lab/end-with-process.js";
import { findCommand } from "../../lab/find-command.js";
import { buildJava, javaCommand, lackOfJava } from "./java-client.js";
import { CLIENTS, type WantedLock, type WantedWatch } from "./transcript.js";

const DRIVERS = fileURLToPath(new URL("./drivers/", import.meta.url));

/** What a driver should do: take a lock or be elected with it, look or watch. */
export interface Part {
  readonly lock?: WantedLock;
  readonly looks?: string;
  readonly watches?: WantedWatch;
  readonly elects?: boolean;
  readonly extendsMs?: number;
  readonly holds?: string;
  readonly forks?: boolean;
}

export interface Language {
  readonly name: string;
  /** Why it cannot be tested here; `undefined`: it can. */
  readonly missing: string | undefined;
  /** Builds what has to be built. */
  prepare(): void;
  command(part: Part): readonly string[];
  /** What this client reports of what is expected of all. */
  expected(reports: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>>;
  readonly env?: Readonly<Record<string, string>>;
}

function missing(program: string): string | undefined {
  return findCommand(program) === undefined ? `${program} is not installed` : undefined;
}

/** The build of the Go driver; the compiler keeps what it has compiled next to it. */
const GO_DIRECTORY = join(tmpdir(), "holdfast-go");
const GO_DRIVER = join(GO_DIRECTORY, "driver");
/** Only the standard library is needed, so nothing is looked for. */
const GO_ENV = { GOFLAGS: "-mod=mod", GOPROXY: "off", GOCACHE: join(GO_DIRECTORY, "cache") };

/** Runs a command of Go; throws what it prints if that fails. */
export function runGo(
  words: readonly string[],
  cwd: string,
  { go = "go", env = {} }: { go?: string; env?: Readonly<Record<string, string>> } = {},
): string {
  const options = { cwd, env: { ...process.env, ...GO_ENV, ...env }, encoding: "utf8" } as const;
  const { status, stdout, stderr } = spawnSync(go, words, options);
  if (status !== 0) throw new Error(`go ${words.join(" ")}: ${stdout}${stderr}`);
  return stdout;
}

export const PYTHON = findCommand("python3", ["/usr/bin"]);
const PYTHON_ENV = { HOLDFAST_PYTHON: `${CLIENTS}python`, PYTHONDONTWRITEBYTECODE: "1" };

export const LANGUAGES: readonly Language[] = [
  {
    name: "python",
    missing: PYTHON === undefined ? "python3 is not installed" : undefined,
    prepare: () => undefined,
    command: (part) => [PYTHON ?? "", `${DRIVERS}driver.py`, JSON.stringify(part)],
    expected: (reports) => reports,
    env: PYTHON_ENV,
  },
  {
    name: "python-asyncio",
    missing: PYTHON === undefined ? "python3 is not installed" : undefined,
    prepare: () => undefined,
    command: (part) => [PYTHON ?? "", `${DRIVERS}driver_aio.py`, JSON.stringify(part)],
    expected: (reports) => reports,
    env: PYTHON_ENV,
  },
  {
    name: "go",
    missing: missing("go"),
    prepare: () => {
      mkdirSync(GO_DIRECTORY, { recursive: true });
      runGo(["build", "-o", GO_DRIVER, "."], `${DRIVERS}go`);
    },
    command: (part) => [GO_DRIVER, JSON.stringify(part)],
    expected: (reports) => reports,
  },
  {
    name: "php",
    missing: missing("php"),
    prepare: () => undefined,
    command: (part) => ["php", `${DRIVERS}driver.php`, JSON.stringify(part)],
    expected: (reports) => reports,
    env: { HOLDFAST_PHP: `${CLIENTS}php/autoload.php` },
  },
  {
    name: "java",
    missing: lackOfJava(),
    prepare: () => void buildJava(),
    command: (part) => [
      ...javaCommand(buildJava().classPath, "dev.holdfast.Driver"),
      // Java takes its arguments for text in the encoding of the locale.
      JSON.stringify(part).replace(/[^ -~]/g, (unit) => `\\u${hexOf(unit)}`),
    ],
    expected: (reports) => reports,
  },
  {
    name: "shell",
    missing: missing("curl"),
    prepare: () => undefined,
    command: ({ lock, holds }) => {
      const { keys = [], ttlMs = 0, waitMs, shared, permits, limit } = lock ?? {};
      return [
        ...["sh", `${DRIVERS}driver.sh`, holds === undefined ? "end" : "hold"],
        ...["-t", String(ttlMs / 1_000), "-k", "1"],
        ...(typeof waitMs === "number" ? ["-w", String(waitMs / 1_000)] : []),
        ...(shared === true ? ["-s"] : []),
        ...(permits === undefined ? [] : ["-p", String(permits)]),
        ...(limit === undefined ? [] : ["-l", String(limit)]),
        ...keys,
      ];
    },
    // It reports by its exit code, which has no place for reasons and most codes.
    expected: ({ token, outcome }) => {
      const told = ["released", "lost", "LOCK_HELD", "LOCK_TIMEOUT", "UNAVAILABLE"];
      const reported = told.includes(String(outcome)) ? outcome : "REFUSED";
      return { ...(token === undefined ? {} : { token }), outcome: reported };
    },
    env: { HOLDFAST_RECIPE: `${CLIENTS}shell/with-lock.sh` },
  },
];

function hexOf(unit: string): string {
  return unit.charCodeAt(0).toString(16).padStart(4, "0");
}

export interface Driver {
  /** Tells it to give the lock back. */
  finish(): void;
  /** Resolves when it has printed a line for the first time. */
  readonly holding: Promise<void>;
  /** Resolves with what it reported; rejects if it fails. */
  readonly reports: Promise<Readonly<Record<string, unknown>>>;
}

export function startDriver(
  { command, env }: Language,
  part: Part,
  endpoints: string,
  accessToken: string,
  environment: Readonly<Record<string, string>> = {},
): Driver {
  const [file = "", ...words] = command(part);
  const child = spawn(file, words, {
    stdio: "pipe",
    env: {
      PATH: process.env["PATH"],
      HOLDFAST_ENDPOINTS: endpoints,
      ...(accessToken === "" ? {} : { HOLDFAST_ACCESS_TOKEN: accessToken }),
      ...env,
      ...environment,
    },
  });
  endWithProcess(child);
  child.stdin.on("error", () => undefined);
  let [out, errors] = ["", ""];
  child.stderr.on("data", (piece) => (errors += String(piece)));
  const holding = new Promise<void>((resolve) => {
    child.stdout.on("data", (piece) => {
      out += String(piece);
      resolve();
    });
  });
  const reports = new Promise<Readonly<Record<string, unknown>>>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code, signal) => {
      if (code !== 0) reject(new Error(`the driver ended with ${code ?? signal}: ${errors}`));
      const lines = out.split("\n").filter((line) => line !== "");
      resolve(Object.assign({}, ...lines.map((line) => JSON.parse(line) as object)));
    });
  });
  return { finish: () => child.stdin.write("\n"), holding, reports };
}
