/** The dialect of MySQL, in MariaDB: where it is installed. */
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Claim, SqlFence, sql } from "../../src/fence/index.js";
import { expectTheRule, inTransactions, passes } from "./rule-contract.js";
import { type MariadbServer, type MariadbSession, startMariadb } from "./stores/mariadb.js";

const TOKEN = 3_710_851_743_744_001;
const NASTY = `x"'\`; drop table stock; -- ✓`;
const exclusive = (token: number): Claim => ({ token, mode: "exclusive" });
let server: MariadbServer | undefined;
let db: MariadbSession;

beforeAll(async () => {
  server = await startMariadb();
  if (server !== undefined) db = server.session();
});

afterAll(async () => {
  db?.close();
  await server?.[Symbol.asyncDispose]();
});

test("the table of gates follows the rule of each mode", async (context) => {
  if (server === undefined) return context.skip("MariaDB is not installed");
  const fence = new SqlFence("mysql", { table: "test.gates" });
  await db.query(fence.createTable);
  await db.query(fence.createTable);
  const admit = inTransactions(
    (resource, claim) => fence.admit(db.run, resource, claim),
    (text) => db.query(text),
  );
  await expectTheRule(admit, "lock", 40);
  await expectTheRule(admit, "semaphore", 40);
});

test("resources that look alike are different ones", async (context) => {
  if (server === undefined) return context.skip("MariaDB is not installed");
  const fence = new SqlFence("mysql");
  await db.query(fence.createTable);
  const admit = (resource: string, claim: Claim) => fence.admit(db.run, resource, claim);
  const resources = ["orders/a", "orders/A", "orders/a ", "orders/ä", NASTY, "ä".repeat(512)];
  for (const [index, resource] of resources.entries()) {
    expect(await passes(admit, resource, exclusive(100 - index))).toBe(true);
    expect(await passes(admit, resource, exclusive(99 - index))).toBe(false);
  }
});

test("an older holder that passed commits before a newer one passes", async (context) => {
  if (server === undefined) return context.skip("MariaDB is not installed");
  const fence = new SqlFence("mysql");
  await db.query(fence.createTable);
  const [older, newer] = [server.session(), server.session()];
  for (const resource of ["known", "new"]) {
    if (resource === "known") await fence.admit(db.run, resource, exclusive(1));
    await older.query("begin");
    await newer.query("begin");
    await fence.admit(older.run, resource, exclusive(5));
    const passing = fence.admit(newer.run, resource, exclusive(9));
    await somebodyWaits();
    await older.query("commit");
    await passing;
    await newer.query("commit");
    await older.query("begin");
    const late = fence.admit(older.run, resource, exclusive(5));
    await expect(late).rejects.toMatchObject({ code: "STALE_TOKEN" });
    await older.query("rollback");
  }
  older.close();
  newer.close();
});

test("a row carries its own fence", async (context) => {
  if (server === undefined) return context.skip("MariaDB is not installed");
  await db.query("create table stock (id bigint primary key, n integer, note text, fence bigint)");
  await db.query("insert into stock values (1001, 10, null, null)");
  const fence = new SqlFence("mysql");
  const set = { n: sql`n - ${1}`, note: NASTY };
  const take = (id: number, token: number) =>
    fence.write(db.run, { table: "stock", set, where: { id } }, exclusive(token));
  expect(await take(1_001, TOKEN)).toBe(1);
  expect(await take(1_001, TOKEN)).toBe(1);
  expect(await take(1_002, TOKEN)).toBe(0);
  expect(await db.query("select n, note, fence from stock")).toEqual([`8\t${NASTY}\t${TOKEN}`]);
  const { update } = fence.update({ table: "stock", set, where: { id: 1_001 } }, exclusive(7));
  expect(await db.run(update.text, [...update.values])).toBe(0);
});

/** Resolves when a transaction waits for a row of another. Bounded by the test's time. */
async function somebodyWaits(): Promise<void> {
  for (;;) {
    const waiting =
      "select count(*) from information_schema.innodb_trx where trx_state = 'LOCK WAIT'";
    const [count] = await db.query(waiting);
    if (Number(count) > 0) return;
    // Read from a cache that is renewed only when nobody has read it for 100 ms.
    await delay(200);
  }
}
