/** WATCH, MULTI and EXEC as lock clients use them; see `transaction.ts`. */
import { integerOf, ttlOf } from "../durations.js";
import { RefusedCommand } from "../refusals.js";
import { NULL_ARRAY, OK, type Reply } from "../resp/index.js";
import type { Session } from "../session.js";
import { type Command, wordOf } from "./command.js";

const UNITS_MS: ReadonlyMap<string, number> = new Map([
  ["EXPIRE", 1_000],
  ["PEXPIRE", 1],
]);
const WHAT =
  "a transaction is answered if it is WATCH and GET of a key, and then MULTI, one DEL, UNLINK, " +
  "EXPIRE or PEXPIRE of that key, and EXEC";

export const TRANSACTION_COMMANDS: readonly Command[] = [
  {
    name: "WATCH",
    least: 1,
    endsQueue: true,
    run({ transaction }, keys) {
      if (transaction.isOpen) throw new RefusedCommand("WATCH inside MULTI is not allowed", "ERR");
      for (const key of keys) transaction.watch(key);
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
  const { locks, transaction } = session;
  const { commands, toldOf } = transaction.take();
  const [command, ...more] = commands;
  if (command === undefined) return [];
  const [word, key, time, ...rest] = command;
  const name = wordOf(word);
  const told = key === undefined ? undefined : toldOf(key);
  if (more.length > 0 || key === undefined || told === undefined) throw new RefusedCommand(WHAT);
  if (told === null) {
    return locks.look(key).then(({ kind }) => (kind === "none" ? [0] : NULL_ARRAY));
  }
  if (name === "DEL" || name === "UNLINK") {
    if (time !== undefined) throw new RefusedCommand(WHAT);
    return locks.release([key], told).then(({ count }) => (count === 0 ? NULL_ARRAY : [count]));
  }
  const unitMs = UNITS_MS.get(name);
  if (unitMs === undefined || time === undefined || rest.length > 0) throw new RefusedCommand(WHAT);
  integerOf(time);
  const ttlMs = ttlOf(time, unitMs, name.toLowerCase());
  return locks
    .extend({ keys: [key], value: told, ttlMs })
    .then((loss) => (loss === undefined ? [1] : NULL_ARRAY));
}
