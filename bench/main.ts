/**
 * `npm run bench`: runs one workload against a cluster of its own or a running one and prints one
 * table or one JSON object. Exit code 0 when it was measured without a violation, 1 when not, 2 for
 * wrong usage, 128 + n when interrupted; its cluster is stopped in each case.
 */
import { setMaxListeners } from "node:events";
import { constants } from "node:os";
import { type BenchOptions, parseBenchOptions, UsageError } from "./bench-options.js";
import { USAGE } from "./bench-usage.js";
import { measure } from "./workloads.js";

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
  // Each client listens, which is no leak.
  setMaxListeners(0, interruption.signal);
  let received: NodeJS.Signals | undefined;
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    process.on(signal, () => {
      received ??= signal;
      interruption.abort();
    });
  }
  try {
    const { result, lines, violations } = await measure(options, interruption.signal);
    const text = options.isJson ? JSON.stringify(result) : lines.join("\n");
    process.stdout.write(`${text}\n`);
    return violations === 0 ? EXIT.done : EXIT.failed;
  } catch (error) {
    if (received !== undefined) return EXIT.signalBase + constants.signals[received];
    complain(error instanceof Error ? error.message : String(error));
    if (process.env["HOLDFAST_DEBUG"]) console.error(error);
    return EXIT.failed;
  }
}

function complain(message: string): void {
  process.stderr.write(`bench: ${message}\n`);
}

process.exit(await main(process.argv.slice(2)));
