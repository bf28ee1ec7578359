/**
 * `holdfast run KEY -- COMMAND`: runs a command while holding a lock. The lock is never released
 * before the command is gone, and the command is gone before another can hold the lock. The exit
 * code is the command's, unless `run` has something to say itself (see `exit-codes.ts`).
 */
import { hostname } from "node:os";
import { type Command, Option } from "commander";
import type { Client, Lock } from "../../src/index.js";
import {
  type ClusterAccess,
  clusterAccessFor,
  connectTimeoutOption,
  durationArgument,
  endpointsOption,
  examplesText,
  wholeNumberArgument,
} from "../command-options.js";
import { formatDuration } from "../durations.js";
import { EXIT, exitCodeOfSignal } from "../exit-codes.js";
import { Failure } from "../failure.js";
import { onUnplannedExit } from "../last-resort.js";
import { CommandProcess } from "../run/command-process.js";
import { findExecutable } from "../run/find-executable.js";
import { LockGuard } from "../run/lock-guard.js";
import { parentDeathPrefix } from "../run/parent-death.js";
import { planRun, type RunFlags, type RunPlan } from "../run/run-plan.js";
import { SignalRelay } from "../run/signal-relay.js";
import { waitForLock } from "../run/wait-for-lock.js";
import { note } from "../terminal.js";

/** How long the end may take when the cluster does not answer; the lease ends the lock anyway. */
const FAREWELL_MS_MAX = 3_000;
/** After a release that was not confirmed. */
const LAST_TRY_MS_MAX = 250;

const EXAMPLES: readonly (readonly [string, string])[] = [
  ["holdfast run deploy -- ./deploy.sh --all", "wait as long as it takes"],
  ["holdfast run -n nightly -- ./job", "do not wait: exit code 3 if another holds it"],
  ["holdfast run -w 30s reports -- ./job", "wait 30 seconds: exit code 124 after that"],
  ["holdfast run -s config -- cat app.conf", "shared: several readers at once"],
  ["holdfast run db -c 'pg_dump app | gzip > app.gz'", "a line for the shell"],
];

const NOTES = `
The command finds HOLDFAST_KEY, HOLDFAST_TOKEN (the fencing token: send it with every write to what
the lock protects), HOLDFAST_SESSION and HOLDFAST_ENDPOINTS in its environment.

Signals are passed on to the command. If standard input is a terminal, the command stays in the
terminal's foreground job and gets Ctrl-C from the terminal; else it runs in a process group of its
own, which gets every signal as a whole.

When the lock is being lost, the command gets SIGTERM while --kill-grace is still left and SIGKILL
before another can hold the lock; exit code 6. If run itself is killed by SIGKILL, the command is
killed too where the system can do it (Linux with setpriv of util-linux; not for set-user-id
programs, and not what the command started itself). Elsewhere it goes on without a lock: let the
resource check the fencing token.

Exit code: that of the command, or 128+n if signal n ended it; 3, 4, 6, 124 to 127 as shown by
"holdfast help exit-codes".`;

export function defineRun(command: Command, finish: (exitCode: number) => void): void {
  command
    .usage("[options] <key> -- <command> [argument...]")
    .addHelpText("before", examplesText(EXAMPLES))
    .argument("[operands...]")
    // In this order: the negation of an option that is there already gets no default of its own.
    .addOption(
      new Option(
        "-w, --wait <duration>",
        "give up after this time (default: wait for ever)",
      ).argParser(durationArgument),
    )
    .addOption(new Option("-n, --no-wait", "give up at once if another holds the lock"))
    .option("-s, --shared", "share the lock with other shared holders")
    .addOption(
      new Option("--ttl <duration>", "how long the lock outlives a run that stopped answering")
        .argParser(durationArgument)
        .default(15_000, "15s"),
    )
    .addOption(
      new Option(
        "--kill-grace <duration>",
        "time between SIGTERM and SIGKILL when the lock is lost",
      )
        .argParser(durationArgument)
        .default(5_000, "5s"),
    )
    .addOption(
      new Option("-E, --conflict-exit-code <n>", "exit code if another holds the lock (with -n)")
        .argParser(wholeNumberArgument(0, 255))
        .default(EXIT.held),
    )
    .option("-q, --quiet", "say nothing that the exit code says as well")
    .option("-c, --command [line]", "run a line with /bin/sh")
    .addOption(endpointsOption())
    .addOption(connectTimeoutOption())
    .addHelpText("after", NOTES)
    .action(async (operands: readonly string[]) => {
      const plan = planRun(operands, command.opts<RunFlags>(), process.argv.slice(2));
      finish(await run(plan, clusterAccessFor(command)));
    });
}

async function run(plan: RunPlan, access: ClusterAccess): Promise<number> {
  const sharesTerminal = process.stdin.isTTY === true;
  const signals = new SignalRelay(sharesTerminal);
  try {
    const { connect } = await import("../../src/index.js");
    const [client, prefix] = await Promise.all([
      connect({
        ...access,
        ttlMs: plan.ttlMs,
        name: `${hostname()} run ${process.pid}`,
        signal: signals.waiting,
      }),
      parentDeathPrefix(),
    ]);
    let lock: Lock | undefined;
    try {
      lock = await waitForLock(client, plan, signals.waiting);
      return await runUnderLock({ client, lock, plan, prefix, signals, sharesTerminal });
    } finally {
      await leave(client, lock, plan);
    }
  } catch (error) {
    if (signals.ending !== undefined) return exitCodeOfSignal(signals.ending);
    if (plan.isQuiet && saysItByExitCode(error, plan)) return error.exitCode;
    throw error;
  }
}

/** What `--quiet` leaves to the exit code: the outcomes a script asks for. */
function saysItByExitCode(error: unknown, plan: RunPlan): error is Failure {
  if (!(error instanceof Failure)) return false;
  return [plan.conflictExitCode, EXIT.timedOut, EXIT.lost].includes(error.exitCode);
}

interface Holding {
  readonly client: Client;
  readonly lock: Lock;
  readonly plan: RunPlan;
  readonly prefix: readonly string[];
  readonly signals: SignalRelay;
  readonly sharesTerminal: boolean;
}

async function runUnderLock(holding: Holding): Promise<number> {
  const { client, lock, plan, prefix, signals, sharesTerminal } = holding;
  if (signals.ending !== undefined) return exitCodeOfSignal(signals.ending);
  findExecutable(plan.argv[0] ?? "");
  const command = await CommandProcess.start({
    prefix,
    argv: plan.argv,
    environment: {
      HOLDFAST_KEY: lock.key,
      HOLDFAST_TOKEN: String(lock.token),
      HOLDFAST_SESSION: String(client.session),
      HOLDFAST_ENDPOINTS: client.endpoints.join(","),
    },
    sharesTerminal,
  });
  return guardCommand(holding, command);
}

async function guardCommand(holding: Holding, command: CommandProcess): Promise<number> {
  const { lock, plan, signals } = holding;
  const forget = onUnplannedExit(() => command.kill());
  const guard = new LockGuard({
    lock,
    command,
    killGraceMs: plan.killGraceMs,
    onLoss: () => {
      if (!plan.isQuiet) note(`the lock ${plan.key} is being lost: ending the command`);
    },
  });
  signals.attach(command, () => guard.check());
  const exitCode = await command.ended;
  forget();
  // Before the guard is stopped: a lock that was lost unnoticed (this process was stopped) counts.
  const wasHeld = lock.isHeld;
  guard.stop();
  if (guard.hasTerminated || !wasHeld) {
    throw new Failure(EXIT.lost, `the lock ${plan.key} was lost before the command had ended`);
  }
  return exitCode;
}

/** Only called when there is no command, or no command any more. */
async function leave(client: Client, lock: Lock | undefined, plan: RunPlan): Promise<void> {
  const isConfirmed = lock === undefined || (await settles(lock.release(), FAREWELL_MS_MAX));
  if (!isConfirmed && !plan.isQuiet) {
    const lease = formatDuration(plan.ttlMs);
    note(`the cluster did not confirm the release of ${plan.key}: it ends within ${lease}`);
  }
  await settles(client.close(), isConfirmed ? FAREWELL_MS_MAX : LAST_TRY_MS_MAX);
}

/** Whether `promise` resolves in time. The cluster may be away for long; the lease ends anyway. */
async function settles(promise: Promise<unknown>, withinMs: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), withinMs);
  });
  try {
    return await Promise.race([promise.then(() => true), late]);
  } finally {
    clearTimeout(timer);
  }
}
