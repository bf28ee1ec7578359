/**
 * `holdfast explain KEY`: what is between a request and its grant: holders, earlier requests, and
 * what keeps the key closed although it is not held. Without `--request` it answers for a new
 * request.
 */
import { type Command, InvalidArgumentError, Option } from "commander";
import type { Blocker, ExplainView } from "../../src/index.js";
import { keyText, printable } from "../../src/safe-text.js";
import { askCluster } from "../cluster/cluster-queries.js";
import {
  clusterAccessFor,
  connectTimeoutOption,
  endpointsOption,
  examplesText,
  jsonOption,
} from "../config/command-options.js";
import { EXIT } from "../exit/exit-codes.js";
import { Failure } from "../exit/failure.js";
import { print, printJson, styled } from "../output/terminal.js";
import { formatDuration } from "../text/durations.js";
import { parseNumberPair, sessionText, withIdentity } from "../text/session-names.js";

interface ExplainFlags {
  readonly request?: readonly [number, number];
  readonly json?: boolean;
}

type ExplainedKey = ExplainView["keys"][number];

const EXAMPLES: readonly (readonly [string, string])[] = [
  ["holdfast explain orders/1001", "what a new request would have to wait for"],
  ["holdfast explain orders/1001 --request 17/4", "why that request waits (see holdfast inspect)"],
];

const NOTES = `
Without --request it assumes a new request for the lock, or for one permit of a
semaphore. The time is an estimate: it assumes that the requests ahead hold the
lock one after the other, each for as long as was usual recently. Exit code 5 if
no such request waits for the lock.`;

export function defineExplain(command: Command, finish: (exitCode: number) => void): void {
  command
    .addHelpText("before", examplesText(EXAMPLES))
    .argument("<key>", "name of the lock")
    .addOption(
      new Option("--request <session/number>", "a waiting request, as inspect shows it").argParser(
        requestArgument,
      ),
    )
    .addOption(jsonOption("print one JSON document"))
    .addOption(endpointsOption())
    .addOption(connectTimeoutOption())
    .addHelpText("after", NOTES)
    .action(async (key: string) => {
      const { request, json } = command.opts<ExplainFlags>();
      const view = await askCluster(
        clusterAccessFor(command),
        (admin) =>
          admin.explain(key, request && { request: { session: request[0], sequence: request[1] } }),
        { key },
      );
      if (request !== undefined && view.request === null) {
        throw new Failure(
          EXIT.refused,
          `no request ${request.join("/")} waits for ${keyText(key)}`,
        );
      }
      if (json === true) printJson(view);
      else for (const line of viewLines(view)) print(line);
      finish(EXIT.done);
    });
}

function requestArgument(text: string): readonly [number, number] {
  const request = parseNumberPair(text);
  if (request !== undefined) return request;
  throw new InvalidArgumentError("A request is SESSION/NUMBER, as holdfast inspect shows it.");
}

function viewLines({ request, keys }: ExplainView): string[] {
  const lines: string[] = [];
  if (request !== null) {
    const who = sessionText(request.sessionName, request.session, request.identity);
    const ends = request.endsInMs === null ? "" : `, for ${formatDuration(request.endsInMs)} more`;
    lines.push(`${who} has waited for ${formatDuration(request.waitingMs)}${ends}`);
  }
  for (const key of keys) lines.push(...keyLines(key, request !== null));
  return lines;
}

function keyLines(explained: ExplainedKey, isOfRequest: boolean): string[] {
  const { key, mode, isEligible, aheadCount, blockers, closings } = explained;
  const title = `${styled("bold", keyText(key), process.stdout)} (${mode})`;
  if (isEligible) {
    const what = isOfRequest
      ? "nothing is in the way here; the request waits for its other keys"
      : "free";
    return [`${title}: ${what}`];
  }
  const holders = blockers.filter(({ token }) => token !== 0);
  const waiters = blockers.filter(({ token }) => token === 0);
  return [
    `${title}: ${aheadText(aheadCount)}${expectationText(explained)}`,
    ...holders.map((holder) => {
      return `  held by ${whoText(holder)} (${holder.mode}, token ${holder.token})`;
    }),
    ...waiters.map((waiter) => {
      return `  ahead: ${whoText(waiter)} (${waiter.mode})`;
    }),
    ...closings.map(({ endsInMs, mode: was, token }) => {
      return `  closed for ${formatDuration(endsInMs)} more after token ${token} (${was})`;
    }),
  ];
}

/** Only the names of those in the way are reported, and most clients have none. */
function whoText({ sessionName, identity }: Blocker): string {
  return withIdentity(sessionName === "" ? "an unnamed client" : printable(sessionName), identity);
}

function aheadText(count: number): string {
  if (count === 0) return "no request ahead";
  return count === 1 ? "1 request ahead" : `${count} requests ahead`;
}

function expectationText({ expectedWaitMs }: ExplainedKey): string {
  return expectedWaitMs === null ? "" : `, expected wait about ${formatDuration(expectedWaitMs)}`;
}
