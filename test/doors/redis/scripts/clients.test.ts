/**
 * The sums of known scripts, computed from the clients themselves, and that the texts of the clients
 * mean the same as the short ones that stand for them.
 */
import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { expect, test } from "vitest";
import {
  KNOWN_SCRIPTS,
  type KnownKey,
  knownScript,
  LockScript,
  NotServed,
} from "../../../../src/doors/redis/scripts/index.js";

const require = createRequire(import.meta.url);
/** Where Debian puts it. */
const REDIS_PY = "/usr/lib/python3/dist-packages/redis/lock.py";

const STATES: readonly KnownKey[] = [
  { kind: "free" },
  { kind: "lock", value: "alice", remainingMs: 5_000 },
  { kind: "lock", value: "alice", remainingMs: undefined },
  { kind: "lock", value: "0", remainingMs: 5_000 },
  { kind: "lock", value: "bob", remainingMs: 200 },
];
const CALLS: readonly (readonly string[])[] = [
  ["alice", "1000", "3000", "0"],
  ["alice", "3", "30000", "1"],
  ["0", "alice", "30000", "yes"],
  ["alice", "bob", "30000"],
];

/** What it means for each state of one key and of two, and for each list of arguments. */
function meaningsOf(script: LockScript): readonly string[] {
  return STATES.flatMap((k) =>
    STATES.flatMap((l) =>
      CALLS.flatMap((args) => [
        meaningText(script, new Map([["k", k]]), args),
        meaningText(script, new Map([...new Map([["k", k]]), ["l", l]]), args),
      ]),
    ),
  );
}

function meaningText(
  script: LockScript,
  known: ReadonlyMap<string, KnownKey>,
  args: readonly string[],
): string {
  try {
    const keys = [...known.keys()].map((key) => Buffer.from(key));
    const input = { keys, args: args.map((arg) => Buffer.from(arg)), known };
    const meaning = script.meaningOf({
      ...input,
      database: 0,
      allowsUnproven: false,
      isGuess: false,
    });
    const isError = typeof meaning.reply === "object" && "code" in (meaning.reply ?? {});
    return isError ? "error" : JSON.stringify(meaning);
  } catch (error) {
    return error instanceof NotServed ? "error" : (error as Error).name;
  }
}

function expectKnown(texts: readonly string[], client: string): void {
  for (const text of texts) {
    const sha1 = createHash("sha1").update(text).digest("hex");
    expect(KNOWN_SCRIPTS).toContainEqual(expect.objectContaining({ sha1, client }));
    const known = knownScript(sha1)?.is;
    if (!(known instanceof LockScript)) continue;
    expect(meaningsOf(known), text).toEqual(meaningsOf(LockScript.read(Buffer.from(text))));
  }
  const known = KNOWN_SCRIPTS.filter((each) => each.client === client);
  expect(known).toHaveLength(texts.length);
}

interface Scripts {
  readonly scripts: Readonly<Record<string, { readonly value: string }>>;
}

test("redlock 4", () => {
  const Redlock = require("redlock") as new (servers: readonly object[]) => Scripts;
  const { scripts } = new Redlock([{}]);
  expectKnown(
    Object.values(scripts).map(({ value }) => value),
    "redlock 4",
  );
});

test("redlock 5", () => {
  const { default: Redlock } = require("redlock5") as {
    default: new (servers: readonly object[]) => Scripts;
  };
  const { scripts } = new Redlock([{}]);
  expectKnown(
    Object.values(scripts).map(({ value }) => value),
    "redlock 5",
  );
});

test("@sesamecare-oss/redlock", () => {
  const texts: string[] = [];
  const { ensureCommands } = require("@sesamecare-oss/redlock/build/scripts.js") as {
    ensureCommands(server: object): void;
  };
  ensureCommands({
    defineCommand: (_: string, { lua }: { readonly lua: string }) => texts.push(lua),
  });
  expectKnown(texts, "@sesamecare-oss/redlock");
});

test("redis-semaphore", async () => {
  const texts: string[] = [];
  // It sends the sum first, and the text to a server that does not know it.
  const server = {
    evalsha: () => Promise.reject(new Error("NOSCRIPT")),
    eval: async (text: string) => texts.push(text),
  };
  const files: readonly (readonly [file: string, name: string])[] = [
    ["mutex/release", "delIfEqualLua"],
    ["mutex/refresh", "expireIfEqualLua"],
    ["semaphore/acquire/lua", "acquireLua"],
    ["semaphore/refresh/lua", "refreshLua"],
    ["multiSemaphore/acquire/lua", "acquireLua"],
    ["multiSemaphore/refresh/lua", "refreshLua"],
    ["multiSemaphore/release/lua", "releaseLua"],
  ];
  for (const [file, name] of files) {
    const module = require(`redis-semaphore/lib/${file}.js`) as Record<
      string,
      (server: object, args: readonly string[]) => Promise<unknown>
    >;
    await module[name]?.(server, ["k"]);
  }
  expectKnown(texts, "redis-semaphore");
});

test("redlock-universal", () => {
  const source = readFileSync(require.resolve("redlock-universal"), "utf8");
  const texts = [...source.matchAll(/var \w+_SCRIPT = `([^`]*)`\.trim\(\)/g)];
  expectKnown(
    texts.map(([, text = ""]) => text.trim()),
    "redlock-universal",
  );
});

test("redis-py", (context) => {
  if (!existsSync(REDIS_PY)) return context.skip("python3-redis is not installed");
  const source = readFileSync(REDIS_PY, "utf8");
  const texts = [...source.matchAll(/LUA_\w+_SCRIPT = """(.*?)"""/gs)];
  expectKnown(
    texts.map(([, text = ""]) => text),
    "redis-py",
  );
});
