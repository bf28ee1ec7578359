/**
 * `holdfast audit verify`: checks the chain of the audit in the data directory of a node that does
 * not run.
 */
import { type Command, InvalidArgumentError } from "commander";
import type { AuditHead, AuditReport } from "../../src/server/index.js";
import { examplesText, jsonOption } from "../config/command-options.js";
import { EXIT } from "../exit/exit-codes.js";
import { directoryFailure } from "../exit/start-failure.js";
import { print, printJson } from "../output/terminal.js";
import { headText, isInOrder, parseHead, reportLines } from "../views/audit-view.js";

type Finish = (exitCode: number) => void;

const VERIFY_EXAMPLES: readonly (readonly [string, string])[] = [
  ["holdfast audit verify --data n1", "stop the node first"],
  ["holdfast audit verify --data n1 --expect 812:9f2c…", "with a head that was kept elsewhere"],
];

const VERIFY_NOTES = `
Each block of records names the digest of the block before it, up to the head.
A node logs its head ("audit head") at its start, each hour and at its end: keep
some of them where the owner of the node cannot change them. Without --expect
the check finds damage and clumsy changes, but not a chain that somebody with
access to the files has written anew.

Exit code 0 if everything is in order, 7 if something is lost or altered or the
expected head is not there, 1 if the directory cannot be read, for example
because the node runs. An expected head that was removed because of its age
("removed") proves nothing and is no problem. The JSON document:
  {"isInOrder":true,"head":"812:9f2c…","trimmedThrough":3,"blocks":809,
   "records":2113,"first":{"block":4,"record":9,"wallMs":1790000000000},
   "last":{…},"expected":"same","problemsTotal":0,"problems":[{"kind":"lost",
   "fromBlock":7,"toBlock":9,"records":12,"afterWallMs":1790000000000,
   "beforeWallMs":1790000009000}]}
first, last: null without records. expected: null without --expect, else same,
different, missing or removed. kind: lost, altered, restarted (after damage),
truncated (cut off from the front), unnamed (records outside the chain).`;

export function defineAudit(command: Command, finish: Finish): void {
  command.addHelpText("before", examplesText(VERIFY_EXAMPLES));
  defineVerify(command, finish);
}

interface VerifyFlags {
  readonly data: string;
  readonly expect?: AuditHead;
  readonly json?: boolean;
}

function defineVerify(parent: Command, finish: Finish): void {
  const command = parent
    .command("verify")
    .description("check that nothing in the audit of a stopped node is lost or altered");
  command
    .addHelpText("before", examplesText(VERIFY_EXAMPLES))
    .requiredOption("--data <directory>", "data directory of the node, which must not run")
    .option("--expect <number:digest>", "a head that was kept elsewhere", headArgument)
    .addOption(jsonOption("print one JSON document"))
    .addHelpText("after", VERIFY_NOTES)
    .action(async () => {
      const { data, expect, json } = command.opts<VerifyFlags>();
      const { verifyAuditOf } = await import("../../src/server/index.js");
      const report = await verifyAuditOf(data, expect).catch((error: unknown) => {
        throw directoryFailure(error, data);
      });
      if (json === true) printJson(document(report));
      else for (const line of reportLines(report)) print(line);
      finish(isInOrder(report) ? EXIT.done : EXIT.altered);
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
