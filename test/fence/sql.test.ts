import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import SQLite from "node-sqlite3-wasm";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Claim, SqlFence, sql } from "../../src/fence/index.js";
import { expectTheRule, inTransactions, passes } from "./rule-contract.js";
import type { StartedServer } from "./stores/installed.js";
import { startPostgresql } from "./stores/postgresql.js";

const exclusive = (token: number): Claim => ({ token, mode: "exclusive" });
const shared = (token: number): Claim => ({ token, mode: "shared" });
const TOKEN = 3_710_851_743_744_001;
/** Names and values that would end a text, were they part of one. */
const NASTY = `x"'\`; drop table stock; --`;

describe("statements", () => {
  const change = {
    table: "shop.stock",
    set: { n: sql`n - ${3}`, note: NASTY },
    where: { id: 1_001, gone: null },
  };

  test("carry their values next to the text, in each dialect", () => {
    expect(new SqlFence("postgresql").update(change, exclusive(TOKEN)).update).toEqual({
      text:
        'update "shop"."stock" set "n" = n - $1, "note" = $2, "fence" = $3 ' +
        'where "id" = $4 and "gone" is null and ("fence" is null or "fence" <= $5)',
      values: [3, NASTY, TOKEN, 1_001, TOKEN],
    });
    const columns = { newest: "seen", newestExclusive: "seen_alone" };
    expect(new SqlFence("mysql", { columns }).update(change, shared(TOKEN)).update).toEqual({
      text:
        "update `shop`.`stock` set `n` = n - ?, `note` = ?, " +
        "`seen` = greatest(coalesce(`seen`, 0), ?) where `id` = ? and `gone` is null " +
        "and (`seen_alone` is null or `seen_alone` <= ?)",
      values: [3, NASTY, TOKEN, 1_001, TOKEN],
    });
  });

  test("quote names, however they look", () => {
    const fence = new SqlFence("mysql", { table: "a`b.c" });
    expect(fence.createTable).toContain("create table if not exists `a``b`.`c` (");
    const { text } = new SqlFence("sqlite").update(
      { table: 's"t', set: { [NASTY]: 1 }, where: { id: 1 } },
      exclusive(1),
    ).update;
    expect(text).toContain(`update "s""t" set "x""'\`; drop table stock; --" = ?`);
  });

  test("are refused where they could not mean what was said", () => {
    const fence = new SqlFence("postgresql");
    const where = { id: 1 };
    const refusals: [() => unknown, string][] = [
      [() => new SqlFence("oracle" as never), 'dialect "oracle"'],
      [() => new SqlFence("sqlite", { table: "" }), "not a name of a table"],
      [() => fence.update({ table: "t", set: {}, where }, exclusive(1)), "set names no column"],
      [() => fence.update({ table: "t", set: { n: 1 }, where: {} }, exclusive(1)), "where names"],
      [() => fence.update({ table: "t", set: { fence: 1 }, where }, exclusive(1)), "by the fence"],
      [
        () => fence.update({ table: "t", set: { n: undefined }, where }, exclusive(1)),
        "undefined is not a value",
      ],
      [
        () => fence.update({ table: "t", set: { n: 1 }, where: { id: undefined } }, exclusive(1)),
        "undefined is not a value",
      ],
      [() => fence.update({ table: "t", set: { n: 1 }, where }, shared(1)), "shared claims need"],
      [() => fence.admission("", exclusive(1)), "cannot name a resource"],
      [() => fence.admission("ä".repeat(513), exclusive(1)), "resource has 1026 bytes"],
      [() => fence.admission("a", exclusive(0)), "token 0"],
    ];
    for (const [attempt, problem] of refusals) expect(attempt).toThrow(problem);
  });

  test("a driver that does not count lets nobody through", async () => {
    const fence = new SqlFence("postgresql");
    const silent = (() => undefined) as never;
    await expect(fence.admit(silent, "a", exclusive(1))).rejects.toThrow(TypeError);
    expect(() => fence.admitSync(silent, "a", exclusive(1))).toThrow(TypeError);
  });
});

describe("in SQLite", () => {
  const directory = mkdtempSync(join(tmpdir(), "holdfast-sqlite-"));
  const db = new SQLite.Database(join(directory, "fence.db"));
  const run = (text: string, values: unknown[]) => db.run(text, values as never).changes;

  afterAll(() => {
    db.close();
    rmSync(directory, { recursive: true });
  });

  test("the table of gates follows the rule of each mode", async () => {
    const fence = new SqlFence("sqlite", { table: "gates" });
    db.exec(fence.createTable);
    db.exec(fence.createTable);
    const admit = inTransactions(
      async (resource, claim) => fence.admitSync(run, resource, claim),
      async (text) => db.exec(text),
      "begin immediate",
    );
    await expectTheRule(admit, "lock", 40);
    await expectTheRule(admit, "semaphore", 40);
  });

  test("a row carries its own fence, and a row that is not there is no late holder", async () => {
    db.exec("create table stock (id integer primary key, n integer, fence integer)");
    db.exec("insert into stock values (1001, 10, null)");
    const fence = new SqlFence("sqlite");
    const take = (n: number, id: number, token: number) =>
      fence.write(
        run,
        { table: "stock", set: { n: sql`n - ${n}` }, where: { id } },
        exclusive(token),
      );
    expect(await take(1, 1_001, TOKEN)).toBe(1);
    expect(await take(1, 1_001, TOKEN)).toBe(1);
    await expect(take(5, 1_001, TOKEN - 1)).rejects.toMatchObject({
      code: "STALE_TOKEN",
      details: { resource: "stock", token: TOKEN - 1 },
    });
    expect(await take(5, 1_002, TOKEN)).toBe(0);
    expect(db.get("select n, fence from stock")).toEqual({ n: 8, fence: TOKEN });
    const late = { table: "stock", set: { n: 0 }, where: { id: 1_001 } };
    expect(() => fence.writeSync(run, late, exclusive(7))).toThrow("after a newer one");
    expect(fence.writeSync(run, { ...late, where: { id: NASTY } }, exclusive(TOKEN))).toBe(0);
    expect(fence.writeSync(run, late, exclusive(TOKEN + 1))).toBe(1);
  });

  test("rows that shared holders write too keep two numbers", async () => {
    db.exec("create table page (id integer primary key, text text, newest bigint, alone bigint)");
    db.exec("insert into page (id) values (1)");
    const columns = { newest: "newest", newestExclusive: "alone" };
    const fence = new SqlFence("sqlite", { columns });
    const admit = async (_: string, claim: Claim) => {
      fence.writeSync(run, { table: "page", set: { text: "x" }, where: { id: 1 } }, claim);
    };
    const clear = () => db.exec("update page set newest = null, alone = null");
    const histories: [Claim[], boolean[]][] = [
      [
        [exclusive(5), shared(7), shared(6), exclusive(6), exclusive(7), shared(6)],
        [true, true, true, false, true, false],
      ],
      [
        [shared(7), exclusive(7), shared(6)],
        [true, true, false],
      ],
    ];
    for (const [claims, expected] of histories) {
      clear();
      const found: boolean[] = [];
      for (const claim of claims) found.push(await passes(admit, "", claim));
      expect(found).toEqual(expected);
    }
  });
});

describe("in PostgreSQL", () => {
  let server: StartedServer | undefined;
  let pool: pg.Pool;

  beforeAll(async () => {
    server = await startPostgresql();
    if (server === undefined) return;
    pool = new pg.Pool({ host: "127.0.0.1", port: server.port, user: "postgres", max: 4 });
  });

  afterAll(async () => {
    await pool?.end();
    await server?.[Symbol.asyncDispose]();
  });

  test("the table of gates follows the rule of each mode", async (context) => {
    if (server === undefined) context.skip("PostgreSQL is not installed");
    const fence = new SqlFence("postgresql", { table: "public.gates" });
    await pool.query(fence.createTable);
    const client = await pool.connect();
    const run = async (text: string, values: unknown[]) =>
      (await client.query(text, values)).rowCount ?? 0;
    const admit = inTransactions(
      (resource, claim) => fence.admit(run, resource, claim),
      (text) => client.query(text),
    );
    try {
      await expectTheRule(admit, "lock", 40);
      await expectTheRule(admit, "semaphore", 40);
    } finally {
      client.release();
    }
  });

  test("an older holder that passed commits before a newer one passes", async (context) => {
    if (server === undefined) context.skip("PostgreSQL is not installed");
    const fence = new SqlFence("postgresql");
    await pool.query(fence.createTable);
    const [older, newer] = [await pool.connect(), await pool.connect()];
    try {
      const runOn = (on: pg.PoolClient) => async (text: string, values: unknown[]) =>
        (await on.query(text, values)).rowCount ?? 0;
      await older.query("begin");
      await fence.admit(runOn(older), "orders/1", exclusive(5));
      const { rows } = await newer.query("select pg_backend_pid() as pid");
      await newer.query("begin");
      const passing = fence.admit(runOn(newer), "orders/1", exclusive(9));
      await waitsForLock(pool, rows[0].pid);
      await older.query("commit");
      await passing;
      await newer.query("commit");
      await older.query("begin");
      await expect(fence.admit(runOn(older), "orders/1", exclusive(5))).rejects.toMatchObject({
        code: "STALE_TOKEN",
      });
      await older.query("rollback");
    } finally {
      older.release();
      newer.release();
    }
  });

  test("a row carries its own fence", async (context) => {
    if (server === undefined) context.skip("PostgreSQL is not installed");
    await pool.query(
      "create table stock (id bigint primary key, n integer, note text, fence bigint)",
    );
    await pool.query("insert into stock values (1001, 10, null, null)");
    const fence = new SqlFence("postgresql");
    const run = async (text: string, values: unknown[]) =>
      (await pool.query(text, values)).rowCount ?? 0;
    const take = (id: number, token: number) =>
      fence.write(
        run,
        { table: "stock", set: { n: sql`n - ${1}`, note: NASTY }, where: { id } },
        exclusive(token),
      );
    expect(await take(1_001, TOKEN)).toBe(1);
    await expect(take(1_001, TOKEN - 1)).rejects.toMatchObject({ code: "STALE_TOKEN" });
    expect(await take(1_002, TOKEN)).toBe(0);
    const { rows } = await pool.query("select n, note, fence from stock");
    expect(rows).toEqual([{ n: 9, note: NASTY, fence: String(TOKEN) }]);
  });
});

/** Resolves when the backend waits for a lock that another one holds. Bounded by the test's time. */
async function waitsForLock(pool: pg.Pool, pid: number): Promise<void> {
  for (;;) {
    const { rows } = await pool.query("select pg_blocking_pids($1) as blockers", [pid]);
    if (rows[0].blockers.length > 0) return;
    await delay(5);
  }
}
