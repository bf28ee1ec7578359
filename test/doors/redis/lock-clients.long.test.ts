/**
 * Lock clients of Redis in their languages, unchanged, at real nodes and at Redis: the same steps come to what their
 * users expect, and go on when the node to which they are connected is killed. Clients whose locks could not be ended
 * are refused.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { TcpProxy } from "../../../lab/tcp-proxy.js";
import { startRedis } from "../../fence/stores/redis.js";
import {
  type Language,
  LOCK_CLIENTS,
  type LockClient,
  REFUSED_CLIENTS,
  type RefusedClient,
} from "./lock-clients/lock-clients.js";
import {
  compileGo,
  compileJava,
  type ForeignProgram,
  findPhp,
  installNpm,
  installPython,
} from "./world/foreign-program.js";
import { startRedisNodes } from "./world/redis-nodes.js";

const FOLDER = join(import.meta.dirname, "lock-clients");
/** Libraries are fetched first. */
const TIMEOUT_MS = 500_000;
const NO_REDIS = "redis-server is not installed";

type Build = (folder: string, target: string) => Promise<ForeignProgram | undefined>;

const PHP_LIBRARIES = ["Predis", "Illuminate/Redis", "Illuminate/Cache", "Symfony/Component/Lock"];
const BUILDS: Readonly<Record<Language, readonly [folder: string, needed: string, Build]>> = {
  Go: ["go", "go is", compileGo],
  Java: [
    "java",
    "java or mvn is",
    async (...paths) => (await compileJava(...paths))?.("LockClients"),
  ],
  npm: ["npm", "npm is", installNpm],
  PHP: [
    "php",
    "php with redis, predis, illuminate-redis, illuminate-cache and symfony-lock of Debian is",
    (folder) =>
      findPhp(
        folder,
        PHP_LIBRARIES.map((name) => `${name}/autoload.php`),
      ),
  ],
  Python: ["python", "python3 or its pip is", installPython],
};
const LANGUAGES = Object.keys(BUILDS) as readonly Language[];

const directories: string[] = [];
afterAll(() => {
  for (const directory of directories) rmSync(directory, { recursive: true, force: true });
});

/** Each language is built once, when a test first needs it. */
const programs = new Map<Language, Promise<ForeignProgram | undefined>>();

/** The program of a language; `undefined`: it cannot be built here. */
function programOf(language: Language): Promise<ForeignProgram | undefined> {
  const known = programs.get(language);
  if (known !== undefined) return known;
  const [folder, , build] = BUILDS[language];
  const target = mkdtempSync(join(tmpdir(), "holdfast-lock-clients-"));
  directories.push(target);
  const program = build(join(FOLDER, folder), target);
  programs.set(language, program);
  return program;
}

function missing(language: Language): string {
  return `${BUILDS[language][1]} not installed`;
}

function addressOf(port: number): string {
  return `127.0.0.1:${port}`;
}

/** What a user of the client expects of the steps. */
function steps(row: LockClient): readonly string[] {
  const { client, isExtending, released = "true", releasedAgain = "false" } = row;
  return [
    "alice takes: true",
    "bob takes: false",
    ...(isExtending ? ["alice extends: true"] : []),
    `alice releases: ${released}`,
    "bob takes: true",
    `alice releases: ${releasedAgain}`,
    "carol takes: false",
    `bob releases: ${released}`,
    "carol takes, and never releases: true",
    "bob takes in the end: true",
    // Only the server knows that it is over.
    `carol releases: ${released === "true" ? "false" : released}`,
    "alice takes: false",
    `bob releases: ${released}`,
  ].map((line) => `${client}: ${line}`);
}

/** What a user expects after a take by alice, when something has happened to the node. */
function stepsAfterFault({ client, isExtending, released = "true" }: LockClient): string[] {
  return [
    "bob takes: false",
    ...(isExtending ? ["alice extends: true"] : []),
    `alice releases: ${released}`,
    "bob takes: true",
    `bob releases: ${released}`,
  ].map((line) => `${client}: ${line}`);
}

/** What a user of a client expects that ends the lock of anybody. */
function turns({ client, released = "true" }: RefusedClient): readonly string[] {
  return [
    "alice takes: true",
    "bob takes: false",
    `alice releases: ${released}`,
    "bob takes in the end: true",
    `bob releases: ${released}`,
  ].map((line) => `${client}: ${line}`);
}

/** What a user sees of a client that is refused. */
function refusals({ client, sees: [take, release, next] }: RefusedClient): readonly unknown[] {
  return [`alice takes: ${take}`, `alice releases: ${release}`, `bob takes: ${next}`].map((line) =>
    expect.stringMatching(new RegExp(`^${client}: ${line}`)),
  );
}

test.for(LANGUAGES)(
  "clients of %s find at a node what they find at Redis and what their users expect, or are refused",
  { timeout: TIMEOUT_MS },
  async (language, context) => {
    const program = await programOf(language);
    if (program === undefined) return context.skip(missing(language));
    await using redis = await startRedis();
    if (redis === undefined) return context.skip(NO_REDIS);
    await using nodes = await startRedisNodes(1);
    await using allowing = await startRedisNodes(1, "--redis-allow-unproven");
    const isOne = (each: { readonly language: Language }): boolean => each.language === language;
    const served = LOCK_CLIENTS.filter(isOne);
    const refused = REFUSED_CLIENTS.filter(isOne);
    const allowable = refused.filter(({ isAllowable }) => isAllowable);
    const at = (
      port: number | undefined,
      mode: "steps" | "turns" | "refused",
      clients: readonly { readonly client: string }[],
    ): readonly string[] => [
      ...(clients.length === 0 ? [] : [mode]),
      ...clients.map(({ client }) => `${client}=${addressOf(port ?? 0)}`),
    ];
    const [atRedis, atNode, allowed] = await Promise.all([
      program.run(...at(redis.port, "steps", served), ...at(redis.port, "turns", refused)),
      program.run(
        ...at(nodes.ports[0], "steps", served),
        ...at(nodes.ports[0], "refused", refused),
      ),
      allowable.length === 0 ? [] : program.run(...at(allowing.ports[0], "turns", allowable)),
    ]);
    expect(atRedis).toEqual([...served.flatMap(steps), ...refused.flatMap(turns)]);
    expect(atNode).toEqual([...served.flatMap(steps), ...refused.flatMap(refusals)]);
    expect(allowed).toEqual(allowable.flatMap(turns));
  },
);

test.for(LANGUAGES)(
  "clients of %s keep their locks when the node to which they are connected is killed",
  { timeout: TIMEOUT_MS },
  async (language, context) => {
    const program = await programOf(language);
    if (program === undefined) return context.skip(missing(language));
    await using nodes = await startRedisNodes(3);
    const leader = await nodes.cluster.leader();
    const used = nodes.ports[leader.id - 1] as number;
    const others = nodes.ports.filter((port) => port !== used);
    const proxy = await TcpProxy.to(used);
    try {
      const clients = LOCK_CLIENTS.filter((each) => each.language === language);
      const all = [used, ...others].map(addressOf).join(",");
      using running = program.start(
        "fault",
        ...clients.map(
          ({ client, finds }) => `${client}=${finds === "address" ? addressOf(proxy.port) : all}`,
        ),
      );
      await running.printed("holding");
      proxy.retarget(others[0] as number);
      await leader.kill();
      running.say("go on");
      expect(await running.ended).toEqual([
        ...clients.map(({ client }) => `${client}: alice takes: true`),
        "holding",
        ...clients.flatMap(stepsAfterFault),
      ]);
    } finally {
      await proxy.close();
    }
  },
);
