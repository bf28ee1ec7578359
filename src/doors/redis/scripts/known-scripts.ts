/**
 * Lock scripts of known clients by the SHA-1 of their text, so that every node answers EVALSHA before
 * any client has sent the text. The text next to a sum is not the client's: it is the shortest that
 * means the same. A test computes the sums from the clients that can be had here, and runs both.
 *
 * Semaphores of redis-semaphore count by the clocks of their clients, which the table of locks does not
 * keep: their scripts are known by their sums alone, as what they are for.
 */
import { Buffer } from "node:buffer";
import { LockScript } from "./lock-script.js";

export interface KnownScript {
  /** In lower case. */
  readonly sha1: string;
  readonly client: string;
  /** An entry of `SAME_IN_MEANING` or `SEMAPHORES`. */
  readonly meaning: keyof typeof SAME_IN_MEANING | keyof typeof SEMAPHORES;
}

/** What a script does with permits of the semaphore `KEYS[1]`; positions of arguments from 0. */
export interface SemaphoreScript {
  readonly act: "take" | "extend" | "release";
  readonly identifier: number;
  /** `undefined`: one. */
  readonly permits?: number;
  readonly limit?: number;
  readonly ttlMs?: number;
}

/** What a text is that a client may send, or name by its sum. */
export interface ScriptOfClient {
  readonly is: LockScript | SemaphoreScript;
  /** It is one of redlock's, which asks every node of what it takes for independent servers. */
  readonly isOfRedlock: boolean;
}

const EQUAL = "if redis.call('get', KEYS[1]) == ARGV[1] then";

/** What known scripts do, in few words of Lua. */
export const SAME_IN_MEANING = {
  release: `${EQUAL} return redis.call('del', KEYS[1]) end return 0`,
  releaseSayingGone: `local held = redis.call('get', KEYS[1])
    if held == ARGV[1] then return redis.call('del', KEYS[1]) end
    return held and 0 or -1`,
  releaseSayingWhy: `local held = redis.call('get', KEYS[1])
    if held == ARGV[1] then return redis.call('del', KEYS[1]) end
    return held and -2 or -1`,
  releaseOrNil: `${EQUAL} redis.call('del', KEYS[1]) return 1 end`,
  releaseAndPublish: `${EQUAL} redis.call('del', KEYS[1])
    redis.call('publish', ARGV[2], KEYS[1]) return 1 end`,
  extend: `${EQUAL} return redis.call('pexpire', KEYS[1], ARGV[2]) end return 0`,
  extendOrNil: `${EQUAL} return redis.call('pexpire', KEYS[1], ARGV[2]) end`,
  extendSecondsSayingWhy: `local held = redis.call('get', KEYS[1])
    if held == ARGV[1] then return redis.call('expire', KEYS[1], ARGV[2]) end
    return held and -2 or -1`,
  extendOrTake: `${EQUAL} return redis.call('pexpire', KEYS[1], ARGV[2]) end
    if redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return 1 end return 0`,
  extendAdding: `local held = redis.call('get', KEYS[1])
    if held ~= ARGV[1] then return 0 end
    local left = redis.call('pttl', KEYS[1])
    if left < 0 then return 0 end
    if ARGV[3] == '0' then return redis.call('pexpire', KEYS[1], ARGV[2] + left) end
    return redis.call('pexpire', KEYS[1], ARGV[2])`,
  extendInTime: `local left = redis.call('pttl', KEYS[1])
    if left == -2 then return {-1, -2} end
    if left < tonumber(ARGV[2]) then return {0, left} end
    ${EQUAL} redis.call('pexpire', KEYS[1], ARGV[3]) return {1, left} end
    return {-1, left}`,
  takeAgainOk: `${EQUAL} redis.call('set', KEYS[1], ARGV[1], 'PX', ARGV[2]) return 'OK' end
    return redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2])`,
  takeAgain: `if redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return 1 end
    ${EQUAL} return redis.call('pexpire', KEYS[1], ARGV[2]) end`,
  takeByPrefix: `if redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[3]) then
      return redis.status_reply('OK')
    end
    local n = ARGV[2]
    if redis.call('getrange', KEYS[1], 0, n - 1) == string.sub(ARGV[1], 1, n) then
      return redis.call('set', KEYS[1], ARGV[1], 'PX', ARGV[3])
    end`,
  takeIfNew: `if redis.call('get', KEYS[1]) == ARGV[1]
      or redis.call('exists', KEYS[1]) == 0 and ARGV[3] == 'yes' then
      return redis.call('set', KEYS[1], ARGV[1], 'PX', ARGV[2])
    end`,
  remainingIfEqual: `${EQUAL} return redis.call('pttl', KEYS[1]) end return -3`,
  look: "return {redis.call('get', KEYS[1]), redis.call('pttl', KEYS[1])}",
  lookOrNil: `local held = redis.call('get', KEYS[1])
    if held then return {held, redis.call('pttl', KEYS[1])} end`,
  takeAll: `for _, key in ipairs(KEYS) do
      if redis.call('exists', key) == 1 then return 0 end
    end
    for _, key in ipairs(KEYS) do redis.call('set', key, ARGV[1], 'PX', ARGV[2]) end
    return #KEYS`,
  extendAll: `for _, key in ipairs(KEYS) do
      if redis.call('get', key) ~= ARGV[1] then return 0 end
    end
    for _, key in ipairs(KEYS) do redis.call('set', key, ARGV[1], 'PX', ARGV[2]) end
    return #KEYS`,
  releaseEach: `local count = 0
    for _, key in ipairs(KEYS) do
      if redis.call('get', key) == ARGV[1] then count = count + redis.call('del', key) end
    end
    return count`,
  takeAllInDatabase: `redis.call('select', ARGV[1])
    for _, key in ipairs(KEYS) do
      if redis.call('exists', key) == 1 then return 0 end
    end
    for _, key in ipairs(KEYS) do redis.call('set', key, ARGV[2], 'PX', ARGV[3]) end
    return #KEYS`,
  extendAllInDatabase: `redis.call('select', ARGV[1])
    for _, key in ipairs(KEYS) do
      if redis.call('get', key) ~= ARGV[2] then return 0 end
    end
    for _, key in ipairs(KEYS) do redis.call('set', key, ARGV[2], 'PX', ARGV[3]) end
    return #KEYS`,
  releaseEachInDatabase: `redis.call('select', ARGV[1])
    local count = 0
    for _, key in ipairs(KEYS) do
      if redis.call('get', key) == ARGV[2] then count = count + redis.call('del', key) end
    end
    return count`,
  takeAllWithValues: `for i = 1, #KEYS do
      if redis.call('exists', KEYS[i]) == 1 then return {0, i, KEYS[i]} end
    end
    for i = 1, #KEYS do redis.call('set', KEYS[i], ARGV[i], 'PX', ARGV[#ARGV]) end
    return {1, #KEYS}`,
} as const;

/** A permit lasts from the moment at which the cluster gives it. */
export const SEMAPHORES = {
  semaphoreTake: { act: "take", limit: 0, identifier: 1, ttlMs: 2 },
  semaphoreExtend: { act: "extend", identifier: 1, ttlMs: 2 },
  permitsTake: { act: "take", limit: 0, permits: 1, identifier: 2, ttlMs: 3 },
  permitsExtend: { act: "extend", permits: 1, identifier: 2, ttlMs: 3 },
  permitsRelease: { act: "release", permits: 0, identifier: 1 },
} as const satisfies Readonly<Record<string, SemaphoreScript>>;

function row(client: string, meaning: KnownScript["meaning"], ...sums: string[]): KnownScript[] {
  return sums.map((sha1) => ({ sha1, client, meaning }));
}

export const KNOWN_SCRIPTS: readonly KnownScript[] = [
  // Computed from the clients.
  ...row("redlock 4", "takeAll", "e5a322e2634ef59a516e8ea150cb085afafee684"),
  ...row("redlock 4", "extendAll", "ce46f80993d5dac20dd066eb301a4e37994bdbed"),
  ...row("redlock 4", "releaseEach", "0f0f23b9048b36752b5be114f357ba083449f908"),
  ...row("redlock 5", "takeAll", "96da70f7716f27d278a5218544df37fd8b0a5e4c"),
  ...row("redlock 5", "extendAll", "aed6f382e410db8ba7926d4e5e9aab410bf2a78a"),
  ...row("redlock 5", "releaseEach", "e4612211c9f8f51c257e26e056b0a654b3187242"),
  ...row(
    "@sesamecare-oss/redlock",
    "takeAllInDatabase",
    "1b77b94aa78451d55dfa97e18819bfbfc596cb5b",
  ),
  ...row(
    "@sesamecare-oss/redlock",
    "extendAllInDatabase",
    "820e9778d2b6733e9ed771e4be90ae73a95a6f3b",
  ),
  ...row(
    "@sesamecare-oss/redlock",
    "releaseEachInDatabase",
    "df51f6837dcfe303d334e6abea9aeae192bab216",
  ),
  ...row("redis-semaphore", "release", "7157921a7cc7cfba979acf6d63f073151df17d12"),
  ...row("redis-semaphore", "extend", "594683e49a64ebaf975caf5f8079a1d097c438f1"),
  ...row("redis-semaphore", "semaphoreTake", "43ebdb49120d170e08af560cb4e46e36f8585936"),
  ...row("redis-semaphore", "semaphoreExtend", "999a49a1d07671a8027165641001f5bad44608b3"),
  ...row("redis-semaphore", "permitsTake", "10c1c2e05e7c48aa5824d227b8c51abcde87b18e"),
  ...row("redis-semaphore", "permitsExtend", "2327bcdc5edb5b8687f6d19b5e1f42b815ebddab"),
  ...row("redis-semaphore", "permitsRelease", "0bd1010c98f1ddd70a6024fd374489a8ea3d2c12"),
  ...row("redlock-universal", "extendInTime", "c000e088bd4aca36ab429d3b7a16fc736f4cb6f1"),
  ...row("redlock-universal", "release", "fd83166fb3d7235e3ace652b700c9e217c1adc1f"),
  ...row("redlock-universal", "extend", "e218d686a8f90368e5cd45074f06ce766cad9987"),
  ...row("redlock-universal", "takeAllWithValues", "514d8d1b08387624661da2a9098d3949b633eb3a"),
  ...row("redlock-universal", "lookOrNil", "994908155dadb1bed08a5af6dee7fedf956c4826"),
  ...row("redis-py", "release", "c3f8721cbb97f72bc19e972846bd7aaf91901658"),
  ...row("redis-py", "extendAdding", "a4e8783852e6b949f9ef3a97212805108459a890"),
  ...row("redis-py", "extend", "1cac51482acf5858da00f6d685d68f886cd6b6b2"),
  // From the texts of clients in other languages.
  ...row(
    "go-zero",
    "takeAgainOk",
    "dbecad63894903ddf755d05d73a3eb7432ef75c0",
    "d45f589e3a7cc4684a8caa7681e6a24186f1e6a7",
  ),
  ...row(
    "go-zero",
    "release",
    "e04ea1352c46ae16a15753d4960bee821bf3b3fa",
    "8ddffa0e0a11ec7ba22f860a8f550079aabc4fd5",
  ),
  ...row("redsync", "releaseSayingGone", "e950836ed1e694540c503ef9972b8de518044d3b"),
  ...row("redsync", "extend", "d75bb8b5bd13532ddedd17762e772346e39b321e"),
  ...row("redsync", "extendOrTake", "b6b55c439e02c6f52ffb8be7ec8c0d0ac816ea79"),
  ...row("bsm/redislock", "release", "cf0e94b2e9ffc7e04395cf88f7583fc309985910"),
  ...row("bsm/redislock", "extend", "a7aba3bc5d6e99b3003da8b9d80a63b9f4092ecf"),
  ...row("bsm/redislock", "remainingIfEqual", "6484da7d58920897fdc22b7f9afd1a3d47524ea8"),
  ...row("bsm/redislock", "takeByPrefix", "99e891ddee89a9062ce8e5271305f3176ea47c0c"),
  ...row("Dapr", "releaseSayingWhy", "08741c111900b6318ee3f60cb3c2fa1f6c74d859"),
  ...row("Dapr", "extendSecondsSayingWhy", "955ba5db4880e098819e53f721f11b15d745940b"),
  ...row("Laravel", "release", "647c65a442733a1aa440f99908d249d13b4d6c4a"),
  ...row("ShedLock", "release", "194f3902b2dd08557818d09fc2e7682d91480e53"),
  ...row("ShedLock", "extend", "67256370c2d1c87e2250898075542b1a7fa5b917"),
  ...row(
    "Spring Integration",
    "takeAgain",
    "8426c8df41c64d8177dce3ecbbe9146ef3759cd2",
    "175897a4e379e99e79a54937be09226f76cdcfe5",
  ),
  ...row("Spring Integration", "releaseOrNil", "f0f9038aa2b6d6c3436c72d147573ea2a58f0ef2"),
  ...row("Spring Integration", "releaseAndPublish", "7a71e9443a2a41539fb115a5a27d5a748a871aed"),
  ...row("Spring Integration", "extendOrNil", "879e0f7b8d83c3266d4e996627438c05dbda0b89"),
  ...row("redlock-rb", "takeIfNew", "ceb2b2062e40c51a2b3963fd078bc71f11bdc65c"),
  ...row("redlock-rb", "release", "8e4905cee18e7c3188d10f2b8b170e403baed34f"),
  ...row("redlock-rb", "look", "78d2ca48a6dc9ef6892059792a3a0c5237733d64"),
];

const KNOWN: ReadonlyMap<string, KnownScript> = new Map(
  KNOWN_SCRIPTS.map((script) => [script.sha1, script]),
);
const REDLOCK = new Set(["redlock 4", "redlock 5", "@sesamecare-oss/redlock"]);
const READ = new Map<string, ScriptOfClient>();

/** @param sha1 40 hexadecimal digits in lower case. */
export function knownScript(sha1: string): ScriptOfClient | undefined {
  const known = KNOWN.get(sha1);
  if (known === undefined) return undefined;
  const script = READ.get(sha1) ?? { is: read(known), isOfRedlock: REDLOCK.has(known.client) };
  READ.set(sha1, script);
  return script;
}

function read({ meaning }: KnownScript): LockScript | SemaphoreScript {
  if (meaning in SEMAPHORES) return SEMAPHORES[meaning as keyof typeof SEMAPHORES];
  return LockScript.read(Buffer.from(SAME_IN_MEANING[meaning as keyof typeof SAME_IN_MEANING]));
}
