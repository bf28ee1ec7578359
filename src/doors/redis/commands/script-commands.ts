/** EVAL and its like: finds the script that is meant, and answers its call. */
import type { Buffer } from "node:buffer";
import type { ConnectionState } from "../connection-state.js";
import { integerOf } from "../durations.js";
import { tableKeyOf } from "../names.js";
import { RefusedCommand, RefusedScript } from "../refusals.js";
import { OK, type RespReply } from "../resp/index.js";
import { runScript } from "../script-runs.js";
import { LockScript, NotServed, type ScriptOfClient } from "../scripts/index.js";
import { runSemaphore } from "../semaphores.js";
import { type DoorCommand, wordOf } from "./command.js";

export const SCRIPT_COMMANDS: readonly DoorCommand[] = [
  byText("EVAL", false),
  byText("EVAL_RO", true),
  bySum("EVALSHA", false),
  bySum("EVALSHA_RO", true),
  { name: "SCRIPT", least: 1, run: (connection, args) => script(connection, args) },
];

function byText(name: string, isReadOnly: boolean): DoorCommand {
  const check: DoorCommand["check"] = (connection, [text]) => {
    read(connection, text as Buffer);
  };
  const run: DoorCommand["run"] = (connection, [text, ...rest]) =>
    call(connection, read(connection, text as Buffer), rest, isReadOnly);
  return { name, least: 2, asksCluster: true, check, run };
}

function bySum(name: string, isReadOnly: boolean): DoorCommand {
  const run: DoorCommand["run"] = (connection, [sum, ...rest]) => {
    const named = (sum as Buffer).toString("latin1").toLowerCase();
    const known = connection.rules.scripts.find(named);
    if (known !== undefined) return call(connection, known, rest, isReadOnly);
    connection.endings.noteMissing(named, [sum as Buffer, ...rest]);
    throw new RefusedCommand("No matching script. Please use EVAL.", "NOSCRIPT");
  };
  return { name, least: 2, asksCluster: true, run };
}

async function call(
  connection: ConnectionState,
  { is, isOfRedlock }: ScriptOfClient,
  [count, ...values]: readonly Buffer[],
  isReadOnly: boolean,
): Promise<RespReply> {
  const keyCount = integerOf(count as Buffer);
  if (keyCount < 0) throw new RefusedCommand("Number of keys can't be negative", "ERR");
  if (keyCount > values.length) {
    throw new RefusedCommand("Number of keys can't be greater than number of args", "ERR");
  }
  const [keys, args] = [values.slice(0, keyCount), values.slice(keyCount)];
  if (!(is instanceof LockScript)) return runSemaphore(connection, is, keys, args);
  try {
    return await runScript(connection, { script: is, keys, args, isReadOnly, isOfRedlock });
  } catch (error) {
    if (!(error instanceof NotServed)) throw error;
    throw new RefusedScript(`this lock script is not answered: ${error.message}`);
  }
}

function script(connection: ConnectionState, [subcommand, ...args]: readonly Buffer[]): RespReply {
  const { scripts } = connection.rules;
  const word = wordOf(subcommand);
  if (word === "LOAD" && args.length === 1) {
    const [text] = args as [Buffer];
    const learned = scripts.learn(text);
    const { sum, script: known } = learned;
    if (known instanceof NotServed) {
      // A client that loads a script because it was not known is using it, for locks of its own kind.
      const calling = connection.endings.callOfMissing(sum);
      if (calling === undefined) connection.endings.noteRefusedText(sum, text, known.message);
      else {
        const reason = new RefusedScript(`this lock script is not answered: ${known.message}`);
        const { database, endings } = connection;
        endings.noteRefused("EVALSHA", calling, reason, (key) => tableKeyOf(database, key));
      }
    }
    read(connection, text);
    return sum;
  }
  if (word === "EXISTS" && args.length > 0) {
    return args.map((sum) =>
      scripts.find(sum.toString("latin1").toLowerCase()) === undefined ? 0 : 1,
    );
  }
  // Known scripts are known by nature; those that were learned can be sent again.
  if (word === "FLUSH") return OK;
  throw new RefusedCommand("SCRIPT is answered with LOAD, EXISTS and FLUSH only");
}

function read({ rules }: ConnectionState, text: Buffer): ScriptOfClient {
  const { sum, script: known } = rules.scripts.learn(text);
  if (!(known instanceof NotServed)) return known;
  const what = `script sha1=${sum} is not answered: ${known.message}`;
  rules.noteRefused(what, text.toString("utf8"));
  throw new RefusedScript(what);
}
