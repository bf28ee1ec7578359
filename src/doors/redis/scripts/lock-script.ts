/**
 * One lock script: its text, read once, and what a call of it means for keys that are imagined. A call
 * that is not understood, or that means something that a lock service cannot do in one step, throws
 * `NotServed`; then nothing has been done.
 */
import type { Buffer } from "node:buffer";
import { ImaginedKeys, type KeyEffect, type KnownKey, type Publication } from "./imagined-keys.js";
import { interpret } from "./interpreter.js";
import { readScript, type Statement } from "./lua-tree.js";
import { type LuaValue, NotServed, OtherDatabase, RedisError, tableWith } from "./lua-value.js";
import { integerOf, runCommand } from "./redis-commands.js";
import { replyOf, type ScriptReply } from "./script-reply.js";
import { strangersIn } from "./strangers.js";

/** A script with one of these may keep its lock in a hash. */
const HASHES = /\bh(?:m?get|m?set|setnx|exists|incrby|del|len|keys)\b/i;

/** A call of a script, and the keys as they are imagined. */
export interface ScriptInput {
  /** As the call names them; one may stand there twice. */
  readonly keys: readonly Buffer[];
  readonly args: readonly Buffer[];
  readonly database: number;
  /** By their names in latin1: the keys of the call, and others that it has asked for. */
  readonly known: ReadonlyMap<string, KnownKey>;
  /** Keys that are not known are guessed to be free. */
  readonly isGuess: boolean;
  /** Locks may be ended and moved without a comparison. */
  readonly allowsUnproven: boolean;
}

/** What is to be done, under which conditions, and what is answered if that could be done. */
export interface Meaning {
  /** Empty if nothing is to be done. */
  readonly effects: readonly KeyEffect[];
  readonly publications: readonly Publication[];
  readonly reply: ScriptReply;
}

export class LockScript {
  /** Whether its lock may be a hash. */
  readonly usesHashes: boolean;
  readonly #statements: readonly Statement[];

  /** Throws `NotServed` for a text that is not answered, whatever it is called with. */
  static read(text: Buffer): LockScript {
    const statements = readScript(text.toString("latin1"));
    if (statements === undefined) throw new NotServed("it is not of the Lua that is read here");
    const [stranger] = strangersIn(statements);
    if (stranger !== undefined) throw new NotServed(`it uses ${stranger}`);
    return new LockScript(statements, HASHES.test(text.toString("latin1")));
  }

  private constructor(statements: readonly Statement[], usesHashes: boolean) {
    this.#statements = statements;
    this.usesHashes = usesHashes;
  }

  /**
   * Throws `NotServed`, `NeedsLook` if the imagined keys do not say enough, `NeedsKey` if the script
   * uses another one, and `OtherDatabase` if it wants the keys of another database.
   */
  meaningOf(input: ScriptInput): Meaning {
    const [names, args] = [textsOf(input.keys), textsOf(input.args)];
    const { known, allowsUnproven, isGuess } = input;
    const rights = { allowsUnproven, isArgument: (text: string) => args.includes(text) };
    const keys = new ImaginedKeys(names, known, rights, isGuess);
    let hasAsked = false;
    const command = (words: readonly string[]): LuaValue => {
      if (words[0]?.toUpperCase() === "SELECT") return select(words, input.database, hasAsked);
      hasAsked = true;
      return runCommand(keys, words);
    };
    const reply = replyTo(() =>
      interpret(this.#statements, {
        ...{ keys: names, args, command },
        onEqual: (text) => keys.noteEqual(text),
      }),
    );
    const { publications } = keys;
    const effects = keys.effects();
    if (reply.isFailure && effects.length + publications.length > 0) {
      throw new NotServed("it fails after it has changed something");
    }
    return { effects, publications, reply: reply.reply };
  }
}

function replyTo(run: () => LuaValue): {
  readonly reply: ScriptReply;
  readonly isFailure: boolean;
} {
  try {
    return { reply: replyOf(run()), isFailure: false };
  } catch (error) {
    if (!(error instanceof RedisError)) throw error;
    const { code, message } = error;
    return { reply: { code, message }, isFailure: true };
  }
}

/** In Redis it selects for the script alone. */
function select(words: readonly string[], database: number, hasAsked: boolean): LuaValue {
  const [, wanted, ...more] = words;
  if (wanted === undefined || more.length > 0) throw new NotServed("it uses SELECT otherwise");
  if (hasAsked) throw new NotServed("it selects a database after other commands");
  const number = integerOf(wanted);
  if (number !== database) throw new OtherDatabase(number);
  return tableWith("ok", "OK");
}

function textsOf(buffers: readonly Buffer[]): readonly string[] {
  return buffers.map((buffer) => buffer.toString("latin1"));
}
