/**
 * `holdfast lease take|extend|release|show`: a lock for work in steps that share no process, such as
 * the jobs of a pipeline. The lease belongs to an owner, a secret that one step passes to the next.
 */
import { randomBytes } from "node:crypto";
import { hostname } from "node:os";
import { type Command, InvalidArgumentError, Option } from "commander";
import { HoldfastError } from "../../../src/errors/index.js";
import type { Client, ExtendLeaseOptions, GivenBack } from "../../../src/index.js";
import { keyText } from "../../../src/text/index.js";
import {
  ask,
  clusterCommand,
  commandGroup,
  type Examples,
  tell,
} from "../../cluster/cluster-command.js";
import { withClient } from "../../cluster/cluster-connections.js";
import { clusterAccessFor, durationArgument } from "../../config/command-options.js";
import { Configuration } from "../../config/configuration.js";
import { addOptions } from "../../config/flags.js";
import type { Finish } from "../../exit/ending.js";
import { EXIT } from "../../exit/exit-codes.js";
import { Failure } from "../../exit/failure.js";
import {
  type LeaseFlags,
  leaseFrom,
  type OwnerFlags,
  ownerFrom,
} from "../../lease/lease-record.js";
import { type TakenLease, type TakePlan, takeLease } from "../../lease/take-lease.js";
import { LEASE_OPTIONS } from "../../options/option-table.js";
import { NewFile } from "../../output/new-file.js";
import { note, print, printJson, printOnlyCopy } from "../../output/terminal.js";
import { enclosingHolds, metadataWithin } from "../../run/enclosing-holds.js";
import { planRequest, requireKeys } from "../../run/run-plan.js";
import { untilStopped } from "../../run/until-stopped.js";
import { accessWithin, connectedWithin, NodeSearch } from "../../run/wait-for-lock.js";
import { durationText, formatDuration } from "../../text/durations.js";
import { variableOf } from "../../text/option-spelling.js";
import { jsonLine } from "../../text/printable.js";
import { shellWord } from "../../text/shell-word.js";
import { leaseLines } from "../../views/key-view.js";

const TTL_MS_DEFAULT = 600_000;
/** No cluster allows a longer lease. */
const TTL_MS_MAX = 7 * 86_400_000;
/** What `--ttl` of a take accepts in addition to a duration. */
const FOREVER = "forever";
const OWNER_BYTES = 16;

const TAKE_EXAMPLES: Examples = [
  ["holdfast lease take deploy/prod --ttl 10m --out lease.json", "for the steps that follow"],
  ['lease=$(holdfast lease take deploy/prod -n) && eval "$lease"', "into variables of a script"],
  ["holdfast lease take a b -w 5m --owner-file ci.secret", "both, for an owner that exists"],
];
const EXTEND_EXAMPLES: Examples = [
  ["holdfast lease extend --lease lease.json --ttl 5m", "at least five minutes from now"],
  ["holdfast lease extend deploy/prod", "of the owner in HOLDFAST_LEASE_OWNER"],
];
const RELEASE_EXAMPLES: Examples = [
  ["holdfast lease release --lease lease.json", "everything of that lease"],
  ["holdfast lease release deploy/prod", "of the owner in HOLDFAST_LEASE_OWNER"],
];
const SHOW_EXAMPLES: Examples = [["holdfast lease show deploy/prod", "whose leases, until when"]];
const EXAMPLES: Examples = [
  ...TAKE_EXAMPLES.slice(0, 1),
  ...EXTEND_EXAMPLES.slice(0, 1),
  ...RELEASE_EXAMPLES.slice(0, 1),
];

const GROUP_NOTES = `
A lease is held by its owner until it ends, is released or is revoked, whatever
becomes of the process that took it. The owner is a secret: anyone who has it
can extend and release the lease. Work that stays in one process is better done
under "holdfast run", which notices at once if its lock is lost.`;

const TAKE_NOTES = `
Prints lines for eval that set HOLDFAST_KEY, HOLDFAST_TOKEN (the fencing token:
send it with every write to what the lock protects), HOLDFAST_SLOT (the slots of
a semaphore) and, if the owner was made here, HOLDFAST_LEASE_OWNER, with which
extend and release find the lease. In a script, save the output first, as in the
example: eval alone hides the exit code. With --out they are in a file that only
its owner can read, to be passed to the next step as a secret.

Without an owner a random one is made, 128 bits. A take with the same owner and
the same --request is a repeat: it gets the same lease, which lasts for --ttl
from now. With another request the owner is refused like everybody else, so two
runs that share an owner by mistake do not share a lock. If its output cannot be
written, or nobody reads it, the lease is given back: exit code 1. A signal that
comes when it is written is too late: exit code 0.

--ttl is at most the setting leaseTtlMsMax (24h unless it was changed).
"forever" needs the setting endlessLeases, and ends by release or revoke only.

While it waits, it says on standard error what for: after a second on a
terminal, else after ten seconds, and again later.

Exit code 3 if the lock is held (with -n), 124 if it was not granted within
--wait, 5 if "holdfast run" holds it around this command, so that waiting for it
would never end. The JSON document:
  {"keys":["deploy/prod"],"token":3764817043128322,"slots":[],"trustMs":539000,
   "owner":"6f0c…","file":null}
trustMs: how long from now no one else is granted the lock; null: without end.
owner: null if it was given, or is in the file.`;

const EXTEND_NOTES = `
All keys, or none. Without --exactly and --add, a lease is never shortened; with
--add it ends at most leaseTtlMsMax from now. Exit code 6 if the owner has no
lease in one of the keys, because it ended, was released or revoked, or never
was: stop what it protected. The JSON document:
  {"leases":[{"key":"deploy/prod","token":3764817043128322,"trustMs":269000}]}
trustMs: how long from now no one else is granted the lock; null: without end.`;

const RELEASE_NOTES = `
Ends leases of the owner, and its waits, in these keys; a lease of several keys
ends as a whole. A second release is done too. Exit code 6 if the owner had no
lease in one of the keys any more: what was done under it was perhaps not alone.
The JSON document:
  {"keys":["deploy/prod"],"released":1,"waits":0,"reason":null}
reason: why a key had none: released, expired, maxHold, revoked, stolen, unknown
(not known, or more than a minute ago); null: every key had one.`;

const SHOW_NOTES = `
LEASE OF is the name that was given with --name, or eight digits that
distinguish owners and prove nothing. In the JSON document, leases has the form
of holds in "holdfast inspect":
  {"key":"deploy/prod","leases":[{"token":3764817043128322,…}]}`;

export function defineLease(command: Command, finish: Finish): void {
  commandGroup(command, EXAMPLES, GROUP_NOTES);
  defineTake(command, finish);
  defineExtend(command);
  defineRelease(command, finish);
  defineShow(command);
}

interface TakeFlags extends OwnerFlags {
  readonly ttl: number;
  readonly name?: string;
  readonly request?: string;
  readonly out?: string;
  readonly force?: boolean;
  readonly json?: boolean;
}

function defineTake(parent: Command, finish: Finish): void {
  const command = parent
    .command("take")
    .description("take locks as a lease of an owner")
    .argument("<key...>", "names of the locks: all or none")
    .addOption(
      new Option("--ttl <duration>", `how long the lease lasts, or ${FOREVER}`)
        .argParser(ttlArgument)
        .default(TTL_MS_DEFAULT, durationText(TTL_MS_DEFAULT)),
    );
  addOptions(command, LEASE_OPTIONS);
  addOwnerOptions(command)
    .option("--request <text>", "names this request of the owner, so that it can be repeated")
    .option("--name <text>", "what others see of the owner (default: the name of this machine)")
    .option("--out <file>", "write keys and owner to a new file, for you only")
    .option("--force", "with --out: replace the file if it exists");
  clusterCommand(command, { examples: TAKE_EXAMPLES, notes: TAKE_NOTES }).action(
    async (keys: readonly string[]) => {
      const flags = command.opts<TakeFlags>();
      const configuration = Configuration.of(command);
      const { isOwnerNew, ...plan } = planTake(keys, flags, configuration);
      let isTold = false;
      const onTold = (): void => {
        isTold = true;
      };
      const ending = await untilStopped((signal) => {
        return take(plan, { command, flags, isOwnerNew, signal, onTold });
      });
      // A signal that came after that must not make the lease look as if it was not taken.
      finish(isTold ? EXIT.done : ending);
    },
  );
}

function addOwnerOptions(command: Command): Command {
  const variable = variableOf("leaseOwner");
  return command.option(
    "--owner-file <file>",
    `a file with the owner, a secret (or in ${variable})`,
  );
}

function ttlArgument(text: string): number {
  if (text === FOREVER) return 0;
  return positiveDuration(text);
}

function positiveDuration(text: string): number {
  const milliseconds = durationArgument(text);
  if (milliseconds > 0 && milliseconds <= TTL_MS_MAX) return milliseconds;
  throw new InvalidArgumentError("A duration of 1ms to 7d is required.");
}

function planTake(
  keys: readonly string[],
  flags: TakeFlags,
  configuration: Configuration,
): TakePlan & { readonly isOwnerNew: boolean } {
  requireKeys(keys);
  const owner = ownerFrom(flags, configuration);
  if (owner === undefined && flags.request !== undefined) {
    throw new Failure(
      EXIT.usage,
      "--request needs an owner: a repeat must name the same one (--owner-file)",
    );
  }
  if (flags.force === true && flags.out === undefined) {
    throw new Failure(EXIT.usage, "--force requires --out");
  }
  const settled = configuration.settle(LEASE_OPTIONS);
  return {
    ...planRequest(keys, settled),
    keys,
    owner: owner ?? randomText(),
    isOwnerNew: owner === undefined,
    request: flags.request ?? randomText(),
    holder: flags.name ?? hostname(),
    ttlMs: flags.ttl,
    conflictExitCode: settled.conflictExitCode,
    isQuiet: false,
  };
}

function randomText(): string {
  return randomBytes(OWNER_BYTES).toString("hex");
}

interface Taking {
  readonly command: Command;
  readonly flags: TakeFlags;
  readonly isOwnerNew: boolean;
  readonly signal: AbortSignal;
  /** The owner stands where the caller wants it: from now on the take is done. */
  readonly onTold: () => void;
}

/** The file is opened before the take: a wrong path takes nothing. */
async function take(
  plan: TakePlan,
  { command, flags, isOwnerNew, signal, onTold }: Taking,
): Promise<number> {
  const { requireTableKey } = await import("../../../src/client/index.js");
  for (const key of plan.keys) requireTableKey(key);
  const sinceMs = performance.now();
  const access = clusterAccessFor(command);
  const { out, force } = flags;
  const file = out === undefined ? undefined : await NewFile.create(out, force === true);
  try {
    const search = new NodeSearch(plan, signal);
    const work = async (client: Client): Promise<TakenLease> => {
      const taken = await takeLease(client, plan, access, signal, sinceMs);
      await orGiveBack(client, plan, async () => {
        signal.throwIfAborted();
        if (file !== undefined) await save(file, plan, taken);
        const owner = isOwnerNew && file === undefined ? plan.owner : undefined;
        if (flags.json === true) {
          await printOnlyCopy([jsonLine(takenDocument(plan, taken, owner, out))]);
        } else if (file === undefined) await printOnlyCopy(takenLines(plan, taken, owner));
        onTold();
      });
      return taken;
    };
    const metadata = metadataWithin(enclosingHolds(process.env));
    const options = { signal: search.signal, outage: search.outage, metadata };
    const working = withClient(accessWithin(plan, access), work, options);
    const taken = await connectedWithin(working, plan, access);
    if (flags.json === true) return EXIT.done;
    const where = out === undefined ? "" : `; its owner is in ${out}, for you only`;
    note(`${plan.name}: leased ${restText(taken.trustMs)}, token ${taken.token}${where}`);
    return EXIT.done;
  } finally {
    await file?.discard();
  }
}

/** A lease of which nobody learns would only be in the way. */
async function orGiveBack(
  client: Client,
  { keys, owner }: TakePlan,
  work: () => Promise<void>,
): Promise<void> {
  try {
    await work();
  } catch (error) {
    await client.leases.giveBack(keys, { owner });
    throw error;
  }
}

async function save(
  file: NewFile,
  { keys, owner }: TakePlan,
  { token, slots }: TakenLease,
): Promise<void> {
  await file.write(Buffer.from(`${JSON.stringify({ keys, owner, token, slots })}\n`));
  await file.commit();
}

function takenDocument(
  { keys }: TakePlan,
  { token, slots, trustMs }: TakenLease,
  owner: string | undefined,
  file: string | undefined,
): Record<string, unknown> {
  const trust = trustDocument(trustMs);
  return { keys, token, slots, trustMs: trust, owner: owner ?? null, file: file ?? null };
}

/** For the `eval` of a shell. With several keys, one line of the value for each, as in `run`. */
function takenLines(
  { keys }: TakePlan,
  { token, slots }: TakenLease,
  owner: string | undefined,
): string[] {
  const variables = {
    HOLDFAST_KEY: keys.join("\n"),
    HOLDFAST_TOKEN: String(token),
    HOLDFAST_SLOT: slots.map((each) => each.join(",")).join("\n"),
    ...(owner === undefined ? {} : { [variableOf("leaseOwner")]: owner }),
  };
  return Object.entries(variables).map(([name, value]) => `export ${name}=${shellWord(value)}`);
}

function restText(trustMs: number): string {
  return trustMs === Number.POSITIVE_INFINITY
    ? "without end"
    : `for ${formatDuration(trustMs)} from now`;
}

/** JSON has no infinity. */
function trustDocument(trustMs: number): number | null {
  return trustMs === Number.POSITIVE_INFINITY ? null : Math.floor(trustMs);
}

interface ExtendFlags extends LeaseFlags {
  readonly ttl: number;
  readonly exactly?: boolean;
  readonly add?: boolean;
  readonly json?: boolean;
}

function defineExtend(parent: Command): void {
  const command = parent
    .command("extend")
    .description("let a lease last longer")
    .argument("[key...]", "names of the locks")
    .option("--lease <file>", "the file that lease take wrote")
    .addOption(
      new Option("--ttl <duration>", "how long from now the lease lasts at least")
        .argParser(positiveDuration)
        .default(TTL_MS_DEFAULT, durationText(TTL_MS_DEFAULT)),
    )
    .addOption(
      new Option("--exactly", "--ttl from now, even if that is sooner than before").conflicts(
        "add",
      ),
    )
    .option("--add", "--ttl after the current end");
  addOwnerOptions(command);
  clusterCommand(command, { examples: EXTEND_EXAMPLES, notes: EXTEND_NOTES }).action(
    async (typed: readonly string[]) => {
      const flags = command.opts<ExtendFlags>();
      const { keys, owner } = leaseFrom(typed, flags, Configuration.of(command));
      requireKeys(keys);
      const mode = flags.add === true ? "add" : flags.exactly === true ? "exactly" : "atLeast";
      const options = { owner, ttlMs: flags.ttl, mode } as const;
      const extend = (client: Client): Promise<ExtendedKey[]> => extendAll(client, keys, options);
      const extended = await withClient(clusterAccessFor(command), extend, aboutFirst(keys));
      tell(command, { leases: extended.map(extendedDocument) }, extended.map(extendedLine));
    },
  );
}

interface ExtendedKey {
  readonly key: string;
  readonly token: number;
  /** From now. */
  readonly trustMs: number;
}

async function extendAll(
  client: Client,
  keys: readonly string[],
  options: ExtendLeaseOptions,
): Promise<ExtendedKey[]> {
  const begunMs = performance.now();
  const extended = await client.leases.extend(keys, options).catch((error: unknown) => {
    throw lostFailure(error) ?? error;
  });
  const spentMs = performance.now() - begunMs;
  return extended.map(({ token, trustMs }, at) => {
    return { key: keys[at] ?? "", token, trustMs: trustMs - spentMs };
  });
}

/** For a script, a lease that is gone is what a lost lock is for `run`. */
function lostFailure(error: unknown): Failure | undefined {
  if (!(error instanceof HoldfastError) || error.code !== "NOT_HELD") return undefined;
  return new Failure(EXIT.lost, error.message, { cause: error });
}

function extendedDocument({ key, token, trustMs }: ExtendedKey): Record<string, unknown> {
  return { key, token, trustMs: trustDocument(trustMs) };
}

function extendedLine({ key, token, trustMs }: ExtendedKey): string {
  return `${keyText(key)}: leased ${restText(trustMs)}, token ${token}`;
}

function defineRelease(parent: Command, finish: Finish): void {
  const command = parent
    .command("release")
    .description("end a lease, and waits for one")
    .argument("[key...]", "names of the locks")
    .option("--lease <file>", "the file that lease take wrote");
  addOwnerOptions(command);
  clusterCommand(command, { examples: RELEASE_EXAMPLES, notes: RELEASE_NOTES }).action(
    async (typed: readonly string[]) => {
      const flags = command.opts<LeaseFlags & { readonly json?: boolean }>();
      const { keys, owner } = leaseFrom(typed, flags, Configuration.of(command));
      requireKeys(keys);
      const release = (client: Client): Promise<GivenBack> => {
        return client.leases.giveBack(keys, { owner });
      };
      const given = await withClient(clusterAccessFor(command), release, aboutFirst(keys));
      const { count, waits, reason } = given;
      if (flags.json === true) {
        printJson({ keys, released: count, waits, reason: reason ?? null });
      } else if (count + waits > 0) print(`${keys.map(keyText).join(", ")}: ${endedText(given)}`);
      if (reason !== undefined) note(`${keys.map(keyText).join(", ")}: ${missingText(given)}`);
      finish(reason === undefined || reason === "released" ? EXIT.done : EXIT.lost);
    },
  );
}

function aboutFirst(keys: readonly string[]): { readonly about?: { readonly key: string } } {
  const [key] = keys;
  return key === undefined ? {} : { about: { key } };
}

function endedText({ count, waits }: GivenBack): string {
  if (waits === 0) return "released";
  return count === 0 ? "the wait for it ended" : "released, and waits for leases ended";
}

/** Why the owner had nothing in one of the keys. */
function missingText({ count, waits, reason }: GivenBack): string {
  const where = count + waits === 0 ? "no lease to release" : "no lease to release in one of them";
  switch (reason) {
    case "released":
      return `${where}: it was released before`;
    case "expired":
      return `${where}: it ended, because it was not extended in time`;
    case "maxHold":
      return `${where}: it ended after --max-hold`;
    case "revoked":
      return `${where}: it was revoked`;
    case "stolen":
      return `${where}: another client stole it`;
    default:
      return `${where}: this owner had none, or it ended more than a minute ago`;
  }
}

function defineShow(parent: Command): void {
  const command = parent
    .command("show")
    .description("show the leases of a lock")
    .argument("<key>", "name of the lock");
  clusterCommand(command, { examples: SHOW_EXAMPLES, notes: SHOW_NOTES }).action(
    async (key: string) => {
      const { holds } = await ask(command, { key }, (admin) => admin.inspect(key));
      const leases = holds.filter(({ leaseOwner }) => leaseOwner !== "");
      tell(command, { key, leases }, leaseLines(key, leases));
    },
  );
}
