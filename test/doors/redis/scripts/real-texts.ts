/**
 * Lock scripts as their clients send them, taken from the clients themselves: from packages that are
 * installed, and from the programs that stand for what articles teach. The ones of Redisson are recorded
 * with what it says (`recording/recording.ts`).
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

const require = createRequire(import.meta.url);
/** Where Debian puts it. */
const REDIS_PY = "/usr/lib/python3/dist-packages/redis/lock.py";
const REDIS = join(import.meta.dirname, "..");

export interface RealClient {
  readonly client: string;
  /** Its texts, each once; `undefined`: it is not installed. */
  readonly texts: () => Promise<readonly string[] | undefined>;
}

interface Scripts {
  readonly scripts: Readonly<Record<string, { readonly value: string }>>;
}

type RedlockClass = new (servers: readonly object[]) => Scripts;

function textsOf({ scripts }: Scripts): readonly string[] {
  return Object.values(scripts).map(({ value }) => value);
}

async function ofSesamecare(): Promise<readonly string[]> {
  const texts: string[] = [];
  const { ensureCommands } = require("@sesamecare-oss/redlock/build/scripts.js") as {
    ensureCommands(server: object): void;
  };
  ensureCommands({
    defineCommand: (_: string, { lua }: { readonly lua: string }) => texts.push(lua),
  });
  return texts;
}

async function ofRedisSemaphore(): Promise<readonly string[]> {
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
  return texts;
}

async function ofRedlockUniversal(): Promise<readonly string[]> {
  const source = readFileSync(require.resolve("redlock-universal"), "utf8");
  const texts = [...source.matchAll(/var \w+_SCRIPT = `([^`]*)`\.trim\(\)/g)];
  return texts.map(([, text = ""]) => text.trim());
}

async function ofRedisPy(): Promise<readonly string[] | undefined> {
  if (!existsSync(REDIS_PY)) return undefined;
  const source = readFileSync(REDIS_PY, "utf8");
  const texts = [...source.matchAll(/LUA_\w+_SCRIPT = """(.*?)"""/gs)];
  return texts.map(([, text = ""]) => text);
}

/** Texts that stand in one piece in the sources of programs in `folder`. */
function written(client: string, folder: string, quoted: RegExp): RealClient {
  const texts = async (): Promise<readonly string[]> => {
    const path = join(REDIS, "articles", folder);
    const sources = readdirSync(path).map((name) => readFileSync(join(path, name), "utf8"));
    const found = sources.flatMap((source) => [...source.matchAll(quoted)]);
    return found.map(([, text = ""]) => text).filter((text) => text.includes("redis.call("));
  };
  return { client, texts };
}

const CLIENTS: readonly RealClient[] = [
  {
    client: "redlock 4",
    texts: async () => textsOf(new (require("redlock") as RedlockClass)([{}])),
  },
  {
    client: "redlock 5",
    texts: async () => {
      const { default: Redlock } = require("redlock5") as { default: RedlockClass };
      return textsOf(new Redlock([{}]));
    },
  },
  { client: "@sesamecare-oss/redlock", texts: ofSesamecare },
  { client: "redis-semaphore", texts: ofRedisSemaphore },
  { client: "redlock-universal", texts: ofRedlockUniversal },
  { client: "redis-py", texts: ofRedisPy },
  written("articles in Go", "go", /`([^`]*)`/g),
  written("articles in Java", "java/src/main/java", /"""\n(.*?)"""/gs),
];

/** Their texts are all there are in the tree, and what is installed with it. */
export const REAL_CLIENTS: readonly RealClient[] = CLIENTS.map(({ client, texts }) => ({
  client,
  texts: async () => {
    const found = await texts();
    return found === undefined ? undefined : [...new Set(found)];
  },
}));
