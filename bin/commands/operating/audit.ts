/**
 * `holdfast audit ls|verify`: shows who held what and who did what, from the audit of a node that
 * runs or from the data directory of one that does not; and checks the chain of the latter.
 */
import { type Command, InvalidArgumentError, Option } from "commander";
import { HoldfastError } from "../../../src/errors/index.js";
import type { AuditKind, AuditPage, AuditPlace } from "../../../src/index.js";
import type { AuditFilter, AuditHead, AuditReport } from "../../../src/server/index.js";
import {
  clusterCommand,
  commandGroup,
  type Examples,
  jsonCommand,
  tell,
} from "../../cluster/cluster-command.js";
import { askCluster } from "../../cluster/cluster-connections.js";
import {
  type ClusterAccess,
  clusterAccessFor,
  wholeNumberArgument,
} from "../../config/command-options.js";
import type { Finish } from "../../exit/ending.js";
import { EXIT } from "../../exit/exit-codes.js";
import { Failure } from "../../exit/failure.js";
import { directoryFailure } from "../../exit/start-failure.js";
import { note, print, printJson } from "../../output/terminal.js";
import { MOMENT_PROBLEM, parseMoment } from "../../text/moments.js";
import { entryLines, headText, isInOrder, parseHead, reportLines } from "../../views/audit-view.js";

const VERIFY_EXAMPLES: Examples = [
  ["holdfast audit verify --data n1", "stop the node first"],
  ["holdfast audit verify --data n1 --expect 812:9f2c…", "with a head kept elsewhere"],
];

const VERIFY_NOTES = `
Each block of records names the digest of the block before it, up to the head.
A node logs its head ("audit head") at its start, each hour and at its end: keep
some of them where the owner of the node cannot change them. Without --expect
the check finds damage and clumsy changes, but not a chain that somebody with
access to the files has written again.

Exit code 0 if everything is in order, 7 if something is lost or altered or the
expected head is not there, 1 if the directory cannot be read, for example
because the node runs. An expected head that was removed for its age or
for room ("removed") proves nothing and is not a problem. The JSON document:
  {"isInOrder":true,"head":"812:9f2c…","trimmedThrough":3,"blocks":809,
   "records":2113,"first":{"block":4,"record":9,"wallMs":1790000000000},
   "last":{…},"expected":"same","problemsTotal":0,"problems":[{"kind":"lost",
   "fromBlock":7,"toBlock":9,"records":12,"afterWallMs":1790000000000,
   "beforeWallMs":1790000009000}]}
first, last: null without records. expected: null without --expect, else same,
different, missing or removed. kind: lost, altered, restarted (after damage),
truncated (cut off from the front), unnamed (records outside the chain).`;

const AUDIT_KINDS: readonly AuditKind[] = [
  ...(["hold", "order", "access", "steal", "members"] as const),
  ...(["operation", "snapshot", "refused", "signIn", "gap"] as const),
];
const LIMIT_DEFAULT = 100;
const LIMIT_MAX = 1_000_000;
const PAGE_MAX = 200;

const LS_EXAMPLES: Examples = [
  ["holdfast audit ls --prefix orders/ --since 2h", "of one running node"],
  ["holdfast audit ls --kind access --json", "who changed who may do what"],
  ["holdfast audit ls --data n1 --identity billing", "of a stopped node"],
];

const LS_NOTES = `
The newest records come first. A running node answers from its own audit, to
identities with admin; name one node with --endpoints, because nodes differ in
what they keep: each has the ends of holds, admin commands (of the kind order)
and changes of members, but only the node that was asked has refusals, sign-ins
and saved snapshots, and only the node that led has operations. ADDRESS is known
to the node to which the client was connected. At the end standard error names
the head, for a later "holdfast audit verify --expect".

With --json each line is one record:
  {"block":7,"at":0,"record":31,"index":905,"wallMs":1790000000000,
   "kind":"order","identity":"ops","credential":"token:laptop",
   "address":"10.0.0.7","what":"revoke","key":"orders/1","outcome":"done",
   "details":{"token":77,"graceMs":0,"now":false,"reason":""}}`;

export function defineAudit(command: Command, finish: Finish): void {
  commandGroup(command, [...LS_EXAMPLES.slice(0, 1), ...VERIFY_EXAMPLES]);
  defineLs(command);
  defineVerify(command, finish);
}

interface LsFlags {
  readonly data?: string;
  readonly key?: string;
  readonly prefix?: string;
  readonly identity?: string;
  readonly kind?: AuditKind;
  readonly since?: number;
  readonly until?: number;
  readonly limit: number;
  readonly json?: boolean;
}

function defineLs(parent: Command): void {
  const command = parent
    .command("ls")
    .description("list what the audit of a node has, newest first");
  command
    .addOption(new Option("--key <key>", "only about this key").conflicts("prefix"))
    .option("--prefix <prefix>", "only about keys that begin so")
    .option("--identity <name>", "only of this identity")
    .addOption(new Option("--kind <kind>", "only of this kind").choices([...AUDIT_KINDS]))
    .option("--since <moment>", "only from then on: 2h, 2026-11-20T19:30", momentArgument)
    .option("--until <moment>", "only up to then", momentArgument)
    .addOption(
      new Option("-l, --limit <n>", "show the newest n")
        .argParser(wholeNumberArgument(1, LIMIT_MAX))
        .default(LIMIT_DEFAULT),
    )
    .option("--data <directory>", "read the data directory of a stopped node; asks no cluster");
  clusterCommand(command, {
    examples: LS_EXAMPLES,
    notes: LS_NOTES,
    json: "print one JSON document for each record",
  }).action(async () => {
    const flags = command.opts<LsFlags>();
    const shown = new ShownPages(flags.json === true);
    const { data } = flags;
    if (data === undefined) await listRunning(clusterAccessFor(command), flags, shown);
    else await listStopped(data, flags, shown);
    shown.end(flags.limit);
  });
}

/** What was printed so far. */
class ShownPages {
  readonly #isJson: boolean;
  #count = 0;
  #lost = 0;
  #next: AuditPlace | null = null;
  /** As it was when the first page was read. */
  #head: string | undefined;

  constructor(isJson: boolean) {
    this.#isJson = isJson;
  }

  add({ entries, lost, next, head }: AuditPage): void {
    if (this.#isJson) for (const entry of entries) printJson(entry);
    else for (const line of entryLines(entries, this.#count === 0)) print(line);
    this.#count += entries.length;
    this.#lost += lost;
    this.#next = next;
    this.#head ??= head;
  }

  end(limit: number): void {
    if (this.#count === 0) note("nothing in the audit fits");
    else if (this.#next !== null && this.#count >= limit)
      note("there are older ones: a larger --limit shows more");
    if (this.#lost > 0) note(`damaged: ${this.#lost} records in between are lost`);
    if (!this.#isJson && this.#head) note(`the head of this audit is ${this.#head}`);
  }
}

async function listRunning(
  access: ClusterAccess,
  flags: LsFlags,
  shown: ShownPages,
): Promise<void> {
  const { key, prefix, identity, kind, since, until, limit } = flags;
  await askCluster({ ...access, followLeader: false }, async (admin) => {
    let left = limit;
    let before: AuditPlace | undefined;
    for (;;) {
      const page = await admin.audit({
        ...{ before, limit: Math.min(left, PAGE_MAX) },
        ...{ key, prefix, identity, kind, since, until },
      });
      shown.add(page);
      left -= page.entries.length;
      if (page.next === null || left === 0) return;
      before = page.next;
    }
  });
}

async function listStopped(data: string, flags: LsFlags, shown: ShownPages): Promise<void> {
  const { key, prefix, identity, kind, since, until, limit } = flags;
  const filter: AuditFilter = {
    ...{ key: key ?? prefix, isPrefix: prefix !== undefined, identity, kind },
    ...{ sinceWallMs: since, untilWallMs: until },
  };
  const { listAuditOf } = await import("../../../src/server/index.js");
  await listAuditOf(data, filter, limit, (page) => shown.add(page)).catch((error: unknown) => {
    throw stoppedAuditFailure(error, data);
  });
}

/** Says how to go on if a running node uses the directory. */
function stoppedAuditFailure(error: unknown, data: string): Failure {
  if (!(error instanceof HoldfastError) || error.details?.["isInUse"] !== true) {
    return directoryFailure(error, data);
  }
  const help =
    'stop the node first, or ask it: "holdfast audit ls" lists its audit and names its head';
  return new Failure(EXIT.failed, `${error.message}: ${help}`, { cause: error });
}

function momentArgument(text: string): number {
  const moment = parseMoment(text, Date.now());
  if (moment !== undefined) return moment;
  throw new InvalidArgumentError(`${MOMENT_PROBLEM[0]?.toUpperCase()}${MOMENT_PROBLEM.slice(1)}.`);
}

interface VerifyFlags {
  readonly data: string;
  readonly expect?: AuditHead;
}

function defineVerify(parent: Command, finish: Finish): void {
  const command = parent
    .command("verify")
    .description("check that nothing in the audit of a stopped node is lost or altered");
  command
    .requiredOption("--data <directory>", "data directory of the node, which must not run")
    .option("--expect <number:digest>", "a head that was kept elsewhere", headArgument);
  jsonCommand(command, { examples: VERIFY_EXAMPLES, notes: VERIFY_NOTES }).action(async () => {
    const { data, expect } = command.opts<VerifyFlags>();
    const { verifyAuditOf } = await import("../../../src/server/index.js");
    const report = await verifyAuditOf(data, expect).catch((error: unknown) => {
      throw stoppedAuditFailure(error, data);
    });
    tell(command, document(report), reportLines(report));
    if (!isInOrder(report)) finish(EXIT.altered);
  });
}

function headArgument(text: string): AuditHead {
  const head = parseHead(text);
  if (head !== undefined) return head;
  throw new InvalidArgumentError("A head is NUMBER:DIGEST, with 64 hex digits, as the log has it.");
}

function document(report: AuditReport): Record<string, unknown> {
  const { head, trimmed, blocks, records, first, last, expected, problems, problemsTotal } = report;
  return {
    isInOrder: isInOrder(report),
    head: head.number === 0 ? null : headText(head),
    trimmedThrough: trimmed.number,
    ...{ blocks, records, first: first ?? null, last: last ?? null },
    ...{ expected: expected ?? null, problemsTotal, problems },
  };
}
