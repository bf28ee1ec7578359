/**
 * Two kinds of locks in PostgreSQL. Advisory locks belong to a session of the server and are never
 * on disk. A row in a table is durable when the insert returns; a request that finds it there waits
 * for a notification of the release, which is sent only if workers compete.
 *
 * A session does one thing after the other, so of the workers of one connection only the first in
 * line waits in the server.
 */
import { randomBytes } from "node:crypto";
import type { Client } from "pg";
import { loadPackage } from "./load-package.js";
import type { GiveBack, PeerClient } from "./peer.js";
import type { PeerLoad } from "./peer-load.js";
import { LocalTurns, Wakeups } from "./wake-ups.js";

const LEASE_MS = 30_000;
const CHANNEL = "released";

export const CREATE_TABLE = `create table locks (
  key text primary key, owner text not null, expires_at timestamptz not null)`;
/** Finding the row writes nothing; an update on conflict would lock it, on disk as well. */
const INSERT = `insert into locks values ($1, $2, now() + interval '${LEASE_MS} ms')
  on conflict (key) do nothing`;
/** Only for a request that has waited for a while. */
const DELETE_EXPIRED = "delete from locks where key = $1 and expires_at < now()";
const DELETE = "delete from locks where key = $1 and owner = $2";
const DELETE_AND_TELL = `with deleted as (${DELETE} returning key)
  select pg_notify('${CHANNEL}', key) from deleted`;

/** 64 bits of the key, as is usual. */
const LOCK = "select pg_advisory_lock(hashtextextended($1, 0))";
const UNLOCK = "select pg_advisory_unlock(hashtextextended($1, 0)) as is_unlocked";

class AdvisoryLocks implements PeerClient {
  readonly #session: Client;
  readonly #turns = new LocalTurns();

  constructor(session: Client) {
    this.#session = session;
  }

  async acquire(key: string): Promise<GiveBack> {
    // The session could lock it twice, so its workers exclude each other here.
    await this.#turns.take(key);
    try {
      await this.#session.query({ name: "lock", text: LOCK, values: [key] });
    } catch (error) {
      this.#turns.pass(key);
      throw error;
    }
    return async () => {
      try {
        const query = { name: "unlock", text: UNLOCK, values: [key] };
        const { rows } = await this.#session.query<{ is_unlocked: boolean }>(query);
        return rows[0]?.is_unlocked === true;
      } finally {
        this.#turns.pass(key);
      }
    };
  }

  close(): Promise<void> {
    return this.#session.end();
  }
}

class TableLocks implements PeerClient {
  readonly #session: Client;
  /** Hears of releases; `undefined` if workers do not compete. */
  readonly #listener: Client | undefined;
  readonly #prefix = randomBytes(8).toString("hex");
  readonly #turns = new LocalTurns();
  readonly #wakeups = new Wakeups();
  #count = 0;

  constructor(session: Client, listener: Client | undefined) {
    this.#session = session;
    this.#listener = listener;
    listener?.on("notification", ({ payload }) => this.#wakeups.announce(payload ?? ""));
  }

  async acquire(key: string): Promise<GiveBack> {
    this.#count += 1;
    const owner = `${this.#prefix}-${this.#count}`;
    if (this.#listener === undefined) {
      if (!(await this.#insert(key, owner))) throw new Error(`${key} has another holder`);
      return () => this.#delete(DELETE, key, owner);
    }
    await this.#turns.take(key);
    try {
      for (;;) {
        const count = this.#wakeups.countOf(key);
        if (await this.#insert(key, owner)) break;
        if (await this.#wakeups.after(key, count)) continue;
        await this.#session.query({ name: "expired", text: DELETE_EXPIRED, values: [key] });
      }
    } catch (error) {
      this.#turns.pass(key);
      throw error;
    }
    return () => this.#delete(DELETE_AND_TELL, key, owner).finally(() => this.#turns.pass(key));
  }

  async close(): Promise<void> {
    await Promise.all([this.#session.end(), this.#listener?.end()]);
  }

  async #insert(key: string, owner: string): Promise<boolean> {
    const query = { name: "insert", text: INSERT, values: [key, owner] };
    return (await this.#session.query(query)).rowCount === 1;
  }

  async #delete(text: string, key: string, owner: string): Promise<boolean> {
    const query = { name: "delete", text, values: [key, owner] };
    return (await this.#session.query(query)).rowCount === 1;
  }
}

export async function openPostgres(port: number, isPipelined: boolean): Promise<Client> {
  const { default: pg } = await loadPackage("pg", () => import("pg"));
  // Queries of other workers are sent before the answer to the previous one.
  const options = { host: "127.0.0.1", port, user: "bench", database: "postgres" };
  const client = new pg.Client({ ...options, pipeline: isPipelined });
  client.on("error", () => undefined);
  await client.connect();
  return client;
}

export async function connectAdvisory(port: number, load: PeerLoad): Promise<PeerClient[]> {
  return Promise.all(
    Array.from({ length: sessionsOf(load) }, async () => {
      return new AdvisoryLocks(await openPostgres(port, true));
    }),
  );
}

export async function connectTable(port: number, load: PeerLoad): Promise<PeerClient[]> {
  return Promise.all(
    Array.from({ length: sessionsOf(load) }, async () => {
      const session = await openPostgres(port, true);
      if (!load.isShared) return new TableLocks(session, undefined);
      const listener = await openPostgres(port, false);
      await listener.query(`listen ${CHANNEL}`);
      return new TableLocks(session, listener);
    }),
  );
}

/** The largest usual size of a pool. */
const SESSIONS_MAX = 64;

/**
 * A session commits one thing after the other, and only different sessions share a sync: eight of
 * them would limit PostgreSQL, so it gets one for each worker if that is a reasonable number. If
 * workers compete, more sessions would only mean more requests at each release.
 */
function sessionsOf({ connections, workers, isShared }: PeerLoad): number {
  if (isShared) return connections;
  return Math.max(connections, Math.min(workers, SESSIONS_MAX));
}
