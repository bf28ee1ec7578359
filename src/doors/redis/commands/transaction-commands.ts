/**
 * WATCH, MULTI and EXEC as lock clients use them; see `transaction.ts`. EXEC answers for one command on
 * the one key that is watched, if that is one command of the table as well: what was compared with what
 * GET told, and what was done, is of one moment. Everything else is refused, and nothing is done.
 */
import type { Buffer } from "node:buffer";
import { integerOf, ttlOf } from "../durations.js";
import type { KeyState } from "../lease-calls.js";
import type { LockSpace } from "../lock-space.js";
import { redisKeyOf, tableKeyOf } from "../names.js";
import { RefusedCommand } from "../refusals.js";
import { NULL_ARRAY, OK, type Reply } from "../resp/index.js";
import type { Session } from "../session.js";
import { type Command, wordOf } from "./command.js";
import { LOOKS } from "./key-commands.js";
import { setOptionsOf } from "./set-command.js";

const UNITS_MS: ReadonlyMap<string, number> = new Map([
  ["EXPIRE", 1_000],
  ["PEXPIRE", 1],
]);
const WHAT =
  "a transaction is answered if it is WATCH and GET of one key, and then MULTI, one command that " +
  "takes, extends, ends or shows that lock, and EXEC";

export const TRANSACTION_COMMANDS: readonly Command[] = [
  {
    name: "WATCH",
    least: 1,
    endsQueue: true,
    run({ transaction, database }, keys) {
      if (transaction.isOpen) throw new RefusedCommand("WATCH inside MULTI is not allowed", "ERR");
      for (const key of keys.map((one) => tableKeyOf(database, one))) transaction.watch(key);
      return OK;
    },
  },
  {
    name: "UNWATCH",
    least: 0,
    most: 0,
    run({ transaction }) {
      transaction.unwatch();
      return OK;
    },
  },
  {
    name: "MULTI",
    least: 0,
    most: 0,
    endsQueue: true,
    run({ transaction }) {
      transaction.begin();
      return OK;
    },
  },
  {
    name: "DISCARD",
    least: 0,
    most: 0,
    endsQueue: true,
    run({ transaction }) {
      if (!transaction.isOpen) throw new RefusedCommand("DISCARD without MULTI", "ERR");
      transaction.discard();
      return OK;
    },
  },
  { name: "EXEC", least: 0, most: 0, endsQueue: true, asksCluster: true, run: execute },
];

function execute(session: Session): Reply | Promise<Reply> {
  const { commands, told } = session.transaction.take();
  const [command, ...more] = commands;
  if (command === undefined && told.size === 0) return [];
  const [[tableKey, value] = ["", undefined], ...others] = told;
  const watched = redisKeyOf(tableKey);
  if (watched === undefined || value === undefined || others.length > 0 || more.length > 0) {
    throw new RefusedCommand(WHAT);
  }
  const { key, database } = watched;
  const locks = session.locksOf(database);
  if (command === undefined) return new Watched(locks, key, value).confirm([]);
  const [word, ofKey, ...args] = command;
  if (ofKey === undefined || tableKeyOf(session.database, ofKey) !== tableKey) {
    throw new RefusedCommand(WHAT);
  }
  const one = new Watched(locks, key, value);
  try {
    return one.run(wordOf(word), args);
  } catch (error) {
    if (!(error instanceof RefusedCommand) || error.code !== "ERR") throw error;
    // Redis finds that out within EXEC, and answers it there.
    return one.confirm([{ code: error.code, message: error.message }]);
  }
}

/** The watched key, and what counts if it still is as GET told; nil otherwise. */
class Watched {
  readonly #locks: LockSpace;
  readonly #key: Buffer;
  readonly #told: Buffer | null;

  constructor(locks: LockSpace, key: Buffer, told: Buffer | null) {
    this.#locks = locks;
    this.#key = key;
    this.#told = told;
  }

  /** Throws `RefusedCommand` for what cannot be done so, and `ERR` where Redis does. */
  run(name: string, args: readonly Buffer[]): Promise<Reply> {
    const told = this.#told;
    const look = LOOKS.get(name);
    if (look !== undefined) return this.#look((state) => look(state, args));
    switch (name) {
      case "EXISTS":
        demand(args.length === 0);
        return this.confirm([told === null ? 0 : 1]);
      case "DEL":
      case "UNLINK":
        demand(args.length === 0);
        return this.#end();
      case "DELIFEQ":
        return this.#endIfEqual(args[0] as Buffer);
      case "DELEX":
        demand(wordOf(args[0]) === "IFEQ");
        return this.#endIfEqual(args[1] as Buffer);
      case "EXPIRE":
      case "PEXPIRE":
        demand(args.length === 1);
        return this.#expire(name, args[0] as Buffer);
      case "SETNX":
        return told === null ? this.#take(args[0] as Buffer, 0, 1) : this.confirm([0]);
      case "SET":
        return this.#set(args);
      default:
        throw new RefusedCommand(WHAT);
    }
  }

  confirm(reply: readonly Reply[]): Promise<Reply> {
    const looked = this.#locks.look(this.#key);
    return looked.then((state) => (this.#isAsTold(state) ? reply : NULL_ARRAY));
  }

  #look(replyOf: (state: KeyState) => Reply): Promise<Reply> {
    const looked = this.#locks.look(this.#key);
    return looked.then((state) => (this.#isAsTold(state) ? [replyOf(state)] : NULL_ARRAY));
  }

  #end(): Promise<Reply> {
    if (this.#told === null) return this.confirm([0]);
    const ended = this.#locks.release([this.#key], this.#told);
    return ended.then(({ count }) => (count === 0 ? NULL_ARRAY : [count]));
  }

  #endIfEqual(value: Buffer): Promise<Reply> {
    return this.#told?.equals(value) === true ? this.#end() : this.confirm([0]);
  }

  #expire(name: string, time: Buffer): Promise<Reply> {
    const isOver = integerOf(time) <= 0;
    if (this.#told === null) return this.confirm([0]);
    if (isOver) return this.#end();
    const ttlMs = ttlOf(time, UNITS_MS.get(name) as number, name.toLowerCase());
    return this.#extend(this.#told, ttlMs, 1);
  }

  #set([value, ...words]: readonly Buffer[]): Promise<Reply> {
    const { condition, expected, wantsOld, ttlMs } = setOptionsOf(words);
    demand(!wantsOld);
    const told = this.#told;
    if (told === null) {
      if (condition === "XX" || condition === "IFEQ") return this.confirm([null]);
      return this.#take(value as Buffer, ttlMs ?? 0, OK);
    }
    if (condition === "NX") return this.confirm([null]);
    if (condition === "IFEQ" && expected?.equals(told) !== true) return this.confirm([null]);
    if (ttlMs === undefined || value?.equals(told) !== true) {
      throw new RefusedCommand(
        "SET in a transaction takes a key that is free, or extends the lock of the same value",
      );
    }
    return this.#extend(told, ttlMs, OK);
  }

  #extend(value: Buffer, ttlMs: number, reply: Reply): Promise<Reply> {
    const extended = this.#locks.extend({ keys: [this.#key], value, ttlMs });
    return extended.then((loss) => (loss === undefined ? [reply] : NULL_ARRAY));
  }

  /** Without a place in the queue: whoever gets nil begins again with GET. */
  #take(value: Buffer, ttlMs: number, reply: Reply): Promise<Reply> {
    const { calls } = this.#locks;
    const wish = { keys: [this.#key], value, ttlMs };
    calls.check(wish);
    const take = async (): Promise<Reply> =>
      (await calls.take(wish)) === "taken" ? [reply] : NULL_ARRAY;
    return this.#locks.decide<Reply>(this.#key, (state) =>
      this.#isAsTold(state) ? { write: take } : { answer: NULL_ARRAY },
    );
  }

  #isAsTold(state: KeyState): boolean {
    if (this.#told === null) return state.kind === "none";
    return state.kind === "lock" && state.value.equals(this.#told);
  }
}

function demand(isAnswered: boolean): void {
  if (!isAnswered) throw new RefusedCommand(WHAT);
}
