/**
 * Fencing in PostgreSQL, MySQL (and MariaDB) and SQLite, with any driver: it builds statements, and
 * runs them with one function that the caller provides. Nothing here connects, begins or commits.
 */
import { type Claim, checkedClaim } from "./claim.js";
import { admission, createGuardTable, type SqlStep } from "./sql-guard.js";
import { quoteTable, SQL_DIALECTS, type SqlDialect } from "./sql-text.js";
import {
  type FenceColumns,
  type FencedChange,
  type FencedUpdate,
  fencedUpdate,
} from "./sql-update.js";
import { staleToken } from "./stale-token.js";

export interface SqlFenceOptions {
  /** The table of gates. Default "holdfast_fence"; `schema.table` is also possible. */
  readonly table?: string | undefined;
  /** The columns of rows that carry their own fence (`update`, `write`). */
  readonly columns?: FenceColumns | undefined;
}

/** Executes a statement with its parameters; resolves to the number of changed rows. */
export type SqlRun = (text: string, values: unknown[]) => Promise<number> | number;
/** As `SqlRun`, for drivers without promises. */
export type SqlRunSync = (text: string, values: unknown[]) => number;

export class SqlFence {
  readonly dialect: SqlDialect;
  readonly #table: string;
  readonly #columns: FenceColumns;

  /** Throws `TypeError` for an unknown dialect. */
  constructor(dialect: SqlDialect, options: SqlFenceOptions = {}) {
    if (!SQL_DIALECTS.includes(dialect)) {
      throw new TypeError(`dialect ${JSON.stringify(dialect)} is not postgresql, mysql or sqlite`);
    }
    this.dialect = dialect;
    this.#table = options.table ?? "holdfast_fence";
    this.#columns = options.columns ?? {};
    quoteTable(dialect, this.#table);
  }

  /** The statement that creates the table of gates if it does not exist; for your migrations. */
  get createTable(): string {
    return createGuardTable(this.dialect, this.#table);
  }

  /**
   * Admits a claim on `resource` (1 – 1,024 bytes), or rejects with `STALE_TOKEN`; then roll back.
   * Must be the first statement of the writing transaction: outside of one, a newer holder could
   * come between this and the write. A resource is guarded either as a lock or as a semaphore.
   */
  async admit(run: SqlRun, resource: string, claim: Claim): Promise<void> {
    const checked = checkedClaim(claim);
    for (const step of this.#admission(resource, checked)) {
      requirePassed(step, await run(step.text, [...step.values]), resource, checked);
    }
  }

  /** `admit` for drivers without promises. Throws what `admit` rejects with. */
  admitSync(run: SqlRunSync, resource: string, claim: Claim): void {
    const checked = checkedClaim(claim);
    for (const step of this.#admission(resource, checked)) {
      requirePassed(step, run(step.text, [...step.values]), resource, checked);
    }
  }

  /** The statements of `admit`, for callers that run them in another way. */
  admission(resource: string, claim: Claim): readonly SqlStep[] {
    return this.#admission(resource, checkedClaim(claim));
  }

  /**
   * Updates a row that carries its own fence, in one statement and without a transaction. Resolves
   * to the number of rows changed: 0 if there is no such row. Rejects with `STALE_TOKEN` if the row
   * has seen a newer token. MySQL must count the rows that were found, as `mysql2` and `mariadb` do
   * by default (FOUND_ROWS). With permits, the row must belong to one slot: two holders of
   * different slots would refuse each other's writes to one row; use `admit` for that.
   */
  async write(run: SqlRun, change: FencedChange, claim: Claim): Promise<number> {
    const { update, probe } = this.update(change, claim);
    const changed = await run(update.text, [...update.values]);
    if (changed > 0) return changed;
    if ((await run(probe.text, [...probe.values])) > 0) throw staleToken(change.table, claim);
    return 0;
  }

  /** `write` for drivers without promises. Throws what `write` rejects with. */
  writeSync(run: SqlRunSync, change: FencedChange, claim: Claim): number {
    const { update, probe } = this.update(change, claim);
    const changed = run(update.text, [...update.values]);
    if (changed > 0) return changed;
    if (run(probe.text, [...probe.values]) > 0) throw staleToken(change.table, claim);
    return 0;
  }

  /** The statements of `write`, for callers that run them in another way. */
  update(change: FencedChange, claim: Claim): FencedUpdate {
    return fencedUpdate(this.dialect, this.#columns, change, checkedClaim(claim));
  }

  #admission(resource: string, claim: Claim): readonly SqlStep[] {
    return admission(this.dialect, this.#table, resource, claim);
  }
}

function requirePassed(step: SqlStep, changed: number, resource: string, claim: Claim): void {
  // If a driver did not return the number, every claim would be admitted.
  if (typeof changed !== "number") {
    throw new TypeError(`the number of changed rows is needed, not ${String(changed)}`);
  }
  if (step.decides && changed === 0) throw staleToken(resource, claim);
}
