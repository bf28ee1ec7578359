/**
 * `holdfast log-level [NODE] [LEVEL]`: shows how much each node logs, or has nodes log more or less
 * for a while. Nodes go back by themselves, so that no log stays full because somebody forgot it.
 */
import { type Command, InvalidArgumentError, Option } from "commander";
import type { Admin, LogLevel, LogLevelView } from "../../../src/index.js";
import { NODE_OPTIONS } from "../../../src/node-options/index.js";
import { printable } from "../../../src/text/index.js";
import { clusterCommand, type Examples, operate, tell } from "../../cluster/cluster-command.js";
import { durationArgument } from "../../config/command-options.js";
import type { Finish } from "../../exit/ending.js";
import { EXIT } from "../../exit/exit-codes.js";
import { Failure, failureOf } from "../../exit/failure.js";
import { type Column, tableLines } from "../../output/text-table.js";
import { formatWallTime } from "../../text/wall-time.js";

const LEVELS = NODE_OPTIONS.logLevel.kind.choices as readonly LogLevel[];
const FOR_MS_DEFAULT = 600_000;
const FOR_MS_MAX = 86_400_000;

const EXAMPLES: Examples = [
  ["holdfast log-level", "the levels of all nodes, and until when"],
  ["holdfast log-level 2 debug --for 10m", "node 2 logs everything for ten minutes"],
  ["holdfast log-level warn", "all nodes log only problems, for ten minutes"],
  ["holdfast log-level 2 info --for 0s", "node 2 goes back to its own level now"],
];

const NOTES = `
Levels, each with those after it: debug, info, warn, error. A node is started
with a level (holdfast server --log-level) and goes back to it by itself; both
changes are in its log, with the identity that asked. Changing a level needs
the permission admin. Exit code 5 if a node does not exist or refuses. The JSON
document, one element for each node; a node that does not answer has an error:
  [{"node":2,"level":"debug","usual":"info","untilWallMs":1800000600000},
   {"node":3,"error":"…"}]`;

const COLUMNS: readonly Column[] = [
  { heading: "NODE", alignment: "right" },
  { heading: "LEVEL" },
  { heading: "USUAL" },
  { heading: "UNTIL" },
];

type Shown = LogLevelView | { readonly node: number; readonly error: string };

interface Flags {
  readonly for: number;
}

export function defineLogLevel(command: Command, finish: Finish): void {
  command
    .argument("[node]", "only this node; all nodes if it is left out", nodeOrLevel)
    .argument("[level]", `the new level: ${LEVELS.join(", ")}`, levelArgument)
    .addOption(
      new Option("--for <duration>", "how long; at most a day; 0s: back to the usual level now")
        .argParser(timeArgument)
        .default(FOR_MS_DEFAULT, "10m"),
    );
  clusterCommand(command, { examples: EXAMPLES, notes: NOTES }).action(
    async (first: number | LogLevel | undefined, second: LogLevel | undefined) => {
      const { for: forMs } = command.opts<Flags>();
      const node = typeof first === "number" ? first : undefined;
      const level = typeof first === "string" ? first : second;
      if (typeof first === "string" && second !== undefined) {
        throw new Failure(EXIT.usage, `log-level ${first} ${second}: the first is not a node id`);
      }
      if (level === undefined && command.getOptionValueSource("for") === "cli") {
        throw new Failure(EXIT.usage, `--for without a level: give one of ${LEVELS.join(", ")}`);
      }
      const shown = await operate(command, (admin) =>
        node === undefined
          ? ofAllNodes(admin, level, forMs)
          : ofNode(admin, node, level, forMs).then((view) => [view]),
      );
      tell(command, shown, tableLines(COLUMNS, shown.map(row)));
      if (shown.some((each) => "error" in each)) finish(EXIT.failed);
    },
  );
}

function ofNode(
  admin: Admin,
  node: number,
  level: LogLevel | undefined,
  forMs: number,
): Promise<LogLevelView> {
  return level === undefined ? admin.logLevel({ node }) : admin.setLogLevel(level, { node, forMs });
}

/** One node that does not answer does not keep the others from it. */
async function ofAllNodes(
  admin: Admin,
  level: LogLevel | undefined,
  forMs: number,
): Promise<Shown[]> {
  const { members } = await admin.members();
  const ids = members.map(({ id }) => id).sort((one, other) => one - other);
  return Promise.all(
    ids.map((node) =>
      ofNode(admin, node, level, forMs).catch((error: unknown): Shown => {
        const { exitCode, message } = failureOf(error);
        // All nodes would say the same.
        if (exitCode === EXIT.refused) throw error;
        return { node, error: message };
      }),
    ),
  );
}

function row(shown: Shown): string[] {
  if ("error" in shown) return [String(shown.node), "?", "?", printable(shown.error)];
  const { node, level, usual, untilWallMs } = shown;
  return [String(node), level, usual, untilWallMs === null ? "" : formatWallTime(untilWallMs)];
}

function isLevel(text: string): text is LogLevel {
  return LEVELS.some((level) => level === text);
}

function levelArgument(text: string): LogLevel {
  if (isLevel(text)) return text;
  throw new InvalidArgumentError(`It is none of ${LEVELS.join(", ")}.`);
}

/** The level stands first if all nodes are meant. */
function nodeOrLevel(text: string): number | LogLevel {
  if (isLevel(text)) return text;
  if (/^[1-9]\d{0,9}$/.test(text) && Number(text) < 2 ** 32) return Number(text);
  throw new InvalidArgumentError(`It is not a node id, and none of ${LEVELS.join(", ")}.`);
}

function timeArgument(text: string): number {
  const forMs = durationArgument(text);
  if (forMs <= FOR_MS_MAX) return forMs;
  throw new InvalidArgumentError("It is longer than a day.");
}
