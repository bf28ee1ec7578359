/**
 * From a table to a file, and from the file to the directories of a new cluster: what `inspect`
 * shows of a file, and what makes two nodes members of the same cluster.
 */
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { LockTable } from "../../../src/lockfsm/index.js";
import { BLOCK_HEAD_BYTES, MAGIC } from "../../../src/lockfsm/snapshot/format.js";
import { type Command, OP } from "../../../src/protocol/index.js";
import { MODEL_VERSION } from "../../../src/protocol/model-version.js";
import { encodeConfiguration } from "../../../src/raft/index.js";
import {
  inspectSnapshotFile,
  QUIET_MS_DEFAULT,
  type RestoreOptions,
  restoreSnapshotFile,
  type SnapshotSource,
  writeSnapshotFile,
} from "../../../src/server/offline/snapshot-files.js";
import { restoreAtBoot } from "../../../src/server/snapshots/restore-at-boot.js";
import { openDataDirectory, SnapshotDigest } from "../../../src/storage/index.js";
import { sealed } from "../../lockfsm/plans/snapshots.js";

const CLUSTER_ID = "ab".repeat(16);
const SAVED_MS = Date.UTC(2026, 10, 20, 22, 10);
const MEMBERS = [1, 2, 3].map((id) => ({ id, address: { host: `db-${id}`, port: 7511 } }));
const SEGMENT_BYTES = 16 << 20;

let place = "";
beforeEach(async () => {
  place = await mkdtemp(join(tmpdir(), "holdfast-files-"));
});
afterEach(() => rm(place, { recursive: true, force: true }));

/** A table with a session of `ttlMs` that holds as many locks. */
function tableWith(locks: number, ttlMs = 15_000, leaseMs?: number): LockTable {
  const table = new LockTable({ waitersMax: 50 });
  const said = { toSession: () => {}, attached: () => {} };
  let index = 0;
  const apply = (session: number, epoch: number, command: Command): void => {
    index += 1;
    const commands = [{ session, epoch, command }];
    table.apply({ index, stamp: 10_000, wallMs: SAVED_MS, commands }, said);
  };
  const nonce = "0123456789abcdef";
  apply(0, 0, { op: OP.open, nonce, attempt: 1, ttlMs, name: "a", metadata: "" });
  for (let sequence = 1; sequence <= locks; sequence += 1) {
    const items = [{ key: `key-${sequence}`, mode: "exclusive" as const }];
    const head = { sequence, mark: 1, acknowledged: [], task: sequence, waitMs: 0 };
    apply(1, 1, { op: OP.acquire, ...head, items, options: undefined });
  }
  if (leaseMs !== undefined) {
    const lease = { owner: nonce.repeat(2), request: nonce.repeat(2), name: "o", ttlMs: leaseMs };
    const items = [{ key: "leased", mode: "exclusive" as const }];
    const head = { sequence: locks + 1, mark: 1, acknowledged: [] };
    apply(1, 1, { op: OP.take, ...head, ...lease, isSplit: false, items, waitMs: 0 });
  }
  return table;
}

/** A table with one lease of a named owner; 0: without end. */
function tableWithLease(
  ttlMs: number,
  settings: ConstructorParameters<typeof LockTable>[0] = {},
): LockTable {
  const table = new LockTable(settings);
  const said = { toSession: () => {}, attached: () => {} };
  const head = { sequence: 1, mark: 1, acknowledged: [] };
  const [owner, request] = ["a".repeat(32), "b".repeat(32)];
  const commands: readonly Command[] = [
    { op: OP.open, nonce: "c".repeat(32), attempt: 1, ttlMs: 5_000, name: "", metadata: "" },
    {
      ...{ op: OP.take, ...head, owner, request, name: "", ttlMs, isSplit: false, waitMs: 0 },
      items: [{ key: "k", mode: "exclusive" }],
    },
  ];
  for (const [at, command] of commands.entries()) {
    const admitted = [{ session: at, epoch: at, command }];
    table.apply({ index: at + 1, stamp: 10_000, wallMs: SAVED_MS, commands: admitted }, said);
  }
  return table;
}

function offeredOf(chunks: readonly Uint8Array[], index = 4_711): SnapshotSource {
  const digest = new SnapshotDigest();
  for (const chunk of chunks) digest.add(chunk);
  const addresses = MEMBERS.map(({ id, address }) => ({ id, address: `${address.host}:7511` }));
  const members = { voters: [1, 2], outgoing: [], learners: [3], addresses };
  const manifest = digest.manifestOf({ index, term: 3 }, encodeConfiguration(members));
  return {
    ...manifest,
    configuration: Buffer.from(manifest.configuration).toString("hex"),
    ...{ clusterId: CLUSTER_ID, nodeId: 2, version: "0.1.0", wallMs: SAVED_MS },
    async *chunks() {
      yield* chunks;
    },
  };
}

function fileOf(table: LockTable): Promise<Buffer> {
  return writtenBy(offeredOf([...table.snapshot(1_000)], Math.max(4_711, table.index)));
}

async function writtenBy(offered: SnapshotSource): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  const progress: number[] = [];
  const bytes = await writeSnapshotFile(
    offered,
    async (part) => {
      parts.push(Uint8Array.from(part));
    },
    (done, of) => progress.push(done / of),
  );
  const file = Buffer.concat(parts);
  expect([bytes, progress.at(-1)]).toEqual([file.length, 1]);
  expect(progress).toEqual([...progress].sort((left, right) => left - right));
  return file;
}

async function* streamed(file: Buffer): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < file.length; at += 777) yield file.subarray(at, at + 777);
}

function optionsFor(id: number, changed: Partial<RestoreOptions> = {}): RestoreOptions {
  const dataDirectory = join(place, `n${id}`);
  const rest = { restoreId: "drill", quietMs: QUIET_MS_DEFAULT, tokenFloor: 0 };
  return { id, dataDirectory, initialCluster: MEMBERS, ...rest, ...changed };
}

/** What a node has that starts on such a directory. */
async function tableIn(path: string, nodeId: number, clusterId: string) {
  const options = { path, nodeId, clusterId, segmentBytes: SEGMENT_BYTES };
  const directory = await openDataDirectory(options);
  const [manifest] = await directory.snapshots.list();
  if (manifest === undefined) throw new Error("no snapshot");
  const table = new LockTable();
  await restoreAtBoot(directory.snapshots, manifest, table);
  const { boot } = directory.log;
  await directory.close();
  return { table, boot, manifest, clusterId: directory.identity.clusterId };
}

describe("inspecting", () => {
  test("shows what is in a file", async () => {
    const table = tableWith(20, 30_000);
    const contents = await inspectSnapshotFile(streamed(await fileOf(table)));
    expect(contents).toMatchObject({
      ...{ clusterId: CLUSTER_ID, nodeId: 2, version: "0.1.0", savedWallMs: SAVED_MS },
      ...{ index: 4_711, term: 3, stamp: 10_000, sessions: 1, holds: 20, waiters: 0, keys: 20 },
      ...{ leaseMsMax: 30_000, quietMs: 0, nextToken: table.nextToken },
      members: [
        { id: 1, role: "voter", address: "db-1:7511" },
        { id: 2, role: "voter", address: "db-2:7511" },
        { id: 3, role: "learner", address: "db-3:7511" },
      ],
    });
    expect(contents.settings.find(({ name }) => name === "waitersMax")?.value).toBe(50);
  });

  test("refuses a table of a later entry than the file is of, as does a restore", async () => {
    const file = await writtenBy(offeredOf([...tableWith(20).snapshot()], 20));
    const damaged = { code: "INVALID_ARGUMENT", details: { problem: "damaged" } };
    await expect(inspectSnapshotFile(streamed(file))).rejects.toMatchObject(damaged);
    await expect(restoreSnapshotFile(streamed(file), optionsFor(1))).rejects.toMatchObject(damaged);
    expect(await readdir(place)).toEqual([]);
    const whole = await writtenBy(offeredOf([...tableWith(20).snapshot()], 21));
    expect(await inspectSnapshotFile(streamed(whole))).toMatchObject({ index: 21 });
  });

  test("distinguishes a table of a later format from a damaged one", async () => {
    const [first, ...others] = tableWith(1).snapshot();
    const later = Uint8Array.from(first as Uint8Array);
    later[BLOCK_HEAD_BYTES + 1 + MAGIC.length] = MODEL_VERSION + 1;
    const file = await writtenBy(offeredOf([sealed(later, 0, 0), ...others]));
    await expect(inspectSnapshotFile(streamed(file))).rejects.toMatchObject({
      code: "INVALID_ARGUMENT",
      message: expect.stringContaining(`in format ${MODEL_VERSION + 1}`),
      details: { problem: "newerFormat" },
    });
    const half = await writtenBy(offeredOf([...tableWith(60).snapshot(200)].slice(0, 3)));
    await expect(inspectSnapshotFile(streamed(half))).rejects.toMatchObject({
      code: "INVALID_ARGUMENT",
      details: { problem: "damaged" },
    });
  });
});

describe("restoring", () => {
  test("makes nodes of one cluster that begin with the same table after the same entry", async () => {
    const file = await fileOf(tableWith(20));
    const made = [];
    for (const { id } of MEMBERS) {
      const restored = await restoreSnapshotFile(streamed(file), optionsFor(id));
      const begun = await tableIn(join(place, `n${id}`), id, restored.clusterId);
      made.push({ restored, begun });
    }
    const [first] = made;
    if (first === undefined) throw new Error("no node");
    const { clusterId, index, quietMs, tokenFloor } = first.restored;
    expect(clusterId).toMatch(/^[0-9a-f]{32}$/);
    expect(clusterId).not.toBe(CLUSTER_ID);
    expect([quietMs, index]).toEqual([660_000, 4_711 + 2 ** 40]);
    for (const { restored, begun } of made) {
      expect(restored).toMatchObject({ clusterId, index, quietMs, tokenFloor });
      expect(begun.table.hash()).toBe(first.begun.table.hash());
      expect(begun.manifest).toEqual(first.begun.manifest);
      expect(begun.boot).toMatchObject({ baseIndex: index, entries: [], hardState: { term: 3 } });
      expect(begun.table.counts()).toMatchObject({ sessions: 0, holds: 0, keys: 0 });
      expect(begun.table.quietMs).toBe(660_000);
      expect(begun.clusterId).toBe(clusterId);
    }
  });

  test("makes another cluster of anything else that is said, or of another file", async () => {
    const file = await fileOf(tableWith(3));
    const ids = new Set<string>();
    const restored = async (from: Buffer, changed: Partial<RestoreOptions> = {}) => {
      const dataDirectory = join(place, `c${ids.size}`);
      const options = optionsFor(1, { dataDirectory, ...changed });
      ids.add((await restoreSnapshotFile(streamed(from), options)).clusterId);
    };
    await restored(file);
    await restored(file, { restoreId: "another drill" });
    await restored(file, { quietMs: 30_000 });
    await restored(file, { quietMs: undefined });
    await restored(file, { tokenFloor: 8_900_000_000_000_000 });
    await restored(file, { initialCluster: MEMBERS.slice(0, 2) });
    const moved = MEMBERS.map((member) => ({
      ...member,
      address: { host: "new", port: member.id },
    }));
    await restored(file, { initialCluster: moved });
    await restored(await fileOf(tableWith(4)));
    expect(ids.size).toBe(8);
  });

  test("refuses what would let two hold one lock, or makes no sense, and touches nothing", async () => {
    const file = await fileOf(tableWith(3, 45_000));
    const refused: readonly (readonly [Partial<RestoreOptions>, RegExp])[] = [
      [{ quietMs: 44_999 }, /quietTime 44.999s is shorter than the lease of 45s that/],
      [{ id: 4 }, /id 4 is not in initialCluster \(1, 2, 3\)/],
      [{ restoreId: "" }, /restoreId has 0 characters/],
      [{ restoreId: "x".repeat(129) }, /restoreId has 129 characters/],
      [{ initialCluster: [] }, /initialCluster has 0 members/],
    ];
    for (const [changed, message] of refused) {
      const made = restoreSnapshotFile(streamed(file), optionsFor(1, changed));
      await expect(made).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
      await expect(made).rejects.toThrowError(message);
    }
    expect(await readdir(place)).toEqual([]);
    await restoreSnapshotFile(streamed(file), optionsFor(1, { quietMs: 45_000 }));
  });

  test("waits eleven minutes, whatever leases there may be, and closes the keys of longer ones", async () => {
    expect(QUIET_MS_DEFAULT).toBe(660_000);
    const options = (id: number) => optionsFor(id, { quietMs: "default" });
    // Without long leases nothing waits longer, although a lease may last for a day.
    const usual = await fileOf(tableWithLease(60_000));
    expect(await inspectSnapshotFile(streamed(usual))).toMatchObject({ leases: 1, holds: 1 });
    const none = { count: 0, longestMs: 0, closedMs: 0 };
    const first = await restoreSnapshotFile(streamed(usual), options(1));
    expect(first).toMatchObject({ quietMs: QUIET_MS_DEFAULT, longLeases: none });
    const file = await fileOf(tableWithLease(86_400_000));
    const made = await restoreSnapshotFile(streamed(file), options(2));
    const one = { count: 1, longestMs: 86_400_000, closedMs: 86_400_000 };
    expect(made).toMatchObject({ quietMs: QUIET_MS_DEFAULT, longLeases: one });
    const { table } = await tableIn(join(place, "n2"), 2, made.clusterId);
    expect(table.inspect("k").cooldowns).toMatchObject([{ endsInMs: 86_400_000 }]);
    const over = await restoreSnapshotFile(streamed(file), optionsFor(3, { quietMs: undefined }));
    expect(over).toMatchObject({ quietMs: 0, longLeases: none });
  });

  test("asks for a word about leases without end, which no quiet time outlasts", async () => {
    const file = await fileOf(tableWithLease(0, { endlessLeases: 1 }));
    expect(await inspectSnapshotFile(streamed(file))).toMatchObject({
      ...{ leases: 1, endlessLeases: 1 },
    });
    const refused = restoreSnapshotFile(streamed(file), optionsFor(1, { quietMs: undefined }));
    await expect(refused).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
    await expect(refused).rejects.toThrowError(/has 1 lease without end.*dropEndlessLeases/);
    const later = await fileOf(tableWithLease(1_000, { endlessLeases: 1 }));
    const unsure = restoreSnapshotFile(streamed(later), optionsFor(1));
    await expect(unsure).rejects.toThrowError(/may have granted some after the snapshot/);
    expect(await readdir(place)).toEqual([]);
    const restored = await restoreSnapshotFile(
      streamed(file),
      optionsFor(1, { dropEndlessLeases: true }),
    );
    const { table } = await tableIn(join(place, "n1"), 1, restored.clusterId);
    expect(table.counts()).toMatchObject({ holds: 0, leases: 0, endlessLeases: 0 });
  });

  test("makes nothing of a file that is not whole, whatever came before its end", async () => {
    const file = await fileOf(tableWith(50));
    for (const length of [0, 20, 400, file.length >> 1, file.length - 32, file.length - 1]) {
      const cut = restoreSnapshotFile(streamed(file.subarray(0, length)), optionsFor(1));
      await expect(cut).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
    }
    const altered = Buffer.from(file);
    altered[file.length - 1] = (altered[file.length - 1] ?? 0) ^ 0x80;
    await expect(restoreSnapshotFile(streamed(altered), optionsFor(1))).rejects.toMatchObject({
      details: { problem: "damaged" },
    });
    expect(await readdir(place)).toEqual([]);
  });

  test("goes on with the quiet time of what was restored itself and saved in it", async () => {
    const once = tableWith(3).refounded({
      ...{ index: 9_000, quietMs: 600_000, tokenFloor: 0, savedWallMs: SAVED_MS },
    });
    const file = await fileOf(once);
    const longer = await restoreSnapshotFile(streamed(file), optionsFor(1, { quietMs: 5_000 }));
    expect(longer.quietMs).toBe(600_000);
    const over = await restoreSnapshotFile(streamed(file), optionsFor(2, { quietMs: undefined }));
    expect(over.quietMs).toBe(0);
  });
});
