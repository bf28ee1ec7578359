/**
 * Finds what answers a command, and holds back what must wait: commands of a transaction until EXEC,
 * and everything until it is known as whom the connection speaks. A command that is not in the table is
 * refused by name, because an answer that looks like one from Redis would be believed.
 */
import type { Buffer } from "node:buffer";
import { printable } from "../../../text/index.js";
import type { ConnectionState } from "../connection-state.js";
import { tableKeyOf } from "../names.js";
import { notSignedIn, RefusedCommand, wrongArity } from "../refusals.js";
import { QUEUED, type RespReply } from "../resp/index.js";
import { type DoorCommand, type HoldBack, wordOf } from "./command.js";
import { CONNECTION_COMMANDS } from "./connection-commands.js";
import { KEY_COMMANDS } from "./key-commands.js";
import { PUBSUB_COMMANDS } from "./pubsub-commands.js";
import { REFUSED_COMMANDS } from "./refused-commands.js";
import { SCRIPT_COMMANDS } from "./script-commands.js";
import { SENTINEL_COMMANDS } from "./sentinel-commands.js";
import { SERVER_COMMANDS } from "./server-commands.js";
import { SET_COMMAND } from "./set-command.js";
import { queue, TRANSACTION_COMMANDS } from "./transaction-commands.js";

const SHOWN_LENGTH_MAX = 64;

const TABLE: ReadonlyMap<string, DoorCommand> = new Map(
  [
    ...CONNECTION_COMMANDS,
    ...SERVER_COMMANDS,
    ...SENTINEL_COMMANDS,
    SET_COMMAND,
    ...KEY_COMMANDS,
    ...SCRIPT_COMMANDS,
    ...TRANSACTION_COMMANDS,
    ...PUBSUB_COMMANDS,
  ].map((command) => [command.name, command]),
);

/** What a port answers that is a sentinel only. */
const FOR_SENTINELS: ReadonlySet<DoorCommand> = new Set([
  ...CONNECTION_COMMANDS,
  ...SENTINEL_COMMANDS,
  ...PUBSUB_COMMANDS,
  ...SERVER_COMMANDS.filter(({ name }) => ["INFO", "ROLE", "COMMAND"].includes(name)),
]);

/**
 * Names of commands in RESP2 and RESP3 are short; only the names of known commands are remembered.
 */
const NAMES = new Map<string, DoorCommand>();

/**
 * Throws or rejects with what `failureOf` knows.
 *
 * @param isStranger what `connection` says; asked once for each command
 */
export function answer(
  connection: ConnectionState,
  words: readonly Buffer[],
  holdBack: HoldBack,
  isStranger: boolean,
): RespReply | Promise<RespReply> {
  if (isStranger && connection.isUnjudged) return judged(connection, words, holdBack);
  const fail = (error: unknown): Promise<never> => {
    const { endings } = connection;
    const [first, ...args] = words;
    if (!endings.concerns(wordOf(first), error)) throw error;
    // A client whose release is refused is not to take such a lock again: so it must be known who it is.
    const noted = connection.meet().then(() => {
      const { database } = connection;
      endings.noteRefused(wordOf(first), args, error, (key) => tableKeyOf(database, key));
    });
    holdBack(noted);
    const failAgain = (): never => {
      throw error;
    };
    return noted.then(failAgain, failAgain);
  };
  try {
    const reply = answerOne(connection, words, holdBack, isStranger);
    return reply instanceof Promise ? reply.catch(fail) : reply;
  } catch (error) {
    return fail(error);
  }
}

function answerOne(
  connection: ConnectionState,
  [first, ...args]: readonly Buffer[],
  holdBack: HoldBack,
  isStranger: boolean,
): RespReply | Promise<RespReply> {
  const typed = first?.toString("latin1") ?? "";
  const command = NAMES.get(typed) ?? find(typed);
  if (isStranger && command?.isForStrangers !== true && connection.mustSignIn) throw notSignedIn();
  if (command === undefined) return refuseUnknown(connection, typed);
  if (connection.rules.isSentinel && !FOR_SENTINELS.has(command)) throw onlySentinel(command);
  const { name, least, most = Number.POSITIVE_INFINITY } = command;
  if (args.length < least || args.length > most) {
    connection.transaction.breakOff();
    throw wrongArity(name);
  }
  if (connection.transaction.isOpen && command.endsQueue !== true) {
    queue(connection, command, args, holdBack);
    return QUEUED;
  }
  if (connection.subscriptions.isExclusive && command.isForSubscribers !== true) {
    throw new RefusedCommand(
      `Can't execute '${name.toLowerCase()}': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / ` +
        "QUIT / RESET are allowed in this context",
      "ERR",
    );
  }
  command.check?.(connection, args);
  const before = command.changesConnection === true ? connection.port.repliesBefore() : undefined;
  if (before !== undefined) {
    const result = before.then(() => command.run(connection, args, () => {}));
    holdBack(result);
    return result;
  }
  if (command.asksCluster !== true || connection.isMet)
    return command.run(connection, args, holdBack);
  const met = connection.meet();
  // Its turn comes before the commands that are held back.
  const result = met.then(() => command.run(connection, args, holdBack));
  holdBack(met);
  return result;
}

/** Answers when it is known whom the certificate of the connection names. */
function judged(
  connection: ConnectionState,
  words: readonly Buffer[],
  holdBack: HoldBack,
): Promise<RespReply> {
  const result = connection
    .judge()
    .then(() => answer(connection, words, () => {}, connection.isStranger));
  holdBack(result);
  return result;
}

function find(typed: string): DoorCommand | undefined {
  const command = TABLE.get(typed.toUpperCase());
  if (command !== undefined && NAMES.size < 4 * TABLE.size) NAMES.set(typed, command);
  return command;
}

function onlySentinel({ name }: DoorCommand): RefusedCommand {
  return new RefusedCommand(
    `${name} is not answered at this port, which is a sentinel only: ask it for the master`,
  );
}

function refuseUnknown(connection: ConnectionState, typed: string): never {
  connection.transaction.breakOff();
  const name = printable(typed.slice(0, SHOWN_LENGTH_MAX)).toUpperCase();
  const why = REFUSED_COMMANDS.get(name) ?? "this is a lock service, no store of data";
  connection.rules.noteRefused(`command ${name}`, name);
  throw new RefusedCommand(`the Redis port of Holdfast does not answer ${name}: ${why}`);
}
