/**
 * `holdfast watch [KEY]`: shows the changes of a lock as they happen, in the order of the log,
 * without gaps after reconnects to any node. Runs until it is stopped or has shown the requested
 * number.
 */
import { type Command, InvalidArgumentError, Option } from "commander";
import type { Change, Client, Revision, WatchTarget } from "../../../src/index.js";
import { changePhrases, phraseText } from "../../../src/views/index.js";
import { clusterCommand, type Examples } from "../../cluster/cluster-command.js";
import { withClient } from "../../cluster/cluster-connections.js";
import {
  type ClusterAccess,
  clusterAccessFor,
  wholeNumberArgument,
} from "../../config/command-options.js";
import type { Finish } from "../../exit/ending.js";
import { EXIT } from "../../exit/exit-codes.js";
import { Failure } from "../../exit/failure.js";
import { isOutputClosed, note, print, printJson } from "../../output/terminal.js";
import { untilStopped } from "../../run/until-stopped.js";
import { parseNumberPair } from "../../text/number-pair.js";
import { formatTimeOfDay } from "../../text/wall-time.js";

interface WatchFlags {
  readonly prefix?: string;
  readonly after?: Revision;
  readonly count?: number;
  readonly json?: boolean;
  readonly quiet?: boolean;
}

const COUNT_MAX = 1_000_000_000;
/** Changes of one entry are numbered in 32 bits; the last number stands for the whole entry. */
const NUMBER_MAX = 2 ** 32 - 1;

const EXAMPLES: Examples = [
  ["holdfast watch orders/1001", "until Ctrl-C"],
  ["holdfast watch --prefix orders/", "all locks whose names begin with orders/"],
  ["holdfast watch", "everything"],
  ["holdfast watch deploy --count 1 --json", "the next change, as an object"],
];

const NOTES = `
The changes: queued (a request began to wait), left (it ended without a grant),
granted, converted (an upgrade or downgrade, or the new holder of a hold that
was moved), updated (its value), moved (it was handed over or adopted), ended,
opened (its cooldown is over). With --json one object per line; to
go on after a "revision" {"index":42,"number":0}, use --after 42/0.

Standard error says from where on changes are reported (not with -q).
Piped into "head", it ends with the first change that is not read; with --count
it ends at once.
Exit code 130 after Ctrl-C, 5 if the changes after --after are no longer kept.`;

export function defineWatch(command: Command, finish: Finish): void {
  command
    .argument("[key]", "name of the lock (default: all)")
    .option("--prefix <text>", "all names that begin with this")
    .addOption(
      new Option("--after <index/number>", "begin after this revision (default: now)").argParser(
        revisionArgument,
      ),
    )
    .addOption(
      new Option("--count <n>", "end after this many changes").argParser(
        wholeNumberArgument(1, COUNT_MAX),
      ),
    )
    .option("-q, --quiet", "write nothing to standard error");
  clusterCommand(command, {
    examples: EXAMPLES,
    notes: NOTES,
    json: "print one JSON object per line",
  }).action(async (key: string | undefined) => {
    const flags = command.opts<WatchFlags>();
    const target = targetOf(key, flags.prefix);
    finish(await untilStopped((signal) => watch(clusterAccessFor(command), target, flags, signal)));
  });
}

function targetOf(key: string | undefined, prefix: string | undefined): WatchTarget {
  if (key === undefined) return { prefix: prefix ?? "" };
  if (prefix === undefined) return key;
  throw new Failure(EXIT.usage, "a key and --prefix exclude each other");
}

function revisionArgument(text: string): Revision {
  const pair = parseNumberPair(text);
  if (pair === undefined || pair[0] === 0 || pair[1] > NUMBER_MAX) {
    throw new InvalidArgumentError("A revision is INDEX/NUMBER, as in the objects of --json.");
  }
  return { index: pair[0], number: pair[1] };
}

function watch(
  access: ClusterAccess,
  target: WatchTarget,
  flags: WatchFlags,
  signal: AbortSignal,
): Promise<number> {
  const about = typeof target === "string" ? { key: target } : target;
  const outage = { isQuiet: flags.quiet };
  const work = (client: Client): Promise<number> => show(client, target, flags, signal);
  return withClient(access, work, { signal, about, outage });
}

async function show(
  client: Client,
  target: WatchTarget,
  { after, count, json, quiet }: WatchFlags,
  signal: AbortSignal,
): Promise<number> {
  const changes = client.watch(target, { signal, ...(after === undefined ? {} : { after }) });
  if (quiet !== true) {
    await changes.begun;
    const { revision } = changes;
    if (revision !== undefined) note(`watching from ${placeText(revision)}`);
  }
  let left = count ?? Number.POSITIVE_INFINITY;
  for await (const change of changes) {
    if (json === true) printJson(change);
    else print(changeLine(change));
    left -= 1;
    if (left === 0 || isOutputClosed()) break;
  }
  return EXIT.done;
}

function placeText({ index, number }: Revision): string {
  return number === NUMBER_MAX ? `the end of log entry ${index}` : `${index}/${number}`;
}

function changeLine(change: Change): string {
  return [formatTimeOfDay(change.wallMs), ...changePhrases(change).map(phraseText)].join("  ");
}
