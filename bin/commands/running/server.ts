/**
 * `holdfast server`: one node in the foreground until it is stopped. It writes log lines to
 * standard error; its last line, if it cannot start or continue, begins with `holdfast: ` as for
 * every other command. Flags take precedence over their environment variables.
 */
import type { Command } from "commander";
import { HoldfastError } from "../../../src/errors/index.js";
import type { TokenSource } from "../../../src/index.js";
import type { NodeOptions, RunningNode } from "../../../src/server/index.js";
import { accessTokenFrom } from "../../config/access-token.js";
import { examplesText } from "../../config/command-options.js";
import { Configuration } from "../../config/configuration.js";
import { addOptions } from "../../config/flags.js";
import type { ServerFlags } from "../../config/server-values.js";
import type { Finish } from "../../exit/ending.js";
import { EXIT } from "../../exit/exit-codes.js";
import { Failure, systemCodeOf } from "../../exit/failure.js";
import { startFailure } from "../../exit/start-failure.js";
import { SERVER_OPTIONS } from "../../options/option-table.js";
import { givenToNode } from "../../options/server-options.js";
import { createLogger } from "../../output/node-log.js";
import { note } from "../../output/terminal.js";
import { exitNow } from "../../output/unplanned-exit.js";
import { StopRequest } from "../../run/stop-request.js";

/** How long an unsupervised stop may take (see `--stop-on-stdin-end`). */
const UNATTENDED_STOP_MS_MAX = 10_000;

const EXAMPLES: readonly (readonly [string, string])[] = [
  ["holdfast server --id 1 --data n1 --initial-cluster 1=127.0.0.1:7511", "a cluster of one"],
  [
    "holdfast server --id 1 --data n1 --listen a:7411 --insecure \\\n" +
      "    --initial-cluster 1=a:7511,2=b:7511,3=c:7511",
    "one of three, on host a",
  ],
  [
    "holdfast server --id 4 --data n4 --join ws://a:7411,ws://b:7411 \\\n" +
      "    --peer-listen d:7511 --listen d:7411 --insecure",
    "after member add 4 d:7511",
  ],
  [
    "holdfast server --id 1 --data n1 --listen a:7411 \\\n" +
      "    --initial-cluster 1=a:7511,2=b:7511,3=c:7511 \\\n" +
      "    --tls-cert n1.pem --tls-key n1.key --tls-ca ca.pem \\\n" +
      "    --client-ca ca.pem --require-client-cert",
    "with TLS and known clients",
  ],
  ["holdfast server --config /etc/holdfast.json", "all options from a file"],
];

const NOTES = `
A node founds a cluster (--initial-cluster) or joins one (--join). A data
directory that is not empty determines its cluster by itself.

SIGTERM, SIGINT or SIGHUP stop the node in order (exit code 0): a leader first
hands leadership to another node. A second signal ends it at once. A node that
was removed from its cluster, or whose data directory another process has
opened, ends with exit code 1.

With TLS, SIGHUP does not stop the node: it reads its TLS files again, which it
also does when they change.

Options may also come from the environment or a JSON file, whose keys are their
names: initialCluster for --initial-cluster. "holdfast config print server"
shows which values would be used, and where they come from.`;

export function defineServer(command: Command, finish: Finish): void {
  command.addHelpText("before", examplesText(EXAMPLES));
  addOptions(command, SERVER_OPTIONS);
  command.addHelpText("after", NOTES).action(async () => {
    const configuration = Configuration.of(command);
    const flags = configuration.settle(SERVER_OPTIONS);
    finish(await serve(flags, joinTokenOf(configuration)));
  });
}

/** Reads no file before the node has to ask, because after it has joined the token may be gone. */
function joinTokenOf(configuration: Configuration): () => Promise<string | undefined> {
  let source: TokenSource | undefined;
  return async () => {
    source ??= accessTokenFrom(configuration);
    return typeof source === "function" ? source() : source;
  };
}

async function serve(
  flags: ServerFlags,
  joinToken: () => Promise<string | undefined>,
): Promise<number> {
  let node: RunningNode | undefined;
  const hasTls = flags.tlsCert !== undefined;
  const stop = new StopRequest({
    watchesStdin: flags.stopOnStdinEnd === true,
    onStdinEnd: endUnattended,
    ...(hasTls ? { onHangup: () => void node?.reloadTls() } : {}),
  });
  const options = { ...nodeOptions(flags), joinToken, signal: stop.signal };
  const { startNode } = await import("../../../src/server/index.js");
  try {
    node = await startNode(options);
  } catch (error) {
    // It was waiting for other nodes, and nothing had begun.
    if (stop.signal.aborted) return EXIT.done;
    throw startFailure(error, options);
  }
  const ended = await Promise.race([node.ended, stop.requested]);
  if (ended === "stop") {
    await node.stop();
    return EXIT.done;
  }
  if (ended === undefined) return EXIT.done;
  // The node is not at fault if it was removed from its cluster, if another process has its
  // directory, or if its disk failed.
  const isOwnFault = !(ended instanceof HoldfastError && ended.code === "UNAVAILABLE");
  const exitCode = isOwnFault && systemCodeOf(ended) !== "EIO" ? EXIT.internal : EXIT.failed;
  throw new Failure(exitCode, `node ${flags.id} ended: ${ended.message}`, { cause: ended });
}

/** The node itself refuses what cannot be. */
export function nodeOptions(flags: ServerFlags): NodeOptions {
  const { logFormat = "text" } = flags;
  const { settings, tuning } = givenToNode(flags);
  // Each is the value of the row that has its name.
  return { ...settings, tuning, log: createLogger(logFormat) } as unknown as NodeOptions;
}

/** Fails as a start with these options would, before it opens a port or writes anything. */
export async function requireStartable(flags: ServerFlags): Promise<void> {
  const options = nodeOptions(flags);
  const { settleOptions } = await import("../../../src/server/index.js");
  try {
    await settleOptions(options);
  } catch (error) {
    throw startFailure(error, options);
  }
}

/** There is no process left to send a second signal, so a stop that hangs must end by itself. */
function endUnattended(): void {
  const timer = setTimeout(() => {
    note(`the node did not stop within ${UNATTENDED_STOP_MS_MAX} ms and is ended at once`);
    exitNow(EXIT.failed);
  }, UNATTENDED_STOP_MS_MAX);
  timer.unref();
}
