/**
 * `holdfast history KEY`: who holds a lock and who held it before, newest first, as far as the
 * answering node remembers; a node with an audit remembers as far as the audit is kept.
 */
import { type Command, Option } from "commander";
import type { LostTenures, Tenure } from "../../../src/index.js";
import { keyText, printable } from "../../../src/text/index.js";
import { ask, clusterCommand, type Examples } from "../../cluster/cluster-command.js";
import { wholeNumberArgument } from "../../config/command-options.js";
import { note, print, printJson } from "../../output/terminal.js";
import { type Column, tableLines } from "../../output/text-table.js";
import { formatDuration } from "../../text/durations.js";
import { sessionText } from "../../text/session-names.js";
import { formatWallTime } from "../../text/wall-time.js";

const LIMIT_MAX = 1_000;
const LIMIT_DEFAULT = 100;

const EXAMPLES: Examples = [
  ["holdfast history orders/1001", "who held it, newest first"],
  ["holdfast history nightly -l 1", "the last hold"],
];

const NOTES = `
GRANTED is by the clock of the machine that led then. WAITED, of its request,
and FOR are in cluster time, which stands still while there is no leader. A node
remembers about 130,000 changes of all locks; a node with --audit keeps them on
its disk.`;

const CUT = "there are older ones, or there may have been: a larger --limit shows more";
/** Memory is short, and after a restart it lacks everything that is in a snapshot. */
const AUDIT_HINT = "a node that is started with --audit keeps its history, even after restarts";

const COLUMNS: readonly Column[] = [
  { heading: "GRANTED" },
  { heading: "HELD BY" },
  { heading: "MODE" },
  { heading: "WAITED", alignment: "right" },
  { heading: "FOR", alignment: "right" },
  { heading: "END" },
  { heading: "TOKEN", alignment: "right" },
];

export function defineHistory(command: Command): void {
  command
    .argument("<key>", "name of the lock")
    .addOption(
      new Option("-l, --limit <n>", "show the newest n")
        .argParser(wholeNumberArgument(1, LIMIT_MAX))
        .default(LIMIT_DEFAULT),
    );
  clusterCommand(command, { examples: EXAMPLES, notes: NOTES }).action(async (key: string) => {
    const { limit, json } = command.opts<{ limit: number; json?: boolean }>();
    const { tenures, isTruncated, lost } = await ask(command, { key }, (admin) =>
      admin.history(key, { limit }),
    );
    if (json === true) {
      printJson({ key, tenures: tenures.map(document), isTruncated, lost });
    } else {
      if (tenures.length > 0) for (const line of tableLines(COLUMNS, tenures.map(row))) print(line);
      const isForgotten = isTruncated && tenures.length < limit;
      const isCut = isTruncated && !isForgotten;
      note(isCut ? CUT : remark(key, tenures.length, isForgotten));
      if (isForgotten && lost.length === 0) note(AUDIT_HINT);
      for (const gap of lost) note(damage(gap));
    }
  });
}

/** `reason` is always present: null while the lock is held. */
function document(tenure: Tenure): Record<string, unknown> {
  return { ...tenure, reason: tenure.reason ?? null };
}

/** `revoked by ops`: who ordered it, if anybody did. */
function endText({ reason, orderedBy }: Tenure): string {
  if (orderedBy === "") return reason ?? "held";
  const by = `by ${printable(orderedBy)}`;
  if (reason === "revoked" || reason === "stolen") return `${reason} ${by}`;
  return `${reason ?? "held"}, revoked ${by}`;
}

export function row(tenure: Tenure): string[] {
  return [
    formatWallTime(tenure.grantedWallMs),
    sessionText(tenure.sessionName, tenure.session, tenure.identity),
    tenure.mode,
    formatDuration(tenure.waitedMs),
    formatDuration(tenure.heldMs),
    endText(tenure),
    String(tenure.token),
  ];
}

function damage({ count, after, before }: LostTenures): string {
  const records = count === 1 ? "1 record, of this key or another," : `up to ${count} records`;
  const [from, to] = [after, before].map(({ index, number }) => `${index}.${number}`);
  return `damaged: ${records} between the revisions ${from} and ${to} are lost`;
}

function remark(key: string, count: number, isForgotten: boolean): string {
  if (isForgotten) {
    return count === 0
      ? `nothing is known about ${keyText(key)}; earlier records are no longer kept`
      : "there may have been older ones that are no longer kept";
  }
  return count === 0 ? `${keyText(key)} was never held` : "there are no more";
}
