/**
 * `holdfast explain KEY`: what is between a request and its grant: holders, earlier requests, and
 * what keeps the key closed although it is not held. Without `--request` it answers for a new
 * request.
 */
import { type Command, InvalidArgumentError, Option } from "commander";
import type { ExplainView } from "../../../src/index.js";
import { keyText } from "../../../src/text/index.js";
import { explainPhrases, waitPhrase } from "../../../src/views/index.js";
import { ask, clusterCommand, type Examples, tell } from "../../cluster/cluster-command.js";
import { EXIT } from "../../exit/exit-codes.js";
import { Failure } from "../../exit/failure.js";
import { parseNumberPair } from "../../text/number-pair.js";
import { sentenceLines } from "../../views/sentences.js";

interface ExplainFlags {
  readonly request?: readonly [number, number];
}

const EXAMPLES: Examples = [
  ["holdfast explain orders/1001", "what a new request would have to wait for"],
  ["holdfast explain orders/1001 --request 17/4", "why that request waits (see holdfast inspect)"],
];

const NOTES = `
Without --request it assumes a new request for the lock, or for one permit of a
semaphore. The time is an estimate: it assumes that the requests ahead hold the
lock one after the other, each for as long as was usual recently. Exit code 5 if
no such request waits for the lock.`;

export function defineExplain(command: Command): void {
  command
    .argument("<key>", "name of the lock")
    .addOption(
      new Option("--request <session/number>", "a waiting request, as inspect shows it").argParser(
        requestArgument,
      ),
    );
  clusterCommand(command, { examples: EXAMPLES, notes: NOTES }).action(async (key: string) => {
    const { request } = command.opts<ExplainFlags>();
    const view = await ask(command, { key }, (admin) =>
      admin.explain(key, request && { request: { session: request[0], sequence: request[1] } }),
    );
    if (request !== undefined && view.request === null) {
      throw new Failure(EXIT.refused, `no request ${request.join("/")} waits for ${keyText(key)}`);
    }
    tell(command, view, explainLines(view));
  });
}

function requestArgument(text: string): readonly [number, number] {
  const request = parseNumberPair(text);
  if (request !== undefined) return request;
  throw new InvalidArgumentError("A request is SESSION/NUMBER, as holdfast inspect shows it.");
}

function explainLines(view: ExplainView): string[] {
  const { request } = view;
  const waited = request === null ? [] : [waitPhrase(request)];
  return sentenceLines([...waited, ...explainPhrases(view)]);
}
