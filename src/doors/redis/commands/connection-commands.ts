/**
 * Commands about the connection itself: who it is, which database and protocol it uses, what it calls
 * itself, and its end.
 */
import type { Buffer } from "node:buffer";
import { HoldfastError } from "../../../errors/index.js";
import type { ConnectionState } from "../connection-state.js";
import { notAnInteger, RefusedCommand, syntaxError } from "../refusals.js";
import { type MapReply, OK, type Protocol, type RespReply } from "../resp/index.js";
import { type DoorCommand, type HoldBack, wordOf } from "./command.js";
import { REDIS_VERSION } from "./server-commands.js";

/** The name of a client that has only a password. */
const DEFAULT_USER = "default";
/** How access tokens begin. Another password of the default user is one that clients of Redis have. */
const TOKEN_PREFIX = "hf_";
const NO_PASSWORD =
  "AUTH <password> called without any password configured for the default user. Are you sure your " +
  "configuration is correct?";
const DATABASE_MAX = 99_999;
const CLIENT_NAME_BYTES_MAX = 256;
const HELLO_FIRST =
  "HELLO must be called with the client already authenticated, otherwise the HELLO <proto> AUTH " +
  "<user> <pass> option can be used to authenticate the client and select the RESP protocol version " +
  "at the same time";
const PRINTABLE = /^[!-~]*$/;

export const CONNECTION_COMMANDS: readonly DoorCommand[] = [
  {
    name: "AUTH",
    least: 1,
    most: 2,
    isForStrangers: true,
    isNeverQueued: true,
    changesConnection: true,
    run(connection, args, holdBack) {
      const [user, password] = args.length === 1 ? [undefined, args[0]] : args;
      const signedIn = signIn(connection, user, password as Buffer);
      const result = signedIn.then((): RespReply => OK);
      holdBack(signedIn);
      return result;
    },
  },
  {
    name: "HELLO",
    least: 0,
    isForStrangers: true,
    isNeverQueued: true,
    changesConnection: true,
    run: hello,
  },
  {
    name: "PING",
    least: 0,
    most: 1,
    isForSubscribers: true,
    run(connection, [message]) {
      if (connection.subscriptions.isExclusive) return ["pong", message ?? ""];
      return message ?? { status: "PONG" };
    },
  },
  { name: "ECHO", least: 1, most: 1, run: (_session, [message]) => message as Buffer },
  {
    name: "SELECT",
    least: 1,
    most: 1,
    changesConnection: true,
    run(connection, [number]) {
      const digits = (number as Buffer).toString("latin1");
      if (!/^\d{1,6}$/.test(digits)) throw notAnInteger();
      if (Number(digits) > DATABASE_MAX)
        throw new RefusedCommand("DB index is out of range", "ERR");
      connection.database = Number(digits);
      return OK;
    },
  },
  {
    name: "QUIT",
    least: 0,
    isForStrangers: true,
    isForSubscribers: true,
    endsQueue: true,
    run(connection) {
      connection.port.endAfterReplies();
      return OK;
    },
  },
  {
    name: "RESET",
    least: 0,
    most: 0,
    isForStrangers: true,
    isForSubscribers: true,
    endsQueue: true,
    changesConnection: true,
    run(connection) {
      connection.reset();
      return { status: "RESET" };
    },
  },
  { name: "CLIENT", least: 1, run: client },
];

async function signIn(
  connection: ConnectionState,
  user: Buffer | undefined,
  password: Buffer,
): Promise<void> {
  const name = user?.toString("utf8");
  try {
    const expected = name === undefined || name === DEFAULT_USER ? undefined : name;
    await connection.signIn(password.toString("utf8"), expected);
  } catch (error) {
    const isWrong =
      error instanceof HoldfastError &&
      (error.code === "UNAUTHENTICATED" || error.code === "INVALID_ARGUMENT");
    if (!isWrong) throw error;
    if (connection.node.isOpen && !password.toString("latin1").startsWith(TOKEN_PREFIX)) {
      if (name === DEFAULT_USER) return connection.signOut();
      if (name === undefined) throw new RefusedCommand(NO_PASSWORD, "ERR");
    }
    throw new RefusedCommand(
      "invalid username-password pair or user is disabled: the password is an access token of " +
        "Holdfast, and the user default or the name of its identity",
      "WRONGPASS",
    );
  }
}

/** `HELLO [2|3 [AUTH user password] [SETNAME name]]`. */
function hello(
  connection: ConnectionState,
  args: readonly Buffer[],
  holdBack: HoldBack,
): RespReply | Promise<RespReply> {
  const [version, ...options] = args;
  const wanted = version === undefined ? connection.protocol : Number(version.toString("latin1"));
  if (wanted !== 2 && wanted !== 3) {
    throw new RefusedCommand("unsupported protocol version", "NOPROTO");
  }
  let user: Buffer | undefined;
  let password: Buffer | undefined;
  let name: string | undefined;
  for (let at = 0; at < options.length; ) {
    const word = wordOf(options[at]);
    if (word === "AUTH" && at + 2 < options.length) {
      [user, password] = [options[at + 1], options[at + 2]];
      at += 3;
    } else if (word === "SETNAME" && at + 1 < options.length) {
      name = clientNameOf(options[at + 1] as Buffer);
      at += 2;
    } else {
      throw new RefusedCommand(`Syntax error in HELLO option '${word.slice(0, 64)}'`, "ERR");
    }
  }
  const agree = (): RespReply => {
    connection.protocol = wanted as Protocol;
    if (name !== undefined) connection.name = name;
    return greeting(connection);
  };
  if (password === undefined) {
    if (connection.mustSignIn) throw new RefusedCommand(HELLO_FIRST, "NOAUTH");
    return agree();
  }
  const signedIn = signIn(connection, user, password);
  const result = signedIn.then(agree);
  holdBack(signedIn);
  return result;
}

function greeting({ protocol, port, node, rules: { isSentinel } }: ConnectionState): MapReply {
  return {
    map: [
      ["server", "redis"],
      ["version", REDIS_VERSION],
      ["proto", protocol],
      ["id", port.id],
      ["mode", isSentinel ? "sentinel" : "standalone"],
      ...(isSentinel ? [] : ([["role", node.isServing ? "master" : "replica"]] as const)),
      ["modules", []],
    ],
  };
}

/** What clients say of themselves. What would change replies is refused, since they rely on it. */
function client(connection: ConnectionState, [subcommand, ...args]: readonly Buffer[]): RespReply {
  const word = wordOf(subcommand);
  switch (word) {
    case "SETNAME":
      connection.name = clientNameOf(only(args, 1)[0] as Buffer);
      return OK;
    case "GETNAME":
      return connection.name === "" ? null : connection.name;
    case "ID":
      return connection.port.id;
    case "SETINFO":
      setInfo(connection, only(args, 2));
      return OK;
    case "INFO":
    case "LIST":
      return `${describe(connection)}\n`;
    case "NO-EVICT":
    case "NO-TOUCH":
      return OK;
    case "REPLY":
      if (wordOf(only(args, 1)[0]) === "ON") return OK;
      throw new RefusedCommand("CLIENT REPLY OFF and SKIP would leave commands without an outcome");
    case "UNPAUSE":
      return OK;
    case "GETREDIR":
      return -1;
    default:
      throw new RefusedCommand(
        `unknown subcommand '${word.slice(0, 64).toLowerCase()}'. Try CLIENT HELP.`,
        "ERR",
      );
  }
}

function setInfo(connection: ConnectionState, [attribute, value]: readonly Buffer[]): void {
  const text = (value as Buffer).toString("latin1");
  if (!PRINTABLE.test(text) || text.length > CLIENT_NAME_BYTES_MAX) {
    throw new RefusedCommand("lib-name and lib-ver cannot contain spaces or newlines", "ERR");
  }
  const word = wordOf(attribute);
  if (word === "LIB-NAME") connection.library = { ...connection.library, name: text };
  else if (word === "LIB-VER") connection.library = { ...connection.library, version: text };
  else throw new RefusedCommand(`Unrecognized option '${word.slice(0, 64)}'`, "ERR");
}

function clientNameOf(name: Buffer): string {
  const text = name.toString("latin1");
  if (PRINTABLE.test(text) && text.length <= CLIENT_NAME_BYTES_MAX) return text;
  throw new RefusedCommand(
    "Client names cannot contain spaces, newlines or special characters.",
    "ERR",
  );
}

function describe({
  port,
  name,
  database,
  protocol,
  library,
  subscriptions,
}: ConnectionState): string {
  return [
    `id=${port.id}`,
    `addr=${port.address}`,
    `name=${name}`,
    `db=${database}`,
    `sub=${subscriptions.channelCount}`,
    `psub=${subscriptions.patternCount}`,
    `resp=${protocol}`,
    `lib-name=${library.name}`,
    `lib-ver=${library.version}`,
  ].join(" ");
}

function only(args: readonly Buffer[], count: number): readonly Buffer[] {
  if (args.length !== count) throw syntaxError();
  return args;
}
