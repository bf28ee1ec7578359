/**
 * Finds what answers a command, and holds back what must wait: commands of a transaction until EXEC,
 * and everything until it is known as whom the connection speaks. A command that is not in the table is
 * refused by name, because an answer that looks like one from Redis would be believed.
 */
import type { Buffer } from "node:buffer";
import { printable } from "../../../text/index.js";
import { tableKeyOf } from "../names.js";
import { notSignedIn, RefusedCommand, wrongArity } from "../refusals.js";
import { QUEUED, type Reply } from "../resp/index.js";
import type { Session } from "../session.js";
import { type Command, type Hold, wordOf } from "./command.js";
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

const TABLE: ReadonlyMap<string, Command> = new Map(
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
const FOR_SENTINELS: ReadonlySet<Command> = new Set([
  ...CONNECTION_COMMANDS,
  ...SENTINEL_COMMANDS,
  ...PUBSUB_COMMANDS,
  ...SERVER_COMMANDS.filter(({ name }) => ["INFO", "ROLE", "COMMAND"].includes(name)),
]);

/**
 * Names of commands in RESP2 and RESP3 are short; only the names of known commands are remembered.
 */
const NAMES = new Map<string, Command>();

/**
 * Throws or rejects with what `failureOf` knows.
 *
 * @param isStranger what `session` says; asked once for each command
 */
export function answer(
  session: Session,
  words: readonly Buffer[],
  hold: Hold,
  isStranger: boolean,
): Reply | Promise<Reply> {
  if (isStranger && session.isUnjudged) return judged(session, words, hold);
  const fail = (error: unknown): Promise<never> => {
    const { endings } = session;
    const [first, ...args] = words;
    if (!endings.concerns(wordOf(first), error)) throw error;
    // A client whose release is refused is not to take such a lock again: so it must be known who it is.
    const noted = session.meet().then(() => {
      const { database } = session;
      endings.noteRefused(wordOf(first), args, error, (key) => tableKeyOf(database, key));
    });
    hold(noted);
    const failAgain = (): never => {
      throw error;
    };
    return noted.then(failAgain, failAgain);
  };
  try {
    const reply = answerOne(session, words, hold, isStranger);
    return reply instanceof Promise ? reply.catch(fail) : reply;
  } catch (error) {
    return fail(error);
  }
}

function answerOne(
  session: Session,
  [first, ...args]: readonly Buffer[],
  hold: Hold,
  isStranger: boolean,
): Reply | Promise<Reply> {
  const typed = first?.toString("latin1") ?? "";
  const command = NAMES.get(typed) ?? find(typed);
  if (isStranger && command?.isForStrangers !== true && session.mustSignIn) throw notSignedIn();
  if (command === undefined) return refuseUnknown(session, typed);
  if (session.rules.isSentinel && !FOR_SENTINELS.has(command)) throw onlySentinel(command);
  const { name, least, most = Number.POSITIVE_INFINITY } = command;
  if (args.length < least || args.length > most) {
    session.transaction.breakOff();
    throw wrongArity(name);
  }
  if (session.transaction.isOpen && command.endsQueue !== true) {
    queue(session, command, args, hold);
    return QUEUED;
  }
  if (session.subscriptions.isExclusive && command.isForSubscribers !== true) {
    throw new RefusedCommand(
      `Can't execute '${name.toLowerCase()}': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / ` +
        "QUIT / RESET are allowed in this context",
      "ERR",
    );
  }
  command.check?.(session, args);
  const before = command.changesConnection === true ? session.port.repliesBefore() : undefined;
  if (before !== undefined) {
    const result = before.then(() => command.run(session, args, () => {}));
    hold(result);
    return result;
  }
  if (command.asksCluster !== true || session.isMet) return command.run(session, args, hold);
  const met = session.meet();
  // Its turn comes before the commands that are held back.
  const result = met.then(() => command.run(session, args, hold));
  hold(met);
  return result;
}

/** Answers when it is known whom the certificate of the connection names. */
function judged(session: Session, words: readonly Buffer[], hold: Hold): Promise<Reply> {
  const result = session.judge().then(() => answer(session, words, () => {}, session.isStranger));
  hold(result);
  return result;
}

function find(typed: string): Command | undefined {
  const command = TABLE.get(typed.toUpperCase());
  if (command !== undefined && NAMES.size < 4 * TABLE.size) NAMES.set(typed, command);
  return command;
}

function onlySentinel({ name }: Command): RefusedCommand {
  return new RefusedCommand(
    `${name} is not answered at this port, which is a sentinel only: ask it for the master`,
  );
}

function refuseUnknown(session: Session, typed: string): never {
  session.transaction.breakOff();
  const name = printable(typed.slice(0, SHOWN_LENGTH_MAX)).toUpperCase();
  const why = REFUSED_COMMANDS.get(name) ?? "this is a lock service, no store of data";
  session.rules.noteRefused(`command ${name}`, name);
  throw new RefusedCommand(`the Redis port of Holdfast does not answer ${name}: ${why}`);
}
