/**
 * `holdfast run KEY… -- COMMAND`: runs a command while holding one lock or several. A lock is never
 * released before the command has ended, and the command has ended before another task can hold the
 * lock. The exit code is the command's, unless `run` itself has an error to report (see
 * `exit-codes.ts`).
 */
import { hostname } from "node:os";
import type { Command } from "commander";
import { HoldfastError } from "../../../src/errors/index.js";
import type { Client, HeldItem, Lock } from "../../../src/index.js";
import { within } from "../../../src/reach/portable.js";
import { withOutageReport } from "../../cluster/cluster-outage.js";
import {
  type ClusterAccess,
  certificateVariablesFor,
  clusterAccessFor,
  examplesText,
} from "../../config/command-options.js";
import { Configuration } from "../../config/configuration.js";
import { addOptions } from "../../config/flags.js";
import type { Ending, Finish } from "../../exit/ending.js";
import { EXIT } from "../../exit/exit-codes.js";
import { Failure, failureOf } from "../../exit/failure.js";
import { CONNECTION_OPTIONS, RUN_OPTIONS } from "../../options/option-table.js";
import { note } from "../../output/terminal.js";
import { onUnplannedExit } from "../../output/unplanned-exit.js";
import { CommandProcess } from "../../run/command-process.js";
import { enclosingHolds, heldVariable, metadataWithin } from "../../run/enclosing-holds.js";
import { findExecutable } from "../../run/find-executable.js";
import { endsByCap } from "../../run/kill-schedule.js";
import { LockGuard } from "../../run/lock-guard.js";
import { parentDeathPrefix } from "../../run/parent-death.js";
import { carried, givenWords } from "../../run/raw-words.js";
import { maxHoldText, planRun, type RunPlan } from "../../run/run-plan.js";
import { SignalRelay } from "../../run/signal-relay.js";
import { accessWithin, connectedWithin, NodeSearch, waitForLock } from "../../run/wait-for-lock.js";
import { formatDuration } from "../../text/durations.js";

/** How long ending the session may take; the lease ends it anyway. */
const FAREWELL_MS_MAX = 3_000;
/** After a release that was not confirmed. */
const LAST_TRY_MS_MAX = 250;

const UNAUTHENTICATED =
  "is lost, because the cluster no longer accepts the credential of this command";

const EXAMPLES: readonly (readonly [string, string])[] = [
  ["holdfast run deploy -- ./deploy.sh --all", "wait as long as necessary"],
  ["holdfast run -n nightly -- ./job", "do not wait: exit code 3 if it is held"],
  ["holdfast run -w 30s reports -- ./job", "wait 30 seconds, then exit code 124"],
  ["holdfast run -s config -- cat app.conf", "shared: several readers at once"],
  ["holdfast run a b -- ./move a b", "both locks or neither"],
  ["holdfast run --limit 4 gpu -- ./train", "one of four permits: see HOLDFAST_SLOT"],
  ["holdfast run -n --min-hold 1m hourly -- ./job", "once, although many start it"],
  ["holdfast run db -c 'pg_dump app | gzip > app.gz'", "a line for the shell"],
];

const NOTES = `
The environment of the command contains HOLDFAST_KEY, HOLDFAST_TOKEN (the
fencing token: send it with every write to what the lock protects),
HOLDFAST_SLOT (the slots of a semaphore, separated by commas; empty for a lock),
HOLDFAST_SESSION and HOLDFAST_ENDPOINTS, and HOLDFAST_CA, HOLDFAST_CERT and
HOLDFAST_CERT_KEY if run was given these files. With several keys, HOLDFAST_KEY
and HOLDFAST_SLOT have one line for each key; all keys share one token. It does
not contain HOLDFAST_ACCESS_TOKEN, HOLDFAST_ACCESS_TOKEN_FILE and
HOLDFAST_LEASE_OWNER, which are for run alone.

HOLDFAST_HELD lists what is held by this run and by the runs around it. A run,
elect or lease take inside of the command that asks for such a lock would wait
forever: it ends at once with exit code 5 (3 with -n). One that waits for a
client that itself waits for such a lock says so, and waits on. A process that
is meant to wait for the end of the run that started it must be started without
that variable: env -u HOLDFAST_HELD.

If run finds no cluster, it says so after a second and keeps trying for
--connect-timeout, but never longer than --wait; with -n it ends as soon as
every node refuses the connection: exit code 4. While it waits for its lock, it
goes on waiting if the cluster is away. If the cluster hears nothing from it for
longer than --ttl, because the network was cut or the machine slept, its place
in the queue is lost: it says so and waits again at the end of the queue, as
long as --wait allows. If an operator ends the wait ("holdfast session end"), it
ends with exit code 5.

Signals (HUP, INT, QUIT, TERM, USR1, USR2) are passed on to the command and its
descendants. If standard input is not a terminal, they run in a session and
process group of their own, which gets every signal as a whole. If it is a
terminal, they stay in the terminal's job, so that they can read from it, and
get Ctrl-C from the terminal itself: while the job is in the foreground, INT and
QUIT are assumed to come from the terminal and are not passed on; to end such a
run from elsewhere, use TERM. Other signals reach the command and its
descendants, but no other process of the job (on Linux; elsewhere the command
alone). When they are stopped by Ctrl-Z, or because they read from the terminal
in the background, run and command are stopped together: after --ttl the lock is
lost, and the command is ended as soon as they continue. In the background, give
it < /dev/null. Node.js undoes nohup: for a run that must outlive its terminal,
use setsid.

When the lock is being lost, the command gets SIGTERM, and after --kill-grace
SIGKILL, before another task can hold the lock; exit code 6. The same happens
when an operator revokes the lock, and when --max-hold is over. If run itself is
killed by SIGKILL, the command is killed too if the system supports it (Linux
with setpriv of util-linux; not for set-user-id programs, and not the processes
that the command started). Elsewhere, and while run alone is stopped by SIGSTOP
for longer than --ttl, the command goes on without a lock: let the resource
check the fencing token.

The exit code is the command's, or 128+n if signal n ended it; 3, 4, 6, 124 to
127 as shown by "holdfast help exit-codes". If SIGINT, SIGTERM or SIGHUP ended
the command or the wait, run dies by that signal too, so that Ctrl-C also ends
the script that called it.`;

export function defineRun(command: Command, finish: Finish): void {
  command
    .usage("[options] <key...> -- <command> [argument...]")
    .addHelpText("before", examplesText(EXAMPLES))
    .argument("[operands...]");
  addOptions(command, RUN_OPTIONS);
  addOptions(command, CONNECTION_OPTIONS);
  command.addHelpText("after", NOTES).action(async (operands: readonly string[]) => {
    const flags = Configuration.of(command).settle(RUN_OPTIONS);
    const plan = planRun(operands, flags, process.argv.slice(2));
    finish(await run(plan, clusterAccessFor(command), certificateVariablesFor(command)));
  });
}

/** `variables`: for the environment of the command, so that it finds the certificates. */
export async function run(
  plan: RunPlan,
  access: ClusterAccess,
  variables: Readonly<Record<string, string>>,
): Promise<Ending> {
  // What cannot reach the command unchanged is refused before a lock is taken.
  carried({ argv: plan.argv, environment: process.env }, givenWords());
  const sharesTerminal = process.stdin.isTTY === true;
  const signals = new SignalRelay(sharesTerminal);
  const sinceMs = performance.now();
  try {
    const { connect, requireKey } = await import("../../../src/client/index.js");
    // An invalid name is refused before a cluster is looked for.
    for (const { key } of plan.items) requireKey(key);
    const search = new NodeSearch(plan, signals.waiting);
    const connecting = connect({
      ...accessWithin(plan, access),
      metadata: metadataWithin(enclosingHolds(process.env)),
      ttlMs: plan.ttlMs,
      name: `${hostname()} run ${process.pid}`,
      signal: search.signal,
    });
    const [client, prefix] = await Promise.all([
      connectedWithin(withOutageReport(connecting, access, search.outage), plan, access),
      parentDeathPrefix(),
    ]);
    let lock: Lock | undefined;
    try {
      lock = await waitForLock(client, plan, access, signals.waiting, sinceMs);
      return await runUnderLock({ client, lock, plan, variables, prefix, signals, sharesTerminal });
    } finally {
      await leave({ client, lock, plan, signals, withinMs: access.connectTimeoutMs });
    }
  } catch (error) {
    if (signals.ending !== undefined) return signals.ending;
    return quietExitCode(error, plan);
  }
}

/** The exit code of the outcomes that `--quiet` does not report in words. Rethrows the rest. */
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
  readonly variables: Readonly<Record<string, string>>;
  readonly prefix: readonly string[];
  readonly signals: SignalRelay;
  readonly sharesTerminal: boolean;
}

async function runUnderLock(holding: Holding): Promise<Ending> {
  const { client, lock, plan, variables, prefix, signals, sharesTerminal } = holding;
  // From here to the `attach` of the command no turn of the event loop passes: every signal either
  // ends the wait or is passed on to the command.
  if (signals.ending !== undefined) return signals.ending;
  findExecutable(plan.argv[0] ?? "");
  // This process may have been stopped since the grant: then the command is not started.
  lock.assertHeld();
  const command = await CommandProcess.start({
    prefix,
    argv: plan.argv,
    environment: {
      ...variables,
      HOLDFAST_KEY: lock.keys.join("\n"),
      HOLDFAST_TOKEN: String(lock.token),
      HOLDFAST_SLOT: lock.items.map(slotsText).join("\n"),
      HOLDFAST_SESSION: String(client.session),
      ...heldVariable(process.env, client, lock),
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

async function guardCommand(holding: Holding, command: CommandProcess): Promise<Ending> {
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
  const ending = await command.ended;
  forget();
  // Before the guard is stopped: a loss that went unnoticed (this process was stopped) counts.
  const wasHeld = lock.isHeld;
  guard.stop();
  if (guard.hasTerminated || !wasHeld) {
    throw new Failure(EXIT.lost, `the lock ${plan.name} was lost before the command had ended`);
  }
  return ending;
}

/** Why it is not held any more; `undefined` while it is. */
function lossReasonOf({ signal }: Lock): unknown {
  const { reason } = signal;
  return reason instanceof HoldfastError ? reason.details["reason"] : undefined;
}

/** Makes the message about a lock that will end soon. */
function lossTeller(lock: Lock, plan: RunPlan, sinceMs: number): (remainingMs: number) => string {
  let revoked: string | undefined;
  lock.on("revoking", ({ reason, remainingMs }) => {
    revoked = reason === "" ? "is being revoked" : `is being revoked (${reason})`;
    const leftMs = remainingMs - plan.killGraceMs;
    if (leftMs <= 0 || plan.isQuiet) return;
    note(`the lock ${plan.name} ${revoked}: the command has ${formatDuration(leftMs)} to end`);
  });
  return (remainingMs) => {
    if (revoked === undefined && lossReasonOf(lock) === "unauthenticated") return UNAUTHENTICATED;
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
  /** How long to look for a node that confirms the release. */
  readonly withinMs: number;
}

/** Only called if there is no command, or it has ended. A signal cuts it short. */
async function leave({ client, lock, plan, signals, withinMs }: Leaving): Promise<void> {
  const { leaving } = signals;
  const isConfirmed = lock === undefined || (await settles(lock.release(), withinMs, leaving));
  if (!isConfirmed && !plan.isQuiet) {
    const lease = formatDuration(plan.ttlMs);
    note(`the cluster did not confirm the release of ${plan.name}: the lock ends within ${lease}`);
  }
  await settles(client.close(), isConfirmed ? FAREWELL_MS_MAX : LAST_TRY_MS_MAX, leaving);
}

/** Whether `promise` resolves in time. The cluster may be away for long; the lease ends anyway. */
async function settles(
  promise: Promise<unknown>,
  withinMs: number,
  leaving: AbortSignal,
): Promise<boolean> {
  return within(withinMs, leaving, (over) => {
    const late = new Promise<boolean>((resolve) => {
      if (over.aborted) resolve(false);
      over.addEventListener("abort", () => resolve(false), { once: true });
    });
    return Promise.race([promise.then(() => true), late]);
  });
}
