/**
 * One measurement in a process of its own: with a fresh heap, nothing left from the previous one,
 * and a certain end even if a server or a library hangs. It ends when this process does.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { describeMachine, LOAD_BEFORE_VARIABLE } from "../measures/machine.js";
import { LOAD_WORKLOADS, type Workload } from "../options/bench-numbers.js";
import type { BenchOptions } from "../options/bench-options.js";

const MAIN = fileURLToPath(new URL("../main.js", import.meta.url));
/** For starting and stopping servers, connecting and draining. */
const AROUND_MS_MAX = 180_000;
/** Workloads that end when they have enough data have their own limits; this is beyond them. */
const OPEN_END_MS_MAX = 7_200_000;
/** From the request to end until the kill: it first has to end its servers. */
const END_MS_MAX = 30_000;

/**
 * Rejects with the failure that the process reported, if it took too long, and if `signal` is
 * aborted.
 *
 * @param runtime the Node.js that runs it, and the nodes that it starts
 */
export async function measureApart(
  argv: readonly string[],
  options: BenchOptions,
  runtime: string,
  signal: AbortSignal,
): Promise<object> {
  signal.throwIfAborted();
  const child = spawn(runtime, [MAIN, ...argv, "--json", "--supervised"], {
    stdio: ["pipe", "pipe", "inherit"],
    env: { ...process.env, [LOAD_BEFORE_VARIABLE]: String(describeMachine().loadBefore) },
  });
  child.stdin.on("error", () => undefined);
  let isLate = false;
  const end = (): void => {
    child.kill("SIGTERM");
    kill ??= setTimeout(() => child.kill("SIGKILL"), END_MS_MAX);
  };
  let kill: NodeJS.Timeout | undefined;
  const limitMs = limitOf(options);
  const limit = setTimeout(() => {
    isLate = true;
    end();
  }, limitMs);
  signal.addEventListener("abort", end, { once: true });
  try {
    const [output] = await Promise.all([text(child.stdout), once(child, "close")]);
    signal.throwIfAborted();
    if (isLate) throw new Error(`did not end within ${limitMs / 1_000} s`);
    const said = parseOutput(output);
    if (said === undefined) throw new Error(`ended with ${child.signalCode ?? child.exitCode}`);
    if ("failure" in said) throw new Error(String(said.failure));
    return said;
  } finally {
    clearTimeout(limit);
    clearTimeout(kill);
    signal.removeEventListener("abort", end);
  }
}

function parseOutput(output: string): { readonly failure?: unknown } | undefined {
  try {
    return JSON.parse(output) as { readonly failure?: unknown };
  } catch {
    return undefined; // It was killed before it could report anything.
  }
}

function limitOf(options: BenchOptions): number {
  const isLoad = (LOAD_WORKLOADS as readonly Workload[]).includes(options.workload);
  if (!isLoad || !("seconds" in options)) return OPEN_END_MS_MAX;
  return AROUND_MS_MAX + (options.seconds + options.warmupSeconds) * 1_000;
}
