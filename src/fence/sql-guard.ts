/**
 * A table of gates: one row per resource, or one per slot of a semaphore. An admission writes the
 * row if the rule allows it, and thereby locks the row until the transaction ends. Conflicting
 * writers queue at the row, so that checking and writing are one step for any tables that the
 * transaction writes.
 */
import type { Claim } from "./claim.js";
import { quoteTable, type SqlDialect, type SqlStatement, SqlText } from "./sql-text.js";

/** A statement of an admission. */
export interface SqlStep extends SqlStatement {
  /** Whether it changes no row exactly if the token is stale. */
  readonly decides: boolean;
}

/** The row of a lock; slots of semaphores have their own numbers. */
const LOCK_ROW = -1;
const RESOURCE_BYTES_MAX = 1_024;

/**
 * The statement that creates the table. Resources are compared byte by byte: MySQL would otherwise
 * take `a` and `A`, or `a` and `a `, for the same one.
 */
export function createGuardTable(dialect: SqlDialect, table: string): string {
  const name = quoteTable(dialect, table);
  const resource = dialect === "mysql" ? `varbinary(${RESOURCE_BYTES_MAX})` : "text";
  const end = dialect === "mysql" ? ") engine = InnoDB" : ")";
  return [
    `create table if not exists ${name} (`,
    `  resource ${resource} not null,`,
    "  slot integer not null,",
    "  newest bigint not null,",
    "  newest_exclusive bigint not null,",
    "  passed bigint not null,",
    "  primary key (resource, slot)",
    end,
  ].join("\n");
}

/** The statements that admit a checked claim, in order. */
export function admission(
  dialect: SqlDialect,
  table: string,
  resource: string,
  claim: Claim,
): SqlStep[] {
  requireResource(resource);
  // Slots are ascending, so that two transactions never deadlock.
  const rows = claim.mode === "permits" ? (claim.slots ?? []) : [LOCK_ROW];
  return rows.flatMap((slot) =>
    dialect === "mysql"
      ? mysqlSteps(table, resource, slot, claim)
      : [upsertStep(dialect, table, resource, slot, claim)],
  );
}

/** PostgreSQL and SQLite: inserts the row, or updates it if the token is not too old for that. */
function upsertStep(
  dialect: "postgresql" | "sqlite",
  table: string,
  resource: string,
  slot: number,
  claim: Claim,
): SqlStep {
  const isShared = claim.mode === "shared";
  const larger = dialect === "postgresql" ? "greatest" : "max";
  const text = new SqlText(dialect)
    .raw(`insert into ${quoteTable(dialect, table)} as seen `)
    .raw("(resource, slot, newest, newest_exclusive, passed) values (")
    .value(resource)
    .raw(", ")
    .value(slot)
    .raw(", ")
    .value(claim.token)
    .raw(", ")
    .value(isShared ? 0 : claim.token)
    .raw(", 1) on conflict (resource, slot) do update set passed = seen.passed + 1, ")
    .raw(
      isShared
        ? `newest = ${larger}(seen.newest, excluded.newest) ` +
            "where seen.newest_exclusive <= excluded.newest"
        : "newest = excluded.newest, newest_exclusive = excluded.newest_exclusive " +
            "where seen.newest <= excluded.newest",
    );
  return { ...text.statement(), decides: true };
}

/**
 * MySQL has no condition on that statement, so the row is created first. `passed` changes with each
 * admission: an update without a change would count no rows unless the connection has FOUND_ROWS.
 */
function mysqlSteps(table: string, resource: string, slot: number, claim: Claim): SqlStep[] {
  const name = quoteTable("mysql", table);
  const isShared = claim.mode === "shared";
  const make = new SqlText("mysql")
    .raw(`insert into ${name} (resource, slot, newest, newest_exclusive, passed) values (`)
    .value(resource)
    .raw(", ")
    .value(slot)
    .raw(", 0, 0, 0) on duplicate key update passed = passed");
  const pass = new SqlText("mysql").raw(`update ${name} set passed = passed + 1, newest = `);
  if (isShared) pass.raw("greatest(newest, ").value(claim.token).raw(")");
  else pass.value(claim.token).raw(", newest_exclusive = ").value(claim.token);
  pass.raw(" where resource = ").value(resource).raw(" and slot = ").value(slot);
  pass.raw(isShared ? " and newest_exclusive <= " : " and newest <= ").value(claim.token);
  return [
    { ...make.statement(), decides: false },
    { ...pass.statement(), decides: true },
  ];
}

/** MySQL would truncate a longer name, or refuse it late; the limit is the same everywhere. */
function requireResource(resource: string): void {
  if (typeof resource !== "string" || resource === "" || resource.includes("\0")) {
    throw new TypeError(`${JSON.stringify(resource)} cannot name a resource`);
  }
  const bytes = new TextEncoder().encode(resource).length;
  if (bytes > RESOURCE_BYTES_MAX) {
    throw new RangeError(`resource has ${bytes} bytes, more than ${RESOURCE_BYTES_MAX}`);
  }
}
