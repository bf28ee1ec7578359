/**
 * The fence in the row itself: an update that happens only if the row has not seen a newer token,
 * and stores its own token there. It is one statement, so it needs no transaction.
 */
import type { Claim } from "./claim.js";
import { quoteName, quoteTable, type SqlDialect, type SqlStatement, SqlText } from "./sql-text.js";

/** What to write, and to which row. */
export interface FencedChange {
  /** `stock`, or `shop.stock` in a schema. */
  readonly table: string;
  /** Column → value, or an expression made by `sql`. At least one. */
  readonly set: Readonly<Record<string, unknown>>;
  /**
   * Column → value that it equals (`null`: is null). At least one; they should be the key of one
   * row.
   */
  readonly where: Readonly<Record<string, unknown>>;
}

/** The columns that store tokens: `bigint`, null or 0 before the first. */
export interface FenceColumns {
  /** The newest token that wrote the row. Default "fence". */
  readonly newest?: string;
  /** The newest exclusive token; required if shared holders write too. */
  readonly newestExclusive?: string;
}

export interface FencedUpdate {
  /** Changes no row if there is none, or if it has seen a newer token. */
  readonly update: SqlStatement;
  /** Distinguishes the two cases: changes nothing, and counts the row if it exists. */
  readonly probe: SqlStatement;
}

export function fencedUpdate(
  dialect: SqlDialect,
  columns: FenceColumns,
  change: FencedChange,
  claim: Claim,
): FencedUpdate {
  const { newest = "fence", newestExclusive } = columns;
  const isShared = claim.mode === "shared";
  if (isShared && newestExclusive === undefined) {
    throw new TypeError("shared claims need a column for the newest exclusive token");
  }
  const assignments = Object.entries(change.set);
  if (assignments.length === 0) throw new TypeError("set names no column");
  const text = new SqlText(dialect).raw(`update ${quoteTable(dialect, change.table)} set `);
  for (const [column, value] of assignments) {
    if (column === newest || column === newestExclusive) {
      throw new TypeError(`${JSON.stringify(column)} is set by the fence`);
    }
    text.name(column).raw(" = ").value(value).raw(", ");
  }
  const fence = quoteName(dialect, newest);
  if (isShared) {
    const larger = dialect === "sqlite" ? "max" : "greatest";
    text.raw(`${fence} = ${larger}(coalesce(${fence}, 0), `).value(claim.token).raw(")");
  } else {
    text.raw(`${fence} = `).value(claim.token);
    if (newestExclusive !== undefined) {
      text.raw(", ").name(newestExclusive).raw(" = ").value(claim.token);
    }
  }
  writeKey(text, change);
  const seen = isShared ? quoteName(dialect, newestExclusive ?? newest) : fence;
  text.raw(` and (${seen} is null or ${seen} <= `).value(claim.token).raw(")");
  const probe = new SqlText(dialect).raw(
    `update ${quoteTable(dialect, change.table)} set ${fence} = ${fence}`,
  );
  writeKey(probe, change);
  return { update: text.statement(), probe: probe.statement() };
}

function writeKey(text: SqlText, { where }: FencedChange): void {
  const conditions = Object.entries(where);
  if (conditions.length === 0) throw new TypeError("where names no column");
  conditions.forEach(([column, value], index) => {
    text.raw(index === 0 ? " where " : " and ").name(column);
    if (value === null) text.raw(" is null");
    else text.raw(" = ").value(value);
  });
}
