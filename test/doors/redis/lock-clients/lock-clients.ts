/**
 * The lock clients of Redis that `lock-clients.long.test.ts` runs, each in the program of its language. The tables of
 * docs/reference/redis-port.md are made from this list, so a client that nothing runs is in none of them.
 */
export type Language = "Go" | "Java" | "npm" | "PHP" | "Python";

export interface LockClient {
  /** The name by which its program knows it. */
  readonly client: string;
  readonly version: string;
  readonly language: Language;
  /** By what it goes to another node; `address`: it knows one, of a proxy or of a name. */
  readonly finds: "sentinels" | "addresses" | "address";
  /** Whether it can extend a lock. */
  readonly isExtending: boolean;
  /** What it says of a release, if it does not say whether it came about. */
  readonly released?: string;
  /** What it says when it is told to release once more; default `false`. */
  readonly releasedAgain?: string;
}

/** A client that the Redis port refuses. */
export interface RefusedClient extends Omit<LockClient, "finds" | "isExtending" | "releasedAgain"> {
  /** How begins what its user sees of a take, of its release, and of the take of another user. */
  readonly sees: readonly [take: string, release: string, next: string];
  readonly why: string;
  readonly instead: string;
  /** It works with `--redis-allow-unproven`. */
  readonly isAllowable: boolean;
}

type Row = Pick<LockClient, "client" | "version" | "finds"> & Partial<LockClient>;

function of(language: Language, ...rows: readonly Row[]): readonly LockClient[] {
  return rows.map((row) => ({ language, isExtending: true, ...row }));
}

export const LOCK_CLIENTS: readonly LockClient[] = [
  ...of(
    "Java",
    { client: "Jedis", version: "7.5.3", finds: "sentinels" },
    { client: "Lettuce", version: "7.6.0", finds: "sentinels" },
    { client: "Spring Integration", version: "7.1.2", finds: "sentinels" },
    { client: "Spring Integration, notified", version: "7.1.2", finds: "sentinels" },
    { client: "ShedLock", version: "7.10.1", finds: "sentinels", released: "done" },
  ),
  ...of(
    "Go",
    { client: "redsync and go-redis", version: "4.18.1", finds: "sentinels" },
    { client: "redsync and redigo", version: "4.18.1", finds: "addresses" },
    { client: "bsm/redislock", version: "0.9.4", finds: "sentinels" },
  ),
  ...of(
    "Python",
    { client: "redis-py", version: "8.1.0", finds: "sentinels" },
    { client: "redis-py, asyncio", version: "8.1.0", finds: "sentinels" },
    { client: "django-redis", version: "7.0.0", finds: "sentinels" },
    { client: "pottery", version: "3.0.1", finds: "sentinels" },
  ),
  ...of(
    "npm",
    { client: "node-redis-warlock", version: "1.0.2", finds: "address" },
    { client: "ioredis-lock", version: "4.0.0", finds: "sentinels" },
    { client: "@redis-kit/lock", version: "0.1.0-3", finds: "address", releasedAgain: "true" },
  ),
  ...of(
    "PHP",
    { client: "phpredis", version: "5.3.7", finds: "address" },
    { client: "predis", version: "1.1.10", finds: "sentinels" },
    {
      client: "Laravel by phpredis",
      version: "8.83.26",
      finds: "address",
      isExtending: false,
    },
    { client: "Laravel by predis", version: "8.83.26", finds: "address", isExtending: false },
  ),
];

const UNPROVEN = "NOHOLDFAST DEL without the value";
const UNENDABLE = "NOHOLDFAST this client could not end or extend the lock";

export const REFUSED_CLIENTS: readonly RefusedClient[] = [
  {
    client: "redis-lock",
    version: "1.0.0",
    language: "npm",
    // It swallows every error of a take, and tries again.
    sees: ["true", UNPROVEN, "false"],
    why: "it releases by `DEL`, without the value",
    instead: "redlock, or redis-semaphore",
    isAllowable: true,
  },
  {
    client: "simple-redis-mutex",
    version: "3.0.0",
    language: "npm",
    sees: ["NOHOLDFAST the Redis port of Holdfast does not answer INCR", "done", "false"],
    why: "it counts its takes by `INCR`; the lock ends by its expiry",
    instead: "redlock, or redis-semaphore",
    released: "done",
    isAllowable: false,
  },
  {
    client: "ShedLock without safeUpdate",
    version: "7.10.1",
    language: "Java",
    sees: ["true", UNPROVEN, UNENDABLE],
    why: "it releases by `DEL`, without the value",
    instead: "`safeUpdate(true)`",
    released: "done",
    isAllowable: true,
  },
  {
    client: "celery-once",
    version: "3.0.1",
    language: "Python",
    sees: ["true", UNPROVEN, UNENDABLE],
    why: "it releases by `DEL`, without the value",
    instead: "`Lock` of redis-py in the task",
    isAllowable: true,
  },
  {
    client: "python-redis-lock",
    version: "4.0.1",
    language: "Python",
    sees: ["true", "NOHOLDFAST", UNENDABLE],
    why: "its release pushes to a list",
    instead: "`Lock` of redis-py",
    isAllowable: false,
  },
  {
    client: "symfony/lock",
    version: "5.4.53",
    language: "PHP",
    sees: ["NOHOLDFAST", "NOHOLDFAST", "NOHOLDFAST"],
    why: "it keeps its locks in sorted sets",
    instead: "the script of a release [below](#locks-written-by-hand)",
    released: "done",
    isAllowable: false,
  },
];
