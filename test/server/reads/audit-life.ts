/**
 * One run of a node as its audit sees it: a change log, a store, and turns that the test takes.
 */
import { END_REASON, type LostTenures, type Tenure } from "../../../src/protocol/index.js";
import { Audit } from "../../../src/server/reads/audit.js";
import { ChangeLog } from "../../../src/server/reads/change-log.js";
import { AuditStore, type OrderedStore } from "../../../src/storage/index.js";

export const KEEP_MS = 1_000_000;
const ROOMY = { changesMax: 1 << 20, changeBytesMax: 1 << 30 };
export const WALL_MS = 1_700_000_000_000;

/** A disk whose store can be opened again and again. */
export type OpenStore = () => Promise<OrderedStore>;

interface LifeOptions {
  /** The index of the snapshot that it starts from. */
  readonly snapshotIndex?: number;
  readonly limits?: { readonly changesMax: number; readonly changeBytesMax: number };
  /** Default: no limit. */
  readonly bytesMax?: number;
}

export interface Findings {
  readonly tenures: readonly Tenure[];
  readonly lost: readonly LostTenures[];
}

export class Life {
  readonly log: ChangeLog;
  readonly audit: Audit;
  readonly store: OrderedStore;
  readonly story: string[] = [];
  /** Heads of the chain that were logged. */
  readonly heads: string[] = [];
  nowMs = 0;
  index: number;
  #wake: () => void = () => {};

  static async start(open: OpenStore, options: LifeOptions = {}): Promise<Life> {
    const store = await open();
    const audit = new AuditStore(store);
    await audit.load();
    return new Life(store, audit, options);
  }

  private constructor(
    store: OrderedStore,
    audit: AuditStore,
    { snapshotIndex = 0, limits = ROOMY, bytesMax = Number.POSITIVE_INFINITY }: LifeOptions,
  ) {
    this.store = store;
    this.index = snapshotIndex;
    this.log = new ChangeLog(limits, snapshotIndex);
    this.audit = new Audit(
      {
        store: audit,
        changeLog: this.log,
        wake: () => this.#wake(),
        logger: (level, event, fields) => {
          if (event === "audit head") this.heads.push(String(fields?.["head"]));
          else this.story.push(`${level}: ${event}`);
        },
      },
      { keepMs: KEEP_MS, bytesMax },
    );
  }

  /** Applies entries `from` to `to`, each of which ends a hold of a key of its own and of "a". */
  apply(from: number, to: number): void {
    for (let index = from; index <= to; index += 1) {
      this.log.begin(index, 10 * index, WALL_MS + index);
      for (const key of ["a", `key-${index}`]) {
        const claim = {
          mode: "exclusive",
          session: 1,
          sessionName: "s",
          identity: "anonymous",
          task: 1,
        } as const;
        const hold = {
          key,
          token: 1_000 + index,
          sequence: 2 * index,
          holder: "session" as const,
          grantedAt: 10 * index - 5,
          requestedAt: 0,
          status: 0,
          waitedMs: 3,
          value: "",
          orderedBy: "",
        };
        this.log.add({ ...claim, ...hold, type: "granted", reason: END_REASON.unknown });
        this.log.add({ ...claim, ...hold, type: "ended", reason: END_REASON.expired });
      }
      this.index = index;
    }
  }

  turn(isTakingSnapshot = false, wallMs = WALL_MS): void {
    this.nowMs += 1;
    this.audit.work(this.index, isTakingSnapshot, this.nowMs, wallMs);
  }

  /** Turns until there is nothing left to do. */
  async settle(wallMs = WALL_MS): Promise<void> {
    for (;;) {
      const woken = new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      this.turn(false, wallMs);
      const { nextDeadlineMs, hasWork, status } = this.audit;
      if (status.state === "failed") return;
      // Infinite only while a call is under way.
      if (nextDeadlineMs === Number.POSITIVE_INFINITY) await woken;
      else if (nextDeadlineMs > this.nowMs && !hasWork) return;
    }
  }

  /** Waits until the call that the last turn began has ended. */
  async idle(): Promise<void> {
    if (this.audit.nextDeadlineMs !== Number.POSITIVE_INFINITY) return;
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
    });
  }

  async read(key: string, limit = 10_000): Promise<readonly Tenure[]> {
    return (await this.find(key, limit)).tenures;
  }

  find(key: string, limit = 10_000): Promise<Findings> {
    const through = { index: 2 ** 50, number: 0 };
    return new Promise((resolve, reject) => {
      this.#wake = () => this.turn();
      const onDone = (tenures: readonly Tenure[], lost: readonly LostTenures[]): void => {
        resolve({ tenures, lost });
      };
      this.audit.read(key, through, limit, onDone, () => reject(new Error("not read")));
    });
  }

  async stop(): Promise<void> {
    await this.audit.stop();
    await this.store.close();
  }
}

export function tokensOf(tenures: readonly Tenure[]): number[] {
  return tenures.map(({ token }) => token - 1_000);
}

export function descending(from: number, to: number): number[] {
  return Array.from({ length: from - to + 1 }, (_, i) => from - i);
}
