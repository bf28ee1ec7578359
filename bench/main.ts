/**
 * `npm run bench`: runs one workload against a cluster of its own or a running one and prints one
 * table or one JSON object. Exit code 0 when it was measured without a violation, 1 when not, 2 for
 * wrong usage, 128 + n when interrupted; its cluster is stopped in each case.
 */
import { constants } from "node:os";
import { type BenchOptions, parseBenchOptions, USAGE, UsageError } from "./bench-options.js";
import { type OwnCluster, startOwnCluster } from "./own-cluster.js";
import { reportLines } from "./report.js";
import { runBench } from "./run-bench.js";

const EXIT = { done: 0, failed: 1, usage: 2, signalBase: 128 } as const;

async function main(argv: readonly string[]): Promise<number> {
  let options: BenchOptions | undefined;
  try {
    options = parseBenchOptions(argv);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    complain(`${error.message} (--help shows how)`);
    return EXIT.usage;
  }
  if (options === undefined) {
    process.stdout.write(`${USAGE}\n`);
    return EXIT.done;
  }
  const interruption = new AbortController();
  let received: NodeJS.Signals | undefined;
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    process.on(signal, () => {
      received ??= signal;
      interruption.abort();
    });
  }
  try {
    return await measure(options, interruption);
  } catch (error) {
    if (received !== undefined) return EXIT.signalBase + constants.signals[received];
    complain(error instanceof Error ? error.message : String(error));
    if (process.env["HOLDFAST_DEBUG"]) console.error(error);
    return EXIT.failed;
  }
}

async function measure(options: BenchOptions, interruption: AbortController): Promise<number> {
  let cluster: OwnCluster | undefined;
  try {
    if (options.endpoints === undefined) cluster = await startOwnCluster();
    interruption.signal.throwIfAborted();
    const endpoints = cluster?.endpoints ?? options.endpoints ?? [];
    const run = runBench(options, endpoints, interruption.signal);
    const ended = cluster?.ended.then(() => {
      throw new Error("the cluster ended during the run");
    });
    const result = await (ended === undefined ? run : Promise.race([run, ended]));
    const lines = options.isJson ? [JSON.stringify(result)] : reportLines(result);
    process.stdout.write(`${lines.join("\n")}\n`);
    return result.fencingViolations === 0 ? EXIT.done : EXIT.failed;
  } finally {
    await cluster?.stop();
  }
}

function complain(message: string): void {
  process.stderr.write(`bench: ${message}\n`);
}

process.exit(await main(process.argv.slice(2)));
