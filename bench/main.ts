/**
 * `npm run bench`: measures one or several workloads, and other systems for comparison, on servers
 * that it starts or on a running cluster, and prints tables or one JSON object. Exit code 0 if
 * everything was measured without a violation, 1 if not, 2 for wrong usage, 128 + n if interrupted;
 * in each case it stops everything that it started.
 */
import { setMaxListeners } from "node:events";
import { constants } from "node:os";
import { UsageError } from "../lab/command-line.js";
import { runSeveral } from "./comparison/comparison-run.js";
import { type Invocation, type One, parseInvocation } from "./options/invocation.js";
import { linesOf, measure, violationsOf } from "./workloads/workloads.js";

const EXIT = { done: 0, failed: 1, usage: 2, signalBase: 128 } as const;

async function main(argv: readonly string[]): Promise<number> {
  let invocation: Invocation;
  try {
    invocation = parseInvocation(argv);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    complain(`${error.message}; see npm run bench -- --help`);
    return EXIT.usage;
  }
  if (invocation.kind === "help") {
    process.stdout.write(invocation.text);
    return EXIT.done;
  }
  const interruption = new AbortController();
  // Each client listens, which is not a leak.
  setMaxListeners(0, interruption.signal);
  let received: NodeJS.Signals | undefined;
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    process.on(signal, () => {
      received ??= signal;
      interruption.abort();
    });
  }
  const isSupervised = invocation.kind === "one" && invocation.supervised === true;
  if (isSupervised) process.stdin.on("close", () => interruption.abort()).resume();
  try {
    const { signal } = interruption;
    const { text, isFailed } =
      invocation.kind === "one"
        ? await runOne(invocation, signal)
        : await runSeveral(invocation, argv, signal);
    process.stdout.write(`${text}\n`);
    return isFailed ? EXIT.failed : EXIT.done;
  } catch (error) {
    if (received !== undefined) return EXIT.signalBase + constants.signals[received];
    const message = error instanceof Error ? error.message : String(error);
    // The supervising process reports it.
    if (isSupervised) process.stdout.write(`${JSON.stringify({ failure: message })}\n`);
    else complain(message);
    if (process.env["HOLDFAST_DEBUG"]) console.error(error);
    return EXIT.failed;
  }
}

async function runOne(
  { options, json }: One,
  signal: AbortSignal,
): Promise<{ text: string; isFailed: boolean }> {
  const result = await measure(options, signal);
  const text = json === true ? JSON.stringify(result) : linesOf(result).join("\n");
  return { text, isFailed: violationsOf(result) > 0 };
}

function complain(message: string): void {
  process.stderr.write(`bench: ${message}\n`);
}

process.exit(await main(process.argv.slice(2)));
