/**
 * Fencing in PostgreSQL, MySQL (and MariaDB) and SQLite, through whatever driver: it builds
 * statements, and runs them through one function that the caller brings. Nothing here connects,
 * begins or commits.
 */
import { type Claim, checkedClaim } from "./claim.js";
import { admission, createGuardTable, type SqlStep } from "./sql-guard.js";
import { quoteTable, type SqlDialect } from "./sql-text.js";
import {
  type FenceColumns,
  type FencedChange,
  type FencedUpdate,
  fencedUpdate,
} from "./sql-update.js";
import { staleToken } from "./stale-token.js";

export interface SqlFenceOptions {
  /** The table of gates. Default "holdfast_fence"; `schema.table` is understood. */
  readonly table?: string | undefined;
  /** The columns of rows that carry their own fence (`update`, `write`). */
  readonly columns?: FenceColumns | undefined;
}

/** Executes a statement with its parameters; resolves to how many rows it changed. */
export type SqlRun = (text: string, values: unknown[]) => Promise<number> | number;
/** The same, of drivers without promises. */
export type SqlRunSync = (text: string, values: unknown[]) => number;

export class SqlFence {
  readonly dialect: SqlDialect;
  readonly #table: string;
  readonly #columns: FenceColumns;

  /** Throws `TypeError` for a dialect it does not know. */
  constructor(dialect: SqlDialect, options: SqlFenceOptions = {}) {
    if (!["postgresql", "mysql", "sqlite"].includes(dialect)) {
      throw new TypeError(`dialect ${JSON.stringify(dialect)} is not postgresql, mysql or sqlite`);
    }
    this.dialect = dialect;
    this.#table = options.table ?? "holdfast_fence";
    this.#columns = options.columns ?? {};
    quoteTable(dialect, this.#table);
  }

  /** Creates the table of gates unless it is there; for your migrations. */
  get createTable(): string {
    return createGuardTable(this.dialect, this.#table);
  }

  /**
   * Lets a claim on `resource` (1 – 1,024 bytes) through, or rejects with `STALE_TOKEN`; then roll
   * back. Must be the first statement of the transaction that writes: outside of one, a newer
   * holder could come between this and the write. A resource is guarded as a lock or as a
   * semaphore, not as both.
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

  /** The statements of `admit`, for those who send them by other means. */
  admission(resource: string, claim: Claim): readonly SqlStep[] {
    return this.#admission(resource, checkedClaim(claim));
  }

  /**
   * Updates a row that carries its own fence, in one statement and without a transaction. Resolves
   * to the number of rows changed: 0 if there is no such row. Rejects with `STALE_TOKEN` if the row
   * has seen a newer token. MySQL must count the rows that were found, as `mysql2` and `mariadb` do
   * unless told otherwise (FOUND_ROWS). Of permits the row must be one slot's: two holders of
   * different slots would refuse each other's writes in one row, which need `admit`.
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

  /** The statements of `write`, for those who send them by other means. */
  update(change: FencedChange, claim: Claim): FencedUpdate {
    return fencedUpdate(this.dialect, this.#columns, change, checkedClaim(claim));
  }

  #admission(resource: string, claim: Claim): readonly SqlStep[] {
    return admission(this.dialect, this.#table, resource, claim);
  }
}

function requirePassed(step: SqlStep, changed: number, resource: string, claim: Claim): void {
  // A driver that does not say how many would let everybody through.
  if (typeof changed !== "number") {
    throw new TypeError(`the number of changed rows is needed, not ${String(changed)}`);
  }
  if (step.decides && changed === 0) throw staleToken(resource, claim);
}
