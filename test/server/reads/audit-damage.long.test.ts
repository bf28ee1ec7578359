/**
 * The audit on a store whose files were damaged while it was closed: bits flipped in every kind of
 * file of a real `level`. What is left is shown, and what is missing is reported as missing.
 */
import { type ChildProcess, fork } from "node:child_process";
import { cp, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { MemoryStoreDisk } from "../../../lab/memory/memory-ordered-store.js";
import { openLevelStore } from "../../../src/storage/level-store.js";
import { descending, Life, tokensOf } from "./audit-life.js";
import type { AuditAnswer, AuditFinding, AuditQuestion } from "./audit-reader.js";

/** The first ones are in a table of the store, the others in its journal. */
const IN_TABLE = 200;
const LAST = 320;
/** Entries of one batch of the audit. */
const STEP = 8;
const RUNS = 30;
const READER = fileURLToPath(new URL("audit-reader.ts", import.meta.url));

let sound = "";
const damaged: string[] = [];

beforeAll(async () => {
  sound = await mkdtemp(join(tmpdir(), "holdfast-audit-sound-"));
  const first = await Life.start(() => openLevelStore(sound));
  await endTenures(first, 1, IN_TABLE);
  await first.stop();
  // Opening it again makes a table of the journal.
  const second = await Life.start(() => openLevelStore(sound), { snapshotIndex: IN_TABLE });
  await endTenures(second, IN_TABLE + 1, LAST);
  await second.stop();
});

afterAll(async () => {
  for (const path of [sound, ...damaged]) await rm(path, { recursive: true, force: true });
});

async function endTenures(life: Life, from: number, to: number): Promise<void> {
  for (let index = from; index <= to; index += STEP) {
    life.apply(index, Math.min(to, index + STEP - 1));
    await life.settle();
  }
}

async function copyOf(path: string): Promise<string> {
  const copy = await mkdtemp(join(tmpdir(), "holdfast-audit-damaged-"));
  damaged.push(copy);
  await cp(path, copy, { recursive: true });
  return copy;
}

/** Files of the store with their sizes; those that only say how it was used are left out. */
async function filesOf(path: string): Promise<[name: string, bytes: number][]> {
  const names = (await readdir(path)).filter((name) => !/^(LOCK|LOG|LOG\.old)$/.test(name)).sort();
  return Promise.all(
    names.map(async (name): Promise<[string, number]> => {
      return [name, (await readFile(join(path, name))).length];
    }),
  );
}

/** Asks a process, and another one when that was ended by `level` itself. */
class Reader {
  #child: ChildProcess | undefined;
  /** Processes that `level` ended. */
  abortsTotal = 0;

  async ask(question: AuditQuestion): Promise<AuditAnswer> {
    this.#child ??= fork(READER, [], {
      execArgv: ["--import", "tsx"],
      stdio: ["ignore", "inherit", "pipe", "ipc"],
    });
    const child = this.#child;
    let words = "";
    const onWords = (text: Buffer): void => {
      words += text.toString();
    };
    child.stderr?.on("data", onWords);
    return new Promise<AuditAnswer>((resolve, reject) => {
      child.once("message", resolve);
      child.once("close", (_code, signal) => {
        this.#child = undefined;
        this.abortsTotal += 1;
        if (signal === "SIGABRT") resolve({ findings: undefined });
        else reject(new Error(`the reader ended: ${words}`));
      });
      child.send(question);
    }).finally(() => {
      child.stderr?.off("data", onWords);
      child.removeAllListeners("message").removeAllListeners("close");
    });
  }

  end(): void {
    this.#child?.kill();
  }
}

const KEYS = ["a", ...descending(LAST, 1).flatMap((n) => (n % 13 === 0 ? [`key-${n}`] : []))];

/** Fails when anything is missing that is not told to be, or anything is shown that never was. */
function demandHonesty({ key, tokens, isTruncated }: AuditFinding): void {
  const written = key === "a" ? descending(LAST, 1) : [Number(key.slice(4))];
  expect(tokens).toEqual(written.filter((token) => tokens.includes(token)));
  expect({ key, isWhole: tokens.length === written.length || isTruncated }).toEqual({
    key,
    isWhole: true,
  });
}

async function findingsIn(life: Life): Promise<AuditFinding[]> {
  const findings: AuditFinding[] = [];
  for (const key of KEYS) {
    const { tenures, lost } = await life.find(key);
    const isTruncated = lost.length > 0 || life.audit.status.completeAfter > 0;
    findings.push({ key, tokens: tokensOf(tenures), isTruncated });
  }
  return findings;
}

describe("the audit of a node whose store was damaged", () => {
  test("has everything while nothing is damaged", async () => {
    const reader = new Reader();
    const { findings } = await reader.ask({
      ...{ path: await copyOf(sound), snapshotIndex: LAST, last: LAST, keys: KEYS },
    });
    reader.end();
    for (const finding of findings ?? []) demandHonesty(finding);
    expect(findings?.[0]).toEqual({ key: "a", tokens: descending(LAST, 1), isTruncated: false });
  });

  test.each([
    ["that a snapshot covers", LAST],
    ["that the log still has", 0],
  ])("says what is missing, of entries %s", async (_of, snapshotIndex) => {
    const reader = new Reader();
    const files = await filesOf(sound);
    const bytesTotal = files.reduce((sum, [, bytes]) => sum + bytes, 0);
    let lostCount = 0;
    const place = fc.record({
      byte: fc.integer({ min: 0, max: bytesTotal - 1 }),
      bit: fc.integer({ min: 0, max: 7 }),
    });
    await fc.assert(
      fc.asyncProperty(place, async ({ byte, bit }) => {
        const path = await copyOf(sound);
        await flip(path, files, byte, bit);
        const { findings } = await reader.ask({ path, snapshotIndex, last: LAST, keys: KEYS });
        for (const finding of findings ?? []) demandHonesty(finding);
        if (findings?.some(({ isTruncated }) => isTruncated) === true) lostCount += 1;
        await rm(path, { recursive: true });
      }),
      { numRuns: RUNS },
    );
    reader.end();
    // Else the damage did not reach what this is about.
    if (snapshotIndex > 0) expect(lostCount).toBeGreaterThan(0);
    expect(reader.abortsTotal).toBeLessThan(RUNS / 2);
  });
});

async function flip(
  path: string,
  files: readonly (readonly [name: string, bytes: number])[],
  byte: number,
  bit: number,
): Promise<void> {
  let at = byte;
  for (const [name, bytes] of files) {
    if (at < bytes) {
      const content = await readFile(join(path, name));
      content[at] = (content[at] as number) ^ (1 << bit);
      return writeFile(join(path, name), content);
    }
    at -= bytes;
  }
}

describe("records of the audit that vanish one by one", () => {
  /** Any record, any part of what says where they are, the mark, several at once. */
  test("are missed, whatever else vanishes with them", async () => {
    const disk = new MemoryStoreDisk();
    const first = await Life.start(async () => disk.open());
    await endTenures(first, 1, LAST);
    await first.stop();
    const names = [...disk.values.keys()].sort();
    const some = fc.uniqueArray(fc.constantFrom(...names), { minLength: 1, maxLength: 5 });
    await fc.assert(
      fc.asyncProperty(some, fc.boolean(), async (chosen, isAltered) => {
        const copy = disk.copy();
        for (const name of chosen) {
          if (isAltered) copy.damage(name, 3);
          else copy.values.delete(name);
        }
        const life = await Life.start(async () => copy.open(), { snapshotIndex: LAST });
        await life.settle();
        for (const finding of await findingsIn(life)) demandHonesty(finding);
        await life.stop();
        // What was found missing stays so, and the rest is there, for the next life as well.
        const next = await Life.start(async () => copy.open(), { snapshotIndex: LAST });
        next.apply(LAST + 1, LAST + 2);
        await next.settle();
        const [all] = await findingsIn(next);
        expect(all?.tokens.slice(0, 2)).toEqual([LAST + 2, LAST + 1]);
        expect(all?.tokens.length === LAST + 2 || all?.isTruncated).toBe(true);
        await next.stop();
      }),
      { numRuns: 40 },
    );
  });

  test("are reported with their number and the revisions around them", async () => {
    const disk = new MemoryStoreDisk();
    const first = await Life.start(async () => disk.open());
    await endTenures(first, 1, 10);
    await first.stop();
    const records = [...disk.values.keys()].filter((name) => name.startsWith("33")).sort();
    // The row with the most records is the row of "a".
    const ofA = records.filter((name) => name.slice(2, 6) === rowWithMost(records));
    for (const name of ofA.slice(3, 6)) disk.values.delete(name);
    const life = await Life.start(async () => disk.open(), { snapshotIndex: 10 });
    const { tenures, lost } = await life.find("a");
    expect(tokensOf(tenures)).toEqual([10, 9, 8, 7, 3, 2, 1]);
    expect(lost).toEqual([
      { count: 3, after: { index: 3, number: 1 }, before: { index: 7, number: 1 } },
    ]);
    expect(life.audit.status.lostTotal).toBe(3);
    expect(life.story).toEqual(["error: the audit has lost records: its store is damaged"]);
    // One that asks only for what is newer is not told of it.
    expect((await life.find("a", 2)).lost).toEqual([]);
    await life.stop();
  });
});

function rowWithMost(records: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const name of records) {
    const row = name.slice(2, 6);
    counts.set(row, (counts.get(row) ?? 0) + 1);
  }
  return [...counts].sort(([, a], [, b]) => b - a)[0]?.[0] ?? "";
}
