/**
 * One process of a peer's server, run by a guardian (`guardian.ts`) so that it always ends with
 * this process. Its output is kept for the case that it fails.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chownSync, existsSync, mkdirSync } from "node:fs";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { GuardedServer } from "./guardian.js";

const LINES_MAX = 20;
/** The guardian kills the server after five seconds; this limit is for the guardian. */
const GONE_MS_MAX = 15_000;

export type PeerCommand = Pick<GuardedServer, "command" | "arguments" | "directory"> &
  Partial<Pick<GuardedServer, "environment" | "stopSignal" | "user">>;

export class PeerProcess {
  readonly name: string;
  /** The process id of the server. */
  readonly pid: number;
  /** Rejects if the server ends although it was not stopped here; never resolves. */
  readonly death: Promise<never>;
  readonly #guardian: ChildProcess;
  readonly #gone: Promise<unknown>;
  #isEnding = false;

  private constructor(name: string, pid: number, guardian: ChildProcess, lines: string[]) {
    this.name = name;
    this.pid = pid;
    this.#guardian = guardian;
    this.#gone = once(guardian, "close");
    this.death = this.#gone.then(() => {
      if (this.#isEnding) return new Promise<never>(() => undefined);
      throw new Error(`${name} ended by itself\n${lines.join("\n")}`);
    });
    this.death.catch(() => undefined);
  }

  /** Resolves when it was started; the caller finds out when it answers. */
  static async start(name: string, server: PeerCommand): Promise<PeerProcess> {
    const { user = null, environment = {}, stopSignal = "SIGTERM" } = server;
    mkdirSync(server.directory, { recursive: true, mode: 0o700 });
    if (user !== null) chownSync(server.directory, user.uid, user.gid);
    const guarded: GuardedServer = { ...server, user, environment, stopSignal };
    const guardian = spawn(process.execPath, [findGuardian(), JSON.stringify(guarded)], {
      // In a session of its own: Ctrl-C is for this process, which then ends its servers.
      detached: true,
      stdio: ["pipe", "pipe", "pipe"],
    });
    guardian.stdin.on("error", () => undefined);
    const lines: string[] = [];
    createInterface({ input: guardian.stderr }).on("line", (line) => {
      lines.push(line);
      if (lines.length > LINES_MAX) lines.shift();
    });
    const output = createInterface({ input: guardian.stdout });
    const failed = once(guardian, "close").then(() => {
      throw new Error(`${name} could not be started\n${lines.join("\n")}`);
    });
    failed.catch(() => undefined);
    const [first] = (await Promise.race([once(output, "line"), failed])) as [string];
    return new PeerProcess(name, Number(first), guardian, lines);
  }

  /** Resolves when it is gone, and its directory with it. */
  async stop(): Promise<void> {
    this.#isEnding = true;
    this.#guardian.stdin?.destroy();
    const timer = setTimeout(() => this.#guardian.kill("SIGKILL"), GONE_MS_MAX);
    await this.#gone;
    clearTimeout(timer);
  }
}

/** The built one, seen from `dist/bench/peers` and from `bench/peers`. */
function findGuardian(): string {
  for (const path of ["./guardian.js", "../../dist/bench/peers/guardian.js"]) {
    const file = fileURLToPath(new URL(path, import.meta.url));
    if (existsSync(file)) return file;
  }
  throw new Error("dist/bench/peers/guardian.js is missing: run npm run build");
}
