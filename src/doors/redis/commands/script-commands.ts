/** EVAL and its like: finds out which lock script it is, and does what that means. */
import type { Buffer } from "node:buffer";
import { integerOf } from "../durations.js";
import { RefusedCommand } from "../refusals.js";
import { OK, type Reply } from "../resp/index.js";
import { runScript } from "../script-meanings.js";
import type { RecognisedScript } from "../scripts/index.js";
import type { Session } from "../session.js";
import { type Command, wordOf } from "./command.js";

export const SCRIPT_COMMANDS: readonly Command[] = [
  { name: "EVAL", least: 2, asksCluster: true, check: checkText, run: evalText },
  { name: "EVAL_RO", least: 2, asksCluster: true, check: checkText, run: evalText },
  { name: "EVALSHA", least: 2, asksCluster: true, run: evalSum },
  { name: "EVALSHA_RO", least: 2, asksCluster: true, run: evalSum },
  { name: "SCRIPT", least: 1, run: (session, args) => script(session, args) },
];

function checkText(session: Session, [text]: readonly Buffer[]): void {
  recognised(session, text as Buffer);
}

function evalText(session: Session, [text, ...rest]: readonly Buffer[]): Promise<Reply> {
  return run(session, recognised(session, text as Buffer), rest);
}

function evalSum(session: Session, [sum, ...rest]: readonly Buffer[]): Promise<Reply> {
  const known = session.rules.scripts.find((sum as Buffer).toString("latin1").toLowerCase());
  if (known !== undefined) return run(session, known, rest);
  throw new RefusedCommand("No matching script. Please use EVAL.", "NOSCRIPT");
}

function run(
  session: Session,
  known: RecognisedScript,
  [count, ...values]: readonly Buffer[],
): Promise<Reply> {
  const keyCount = integerOf(count as Buffer);
  if (keyCount < 0) throw new RefusedCommand("Number of keys can't be negative", "ERR");
  if (keyCount > values.length) {
    throw new RefusedCommand("Number of keys can't be greater than number of args", "ERR");
  }
  return runScript(session, known, values.slice(0, keyCount), values.slice(keyCount));
}

function script(session: Session, [subcommand, ...args]: readonly Buffer[]): Reply {
  const { scripts } = session.rules;
  const word = wordOf(subcommand);
  if (word === "LOAD" && args.length === 1) {
    const [text] = args as [Buffer];
    recognised(session, text);
    return scripts.learn(text).sum;
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

function recognised({ rules }: Session, text: Buffer): RecognisedScript {
  const { sum, script: known } = rules.scripts.learn(text);
  if (known !== undefined) return known;
  const what = `script sha1=${sum} is none of the known lock scripts`;
  rules.noteRefused(what, text.toString("utf8"));
  throw new RefusedCommand(what);
}
