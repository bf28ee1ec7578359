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

/** A call of a script, and the keys as they are imagined. */
export interface ScriptInput {
  /** As the call names them; one may stand there twice. */
  readonly keys: readonly Buffer[];
  readonly args: readonly Buffer[];
  readonly database: number;
  /** By their names in latin1. */
  readonly known: ReadonlyMap<string, KnownKey>;
  /** Locks may be ended and moved without a comparison. */
  readonly allowsUnproven: boolean;
}

/** What is to be done, each key in the same way, and what is answered if that could be done. */
export interface Meaning {
  readonly changes: readonly KeyEffect[];
  readonly publications: readonly Publication[];
  readonly reply: ScriptReply;
}

export class LockScript {
  readonly #statements: readonly Statement[];

  /** Throws `NotServed` for a text that is not answered, whatever it is called with. */
  static read(text: Buffer): LockScript {
    const statements = readScript(text.toString("latin1"));
    if (statements === undefined) throw new NotServed("it is not of the Lua that is read here");
    const [stranger] = strangersIn(statements);
    if (stranger !== undefined) throw new NotServed(`it uses ${stranger}`);
    return new LockScript(statements);
  }

  private constructor(statements: readonly Statement[]) {
    this.#statements = statements;
  }

  /**
   * Throws `NotServed`, `NeedsLook` if the imagined keys do not say enough, and `OtherDatabase` if the
   * script wants the keys of another one.
   */
  meaningOf(input: ScriptInput): Meaning {
    const keys = new ImaginedKeys(input.known, input.allowsUnproven);
    let hasAsked = false;
    const command = (words: readonly string[]): LuaValue => {
      if (words[0]?.toUpperCase() === "SELECT") return select(words, input.database, hasAsked);
      hasAsked = true;
      return runCommand(keys, words);
    };
    const reply = replyTo(() =>
      interpret(this.#statements, {
        ...{ keys: textsOf(input.keys), args: textsOf(input.args), command },
        onEqual: (text) => keys.noteEqual(text),
      }),
    );
    const { publications } = keys;
    const changes = keys.changes();
    if (reply.isFailure && changes.length + publications.length > 0) {
      throw new NotServed("it fails after it has changed something");
    }
    return { changes, publications, reply: reply.reply };
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
