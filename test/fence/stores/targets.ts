/**
 * What the holders of the late-holder story write to: in each store one number that is guarded by
 * a fence, and one that is not. Holder and rival are two processes, so each opens its own.
 */
import { Redis } from "ioredis";
import SQLite from "node-sqlite3-wasm";
import pg from "pg";
import {
  type Claim,
  FENCE_HEADER,
  fencedRedis,
  formatClaim,
  HoldfastError,
  readFenced,
  SqlFence,
  s3Objects,
  writeFenced,
} from "../../../src/fence/index.js";

export type TargetSpec =
  | { readonly store: "postgresql" | "redis"; readonly port: number }
  | { readonly store: "sqlite"; readonly file: string }
  | { readonly store: "objects" | "http"; readonly url: string };

export interface Target {
  /** Both numbers, 0 at first. */
  read(): Promise<{ fenced: number; bare: number }>;
  writeFenced(claim: Claim, value: number): Promise<void>;
  writeBare(value: number): Promise<void>;
  close(): Promise<void>;
}

/** `prepare`: by the first who opens it. */
export function openTarget(spec: TargetSpec, prepare: boolean): Promise<Target> {
  switch (spec.store) {
    case "postgresql":
      return openPostgresql(spec.port, prepare);
    case "sqlite":
      return openSqlite(spec.file, prepare);
    case "redis":
      return openRedis(spec.port);
    case "objects":
      return openObjects(spec.url);
    case "http":
      return openHttp(spec.url);
  }
}

async function openPostgresql(port: number, prepare: boolean): Promise<Target> {
  const db = new pg.Client({ host: "127.0.0.1", port, user: "postgres" });
  await db.connect();
  const fence = new SqlFence("postgresql");
  if (prepare) {
    await db.query(fence.createTable);
    await db.query("create table number (name text primary key, value integer)");
    await db.query("insert into number values ('fenced', 0), ('bare', 0)");
  }
  const set = (name: string, value: number) =>
    db.query("update number set value = $1 where name = $2", [value, name]);
  const run = async (text: string, values: unknown[]) =>
    (await db.query(text, values)).rowCount ?? 0;
  return {
    async read() {
      const { rows } = await db.query("select name, value from number");
      return Object.fromEntries(rows.map(({ name, value }) => [name, value])) as never;
    },
    async writeFenced(claim, value) {
      await db.query("begin");
      try {
        await fence.admit(run, "number", claim);
        await set("fenced", value);
        await db.query("commit");
      } catch (error) {
        await db.query("rollback");
        throw error;
      }
    },
    async writeBare(value) {
      await set("bare", value);
    },
    close: () => db.end(),
  };
}

async function openSqlite(file: string, prepare: boolean): Promise<Target> {
  const db = new SQLite.Database(file);
  const fence = new SqlFence("sqlite");
  if (prepare) {
    db.exec("create table number (name text primary key, value integer, fence bigint)");
    db.exec("insert into number (name, value) values ('fenced', 0), ('bare', 0)");
  }
  const run = (text: string, values: unknown[]) => db.run(text, values as never).changes;
  return {
    async read() {
      const rows = db.all("select name, value from number") as { name: string; value: number }[];
      return Object.fromEntries(rows.map(({ name, value }) => [name, value])) as never;
    },
    async writeFenced(claim, value) {
      const change = { table: "number", set: { value }, where: { name: "fenced" } };
      fence.writeSync(run, change, claim);
    },
    async writeBare(value) {
      db.run("update number set value = ? where name = 'bare'", [value]);
    },
    async close() {
      db.close();
    },
  };
}

async function openRedis(port: number): Promise<Target> {
  const redis = new Redis({ host: "127.0.0.1", port });
  const send = ([command = "", ...args]: string[]) => redis.call(command, ...args);
  return {
    async read() {
      const [fenced, bare] = await redis.mget("{number}", "bare");
      return { fenced: Number(fenced), bare: Number(bare) };
    },
    async writeFenced(claim, value) {
      const fence = { gate: "{number}:fence", keys: ["{number}"] };
      await fencedRedis(send, fence, claim, [["SET", "{number}", value]]);
    },
    async writeBare(value) {
      await redis.set("bare", value);
    },
    async close() {
      redis.disconnect();
    },
  };
}

async function openObjects(bucketUrl: string): Promise<Target> {
  const store = s3Objects({ bucketUrl });
  const encode = (value: number) => new TextEncoder().encode(String(value));
  const decode = (body?: Uint8Array) => Number(new TextDecoder().decode(body));
  return {
    async read() {
      const fenced = await readFenced(store, "fenced");
      const bare = await store.read("bare");
      return { fenced: decode(fenced?.body), bare: decode(bare?.body) };
    },
    writeFenced: (claim, value) => writeFenced(store, "fenced", claim, encode(value)),
    async writeBare(value) {
      await fetch(`${bucketUrl}/bare`, { method: "PUT", body: encode(value) });
    },
    async close() {},
  };
}

/** The target that `number-service.ts` serves. */
async function openHttp(url: string): Promise<Target> {
  const put = async (name: string, value: number, headers: Record<string, string>) => {
    const response = await fetch(`${url}/${name}`, { method: "PUT", body: String(value), headers });
    const text = await response.text();
    if (response.ok) return;
    const { code, message } = JSON.parse(text);
    throw new HoldfastError(code, message);
  };
  return {
    async read() {
      return (await (await fetch(url)).json()) as never;
    },
    writeFenced: (claim, value) => put("fenced", value, { [FENCE_HEADER]: formatClaim(claim) }),
    writeBare: (value) => put("bare", value, {}),
    async close() {},
  };
}
