/**
 * `holdfast run KEY… -- COMMAND`: runs a command while holding one lock or several. A lock is never
 * released before the command is gone, and the command is gone before another can hold the lock.
 * The exit code is the command's, unless `run` has something to say itself (see `exit-codes.ts`).
 */
import { hostname } from "node:os";
import type { Command } from "commander";
import type { Client, HeldItem, Lock } from "../../src/index.js";
import { withPlightTold } from "../cluster/cluster-plight.js";
import { type ClusterAccess, clusterAccessFor, examplesText } from "../config/command-options.js";
import { Configuration } from "../config/configuration.js";
import { addOptions } from "../config/flags.js";
import { CONNECTION_OPTIONS, RUN_OPTIONS } from "../config/option-table.js";
import { formatDuration } from "../output/durations.js";
import { EXIT, exitCodeOfSignal } from "../output/exit-codes.js";
import { Failure, failureOf } from "../output/failure.js";
import { onUnplannedExit } from "../output/last-resort.js";
import { note } from "../output/terminal.js";
import { CommandProcess } from "../run/command-process.js";
import { findExecutable } from "../run/find-executable.js";
import { endsByCap } from "../run/kill-schedule.js";
import { LockGuard } from "../run/lock-guard.js";
import { parentDeathPrefix } from "../run/parent-death.js";
import { maxHoldText, planRun, type RunPlan } from "../run/run-plan.js";
import { SignalRelay } from "../run/signal-relay.js";
import { accessWithin, connectedWithin, NodeSearch, waitForLock } from "../run/wait-for-lock.js";

/** How long the end of the session may take; the lease ends it anyway. */
const FAREWELL_MS_MAX = 3_000;
/** After a release that was not confirmed. */
const LAST_TRY_MS_MAX = 250;

const EXAMPLES: readonly (readonly [string, string])[] = [
  ["holdfast run deploy -- ./deploy.sh --all", "wait as long as it takes"],
  ["holdfast run -n nightly -- ./job", "do not wait: exit 3 if it is held"],
  ["holdfast run -w 30s reports -- ./job", "wait 30 seconds, then exit 124"],
  ["holdfast run -s config -- cat app.conf", "shared: several readers at once"],
  ["holdfast run a b -- ./move a b", "both or neither, in any order"],
  ["holdfast run --limit 4 gpu -- ./train", "one of four: see HOLDFAST_SLOT"],
  ["holdfast run -n --min-hold 1m hourly -- ./job", "once, though many start it"],
  ["holdfast run db -c 'pg_dump app | gzip > app.gz'", "a line for the shell"],
];

const NOTES = `
The command finds in its environment: HOLDFAST_KEY, HOLDFAST_TOKEN (the fencing
token: send it with every write to what the lock protects), HOLDFAST_SLOT (of a
semaphore: its numbers, separated by commas; of a lock: empty), HOLDFAST_SESSION
and HOLDFAST_ENDPOINTS. Of several keys each has a line of its own in
HOLDFAST_KEY and HOLDFAST_SLOT; they share one token.

A run that finds no cluster says so after a second and tries on for
--connect-timeout, but never longer than --wait, and with -n not where every
node refuses the connection: exit code 4. One that waits for its lock goes on
waiting while the cluster is away. If the cluster hears nothing from it for
longer than --ttl, because the network was cut or the machine slept, its place
in the queue is lost: it says so and waits on at the end, as long as --wait
allows. A wait that an operator ends ("holdfast session end") is over, with exit
code 5.

Signals (HUP, INT, QUIT, TERM, USR1, USR2) are passed on to the command and what
it has started. If standard input is no terminal, they run in a session and
process group of their own, which gets every signal as a whole. If it is one,
they stay in the terminal's job, to be able to read from it, and get Ctrl-C from
the terminal itself: while the job is in the foreground, INT and QUIT are taken
to be the terminal's and are not passed on; to end such a run from elsewhere use
TERM. Other signals reach the command and what it has started, but nobody else
of the job (Linux; elsewhere the command alone). Stopped by Ctrl-Z, or for
reading from the terminal in the background, run and command stand still
together: after --ttl the lock is lost, and the command is ended as soon as they
go on. In the background give it < /dev/null. Node.js undoes nohup: for a run
that is to outlive its terminal use setsid.

When the lock is being lost, the command gets SIGTERM while --kill-grace is
still left and SIGKILL before another can hold the lock; exit code 6. The same
happens when an operator revokes the lock, and when --max-hold is over. If run
itself is killed by SIGKILL, the command is killed too where the system can do
it (Linux with setpriv of util-linux; not for set-user-id programs, and not what
the command started itself). Elsewhere, and while run alone is stopped by
SIGSTOP for longer than --ttl, it goes on without a lock: let the resource check
the fencing token.

Exit code: that of the command, or 128+n if signal n ended it; 3, 4, 6, 124 to
127 as shown by "holdfast help exit-codes".`;

export function defineRun(command: Command, finish: (exitCode: number) => void): void {
  command
    .usage("[options] <key...> -- <command> [argument...]")
    .addHelpText("before", examplesText(EXAMPLES))
    .argument("[operands...]");
  addOptions(command, RUN_OPTIONS);
  addOptions(command, CONNECTION_OPTIONS);
  command.addHelpText("after", NOTES).action(async (operands: readonly string[]) => {
    const flags = Configuration.of(command).settle(RUN_OPTIONS);
    const plan = planRun(operands, flags, process.argv.slice(2));
    finish(await run(plan, clusterAccessFor(command)));
  });
}

export async function run(plan: RunPlan, access: ClusterAccess): Promise<number> {
  const sharesTerminal = process.stdin.isTTY === true;
  const signals = new SignalRelay(sharesTerminal);
  const sinceMs = performance.now();
  try {
    const { connect, requireKey } = await import("../../src/client/index.js");
    // What cannot be a name is told before a cluster is looked for.
    for (const { key } of plan.items) requireKey(key);
    const search = new NodeSearch(plan, signals.waiting);
    const connecting = connect({
      ...accessWithin(plan, access),
      ttlMs: plan.ttlMs,
      name: `${hostname()} run ${process.pid}`,
      signal: search.signal,
    });
    const [client, prefix] = await Promise.all([
      connectedWithin(withPlightTold(connecting, access.endpoints, search.plight), plan, access),
      parentDeathPrefix(),
    ]);
    let lock: Lock | undefined;
    try {
      lock = await waitForLock(client, plan, signals.waiting, sinceMs);
      return await runUnderLock({ client, lock, plan, prefix, signals, sharesTerminal });
    } finally {
      await leave({ client, lock, plan, signals, withinMs: access.connectTimeoutMs });
    }
  } catch (error) {
    if (signals.ending !== undefined) return exitCodeOfSignal(signals.ending);
    return quietExitCode(error, plan);
  }
}

/** What `--quiet` leaves to the exit code: the outcomes a script asks for. Rethrows the rest. */
export function quietExitCode(error: unknown, plan: RunPlan): number {
  const said = [plan.conflictExitCode, EXIT.timedOut, EXIT.lost];
  const { exitCode } = failureOf(error);
  if (plan.isQuiet && said.includes(exitCode)) return exitCode;
  throw error;
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
  // From here to the `attach` of the command no turn of the event loop passes: a signal ends the
  // wait or is the command's, and none falls in between.
  if (signals.ending !== undefined) return exitCodeOfSignal(signals.ending);
  findExecutable(plan.argv[0] ?? "");
  // This process may have been stopped since the grant: then nothing is begun.
  lock.assertHeld();
  const command = await CommandProcess.start({
    prefix,
    argv: plan.argv,
    environment: {
      HOLDFAST_KEY: lock.keys.join("\n"),
      HOLDFAST_TOKEN: String(lock.token),
      HOLDFAST_SLOT: lock.items.map(slotsText).join("\n"),
      HOLDFAST_SESSION: String(client.session),
      HOLDFAST_ENDPOINTS: client.endpoints.join(","),
    },
    sharesTerminal,
  });
  return guardCommand(holding, command);
}

/** Empty for a lock: a nested run must not show the slot of the outer one. */
function slotsText({ slots }: HeldItem): string {
  return slots.join(",");
}

async function guardCommand(holding: Holding, command: CommandProcess): Promise<number> {
  const { lock, plan, signals } = holding;
  const sinceMs = performance.now();
  const why = lossTeller(lock, plan, sinceMs);
  const forget = onUnplannedExit(() => command.kill());
  const guard = new LockGuard({
    lock,
    command,
    killGraceMs: plan.killGraceMs,
    onLoss: (remainingMs) => {
      if (!plan.isQuiet) note(`the lock ${plan.name} ${why(remainingMs)}: ending the command`);
    },
  });
  signals.attach(command, () => guard.check());
  const exitCode = await command.ended;
  forget();
  // Before the guard is stopped: a lock that was lost unnoticed (this process was stopped) counts.
  const wasHeld = lock.isHeld;
  guard.stop();
  if (guard.hasTerminated || !wasHeld) {
    throw new Failure(EXIT.lost, `the lock ${plan.name} was lost before the command had ended`);
  }
  return exitCode;
}

/** What is said of a lock whose end has come near. */
function lossTeller(lock: Lock, plan: RunPlan, sinceMs: number): (remainingMs: number) => string {
  let revoked: string | undefined;
  lock.on("revoking", ({ reason, remainingMs }) => {
    revoked = reason === "" ? "is being revoked" : `is being revoked (${reason})`;
    const leftMs = remainingMs - plan.killGraceMs;
    if (leftMs <= 0 || plan.isQuiet) return;
    note(`the lock ${plan.name} ${revoked}: the command has ${formatDuration(leftMs)} to end`);
  });
  return (remainingMs) => {
    const heldMs = performance.now() - sinceMs;
    const isCapped = endsByCap(plan.maxHoldMs, plan.ttlMs, heldMs, remainingMs);
    return revoked ?? (isCapped ? `has reached ${maxHoldText(plan)}` : "is being lost");
  };
}

interface Leaving {
  readonly client: Client;
  readonly lock: Lock | undefined;
  readonly plan: RunPlan;
  readonly signals: SignalRelay;
  /** How long a node is looked for that confirms the release. */
  readonly withinMs: number;
}

/** Only called when there is no command, or no command any more. A signal cuts it short. */
async function leave({ client, lock, plan, signals, withinMs }: Leaving): Promise<void> {
  const { leaving } = signals;
  const isConfirmed = lock === undefined || (await settles(lock.release(), withinMs, leaving));
  if (!isConfirmed && !plan.isQuiet) {
    const lease = formatDuration(plan.ttlMs);
    note(`the cluster did not confirm the release of ${plan.name}: it ends within ${lease}`);
  }
  await settles(client.close(), isConfirmed ? FAREWELL_MS_MAX : LAST_TRY_MS_MAX, leaving);
}

/** Whether `promise` resolves in time. The cluster may be away for long; the lease ends anyway. */
async function settles(
  promise: Promise<unknown>,
  withinMs: number,
  leaving: AbortSignal,
): Promise<boolean> {
  const over = AbortSignal.any([leaving, AbortSignal.timeout(withinMs)]);
  const late = new Promise<boolean>((resolve) => {
    if (over.aborted) resolve(false);
    over.addEventListener("abort", () => resolve(false), { once: true });
  });
  return Promise.race([promise.then(() => true), late]);
}
