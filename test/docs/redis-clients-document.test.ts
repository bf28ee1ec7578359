/**
 * The tables of clients in `docs/reference/redis-port.md` are those that tests run, and those that no test runs stand
 * apart.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { KNOWN_SCRIPTS } from "../../src/doors/redis/scripts/index.js";
import { SAME_IN_MEANING } from "../../src/doors/redis/scripts/known-scripts.js";
import {
  LOCK_CLIENTS,
  type LockClient,
  REFUSED_CLIENTS,
} from "../doors/redis/lock-clients/lock-clients.js";
import { LIVES } from "../doors/redis/recording/lives.js";
import { CLIENTS_BY_SCRIPT, LOCK_SCRIPTS } from "../doors/redis/scripts/lock-scripts.js";
import { ROOT } from "./document-project.js";
import { filesBelow, read } from "./pages.js";

const PAGE = read("docs/reference/redis-port.md");
const PROGRAMS = "test/doors/redis/lock-clients";
/** Tests that only the documents name: the version must be pinned there. */
const REDISSON = "test/doors/redis/redisson.long.test.ts";

/** The cells of each row below the heading, without the row of names. */
function tableBelow(heading: string): readonly (readonly string[])[] {
  const [, below = ""] = PAGE.split(`\n### ${heading}\n`);
  const lines = below.split("\n");
  const from = lines.findIndex((line) => line.startsWith("|---"));
  const rows = lines.slice(from + 1);
  const end = rows.findIndex((line) => !line.startsWith("|"));
  return rows.slice(0, end).map((line) => line.slice(2, -2).split(" | "));
}

test("the clients that are compared command by command are those with a life", () => {
  const named = LIVES.map(({ client }) => {
    const file = join(ROOT, "node_modules", client, "package.json");
    if (!existsSync(file)) return client;
    const { name, version } = JSON.parse(read(`node_modules/${client}/package.json`)) as {
      name: string;
      version: string;
    };
    return `${name} ${version.replace(/^v/, "")}`;
  });
  const rows = tableBelow("Command by command").map(([client, version = ""]) =>
    version.endsWith("(Debian)") ? client : `${client} ${version}`,
  );
  expect(rows).toEqual([...new Set(rows)]);
  expect([...rows].sort()).toEqual([...new Set(named)].sort());
});

const FINDS: Readonly<Record<LockClient["finds"], string>> = {
  sentinels: "sentinels",
  addresses: "a list of addresses",
  address: "a name or a proxy",
};

test("the clients whose steps are taken are those that a program runs", () => {
  expect(tableBelow("Step by step")).toEqual(
    LOCK_CLIENTS.map(({ client, version, language, finds }) => [
      ...[client, version, language, FINDS[finds]],
    ]),
  );
});

test("the clients that are refused are those that a program runs", () => {
  expect(tableBelow("Clients that are refused")).toEqual(
    REFUSED_CLIENTS.map(({ client, version, language, why, instead, isAllowable }) => {
      const allowed = isAllowable ? "works with `--redis-allow-unproven`; better " : "";
      return [client, version, language, why, `${allowed}${instead}`];
    }),
  );
});

test("each version is pinned where a program gets its libraries; libraries of PHP are Debian's", () => {
  const pins = filesBelow(PROGRAMS, "").filter((file) =>
    /\/(?:go\.mod|pom\.xml|package\.json|requirements\.txt)$/.test(file),
  );
  expect(pins).toHaveLength(4);
  const pinned = pins.map(read).join("\n");
  for (const { client, version, language } of [...LOCK_CLIENTS, ...REFUSED_CLIENTS]) {
    if (language !== "PHP") expect(pinned, client).toContain(version);
  }
  for (const version of ["4.7.0", "3.52.0"]) {
    expect(read(REDISSON)).toContain(`"${version}"`);
    expect(PAGE).toContain(version);
  }
});

test("the clients that no test runs are the ones by their scripts alone", () => {
  const run = [...LIVES, ...LOCK_CLIENTS].map(({ client }) => client);
  const isRun = (known: string): boolean =>
    run.some(
      (client) => `${known} `.startsWith(`${client} `) || `${client} `.startsWith(`${known} `),
    );
  const known = KNOWN_SCRIPTS.map(({ client }) => client).filter((client) => !isRun(client));
  const untested = [...new Set(known), ...CLIENTS_BY_SCRIPT.map(({ client }) => client)];
  expect(tableBelow("Clients that no test runs").map(([client]) => client)).toEqual(untested);
  const scripts = new Set([
    ...LOCK_SCRIPTS.map(({ what }) => what),
    ...Object.keys(SAME_IN_MEANING),
  ]);
  for (const { client, scripts: same } of CLIENTS_BY_SCRIPT) {
    expect([client, ...same.filter((what) => !scripts.has(what))]).toEqual([client]);
  }
});
