/**
 * The audit of one node over the store in memory and over `level`: what is written, that it is written
 * once whatever happens in between, and that trouble with it is told and stops nothing.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { HoldfastError } from "../../src/errors.js";
import { END_REASON, type Tenure } from "../../src/protocol/index.js";
import { Audit } from "../../src/server/audit.js";
import { TransitionLog } from "../../src/server/transition-log.js";
import { AuditStore, MemoryStoreDisk, type OrderedStore } from "../../src/storage/index.js";
import { openLevelStore } from "../../src/storage/level-store.js";

const KEEP_MS = 1_000_000;
const ROOMY = { changesMax: 1 << 20, changeBytesMax: 1 << 30 };
const WALL_MS = 1_700_000_000_000;

const cleanUps: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

/** A disk whose store can be opened again and again. */
type OpenStore = () => Promise<OrderedStore>;

async function memoryDisk(): Promise<OpenStore> {
  const disk = new MemoryStoreDisk();
  return async () => disk.open();
}

async function levelDisk(): Promise<OpenStore> {
  const path = await mkdtemp(join(tmpdir(), "holdfast-audit-"));
  cleanUps.push(() => rm(path, { recursive: true }));
  return () => openLevelStore(path);
}

interface LifeOptions {
  /** Of the snapshot that it starts from. */
  readonly snapshotIndex?: number;
  readonly limits?: { readonly changesMax: number; readonly changeBytesMax: number };
}

/** One life of a node, as far as its audit sees it. */
class Life {
  readonly log: TransitionLog;
  readonly audit: Audit;
  readonly store: OrderedStore;
  readonly story: string[] = [];
  nowMs = 0;
  index: number;
  #wake: () => void = () => {};

  static async start(open: OpenStore, options: LifeOptions = {}): Promise<Life> {
    const store = await open();
    const mark = await new AuditStore(store).readMark();
    return new Life(store, mark, options);
  }

  private constructor(
    store: OrderedStore,
    mark: Awaited<ReturnType<AuditStore["readMark"]>>,
    { snapshotIndex = 0, limits = ROOMY }: LifeOptions,
  ) {
    this.store = store;
    this.index = snapshotIndex;
    this.log = new TransitionLog(limits, snapshotIndex);
    this.audit = new Audit(
      {
        store: new AuditStore(store),
        transitions: this.log,
        wake: () => this.#wake(),
        logger: (level, event) => this.story.push(`${level}: ${event}`),
      },
      { keepMs: KEEP_MS, mark },
    );
  }

  /** Applies entries `from` to `to`, each of which ends a hold of a key of its own and of "a". */
  apply(from: number, to: number): void {
    for (let index = from; index <= to; index += 1) {
      this.log.begin(index, 10 * index, WALL_MS + index);
      for (const key of ["a", `key-${index}`]) {
        const claim = { mode: "exclusive", session: 1, sessionName: "s", owner: 1 } as const;
        const hold = {
          key,
          token: 1_000 + index,
          sequence: 0,
          grantedAt: 10 * index - 5,
          value: "",
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
      const { nextDeadlineMs, hasWork } = this.audit;
      // Infinite only while a call is under way.
      if (nextDeadlineMs === Number.POSITIVE_INFINITY) await woken;
      else if (nextDeadlineMs > this.nowMs && !hasWork) return;
    }
  }

  read(key: string, limit = 10_000): Promise<readonly Tenure[]> {
    const through = { index: 2 ** 50, number: 0 };
    return new Promise((resolve, reject) => {
      this.#wake = () => this.turn();
      this.audit.read(key, through, limit, resolve, () => reject(new Error("not read")));
    });
  }

  async stop(): Promise<void> {
    await this.audit.stop();
    await this.store.close();
  }
}

function tokensOf(tenures: readonly Tenure[]): number[] {
  return tenures.map(({ token }) => token - 1_000);
}

function descending(from: number, to: number): number[] {
  return Array.from({ length: from - to + 1 }, (_, i) => from - i);
}

describe.each([
  ["in memory", memoryDisk],
  ["in level", levelDisk],
])("the audit %s", (_where, disk) => {
  test("has every tenure once, though the node restarts and replays its log", async () => {
    const open = await disk();
    const first = await Life.start(open);
    first.apply(1, 700);
    await first.settle();
    first.apply(701, 800);
    // Ends with these in flight or not even begun with.
    first.turn();
    await first.stop();

    const second = await Life.start(open);
    second.apply(1, 900);
    await second.settle();
    expect(second.audit.status.writtenTotal).toBeLessThanOrEqual(400);
    await second.stop();

    const third = await Life.start(open, { snapshotIndex: 850 });
    third.apply(851, 950);
    await third.settle();
    expect(third.audit.status).toMatchObject({ gapsTotal: 0, completeAfter: 0, lag: 0 });
    expect(tokensOf(await third.read("a"))).toEqual(descending(950, 1));
    expect(await third.read("key-420")).toEqual([
      {
        key: "key-420",
        mode: "exclusive",
        token: 1_420,
        session: 1,
        sessionName: "s",
        owner: 1,
        grantedWallMs: WALL_MS + 420 - 5,
        heldMs: 5,
        reason: END_REASON.expired,
      },
    ]);
    expect(third.story).toEqual([]);
    await third.stop();
  });

  test("is trimmed of what is older than it is to be kept", async () => {
    const open = await disk();
    const life = await Life.start(open);
    life.apply(1, 1_200);
    await life.settle();
    life.nowMs += 60_000;
    await life.settle(WALL_MS + KEEP_MS + 1_101);
    expect(tokensOf(await life.read("a"))).toEqual(descending(1_200, 1_101));
    expect(life.audit.mark.completeAfter).toBe(1_100);
    await life.stop();
  });
});

describe("the audit of a node", () => {
  test("that takes a snapshot has its place written, and finds it behind the snapshot", async () => {
    const open = await memoryDisk();
    const first = await Life.start(open);
    first.apply(1, 10);
    await first.settle();
    // Entries that end nothing.
    first.index = 500;
    first.turn();
    expect(first.audit.mark.through.index).toBe(10);
    first.turn(true);
    await first.settle();
    expect(first.audit.mark.through.index).toBe(500);
    await first.stop();
    const second = await Life.start(open, { snapshotIndex: 500 });
    await second.settle();
    expect(second.audit.status.gapsTotal).toBe(0);
    await second.stop();
  });

  test("that takes over a snapshot notes the gap, loudly and for good", async () => {
    const open = await memoryDisk();
    const first = await Life.start(open);
    first.apply(1, 10);
    await first.settle();
    first.log.restart(300);
    first.apply(301, 305);
    await first.settle();
    expect(first.audit.status).toMatchObject({ gapsTotal: 1, completeAfter: 300 });
    expect(first.story).toHaveLength(1);
    expect(first.story[0]).toContain("error: the audit has a gap");
    expect(tokensOf(await first.read("a"))).toEqual([
      ...descending(305, 301),
      ...descending(10, 1),
    ]);
    await first.stop();
    const second = await Life.start(open, { snapshotIndex: 305 });
    await second.settle();
    expect(second.audit.status).toMatchObject({ gapsTotal: 0, completeAfter: 300 });
    await second.stop();
  });

  test("whose disk is full says so, tries again, and then has everything", async () => {
    let isFull = false;
    const disk = new MemoryStoreDisk({
      intercept: ({ kind }) => {
        if (isFull && kind === "write") throw new HoldfastError("DISK_FULL", "no space");
      },
    });
    const life = await Life.start(async () => disk.open());
    life.apply(1, 10);
    await life.settle();
    isFull = true;
    life.apply(11, 20);
    await life.settle();
    expect(life.audit.status).toMatchObject({ state: "full", lag: 40 });
    for (let tries = 0; tries < 3; tries += 1) {
      life.nowMs += 2_000;
      await life.settle();
    }
    expect(life.story).toEqual(["error: no room for the audit"]);
    isFull = false;
    life.nowMs += 2_000;
    await life.settle();
    expect(life.audit.status).toMatchObject({ state: "writing", lag: 0, gapsTotal: 0 });
    expect(tokensOf(await life.read("a"))).toEqual(descending(20, 1));
    expect(life.story).toHaveLength(2);
  });

  test("whose store fails says so once and goes on without", async () => {
    const disk = new MemoryStoreDisk({
      intercept: ({ kind }) => {
        if (kind === "write") throw new Error("input/output error");
      },
    });
    const life = await Life.start(async () => disk.open());
    life.apply(1, 10);
    await new Promise<void>((resolve) => {
      life.turn();
      setImmediate(resolve);
    });
    life.turn();
    life.apply(11, 20);
    life.turn();
    expect(life.audit.status).toMatchObject({ state: "failed", lag: 80 });
    expect(life.story).toEqual(["error: the audit is not written any more"]);
  });

  test("whose store is slower than what happens says what it lost, and keeps up again", async () => {
    const limits = { changesMax: 1_024, changeBytesMax: 1 << 30 };
    const life = await Life.start(await memoryDisk(), { limits });
    life.apply(1, 2_000);
    await life.settle();
    const { completeAfter, gapsTotal } = life.audit.status;
    expect(gapsTotal).toBe(1);
    expect(life.story[0]).toContain("error: the audit has a gap");
    expect(completeAfter).toBe(life.log.floor.index);
    const tokens = tokensOf(await life.read("a")).filter((token) => token > completeAfter);
    expect(tokens).toEqual(descending(2_000, completeAfter + 1));
    expect(tokens.length).toBeGreaterThan(250);
  });
});
