/** Commands that a lock client may give and the door refuses, with the reason. */

/** What releases a lock, in place of a command that does not name its value. */
export const DELETED_OTHERWISE = "a script that compares the value, or DELEX key IFEQ value";

const CLOCK = "cluster time is not the time of day; use EXPIRE or PEXPIRE";
const OVERWRITE =
  "it would end the lock of another client without a proof; take it by SET key value NX PX " +
  "milliseconds, and it ends by itself";
const DELETE = `it would end the lock of another client without a proof; use ${DELETED_OTHERWISE}`;
const WHOLE = "it would end the locks of all clients; use holdfast revoke";
const HASHES = "a hash is a lock whose scripts count its holders; use them";
const COUNTS = "a lock keeps no data but the value of its holder";

export const REFUSED_COMMANDS: ReadonlyMap<string, string> = new Map([
  ["EXPIREAT", CLOCK],
  ["PEXPIREAT", CLOCK],
  ["GETSET", OVERWRITE],
  ["SETEX", OVERWRITE],
  ["PSETEX", OVERWRITE],
  ["MSET", OVERWRITE],
  ["MSETNX", "use the acquire script of redlock, which takes several keys with an expiry"],
  ["GETDEL", DELETE],
  ["GETEX", OVERWRITE],
  ["APPEND", OVERWRITE],
  ["RENAME", OVERWRITE],
  ["RENAMENX", OVERWRITE],
  ["COPY", OVERWRITE],
  ["MOVE", OVERWRITE],
  ["FLUSHALL", WHOLE],
  ["FLUSHDB", WHOLE],
  ["SWAPDB", WHOLE],
  ["HSET", HASHES],
  ["HSETNX", HASHES],
  ["HMSET", HASHES],
  ["HDEL", HASHES],
  ["HINCRBY", HASHES],
  ["INCR", COUNTS],
  ["DECR", COUNTS],
  ["INCRBY", COUNTS],
  ["ZADD", "semaphores are taken by the scripts of redis-semaphore"],
  ["BLPOP", "the order of waiters is kept by Holdfast's own clients, not by a list"],
  ["FCALL", "functions are programs, and only known lock scripts are answered"],
  ["FUNCTION", "functions are programs, and only known lock scripts are answered"],
]);
