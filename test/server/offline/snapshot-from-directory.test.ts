/** What a stopped node has, read without a cluster: its snapshot and all of its log. */
import { mkdtemp, readdir, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { LockTable, NOBODY } from "../../../src/lockfsm/index.js";
import {
  type Command,
  decodeCommands,
  OP,
  RECORD_HEADER_BYTES,
  withOrigin,
  writeRecord,
} from "../../../src/protocol/index.js";
import { decodeConfiguration, type Entry, encodeConfiguration } from "../../../src/raft/index.js";
import {
  inspectSnapshotFile,
  writeSnapshotFile,
} from "../../../src/server/offline/snapshot-files.js";
import { snapshotOfDirectory } from "../../../src/server/offline/snapshot-from-directory.js";
import { openDataDirectory } from "../../../src/storage/index.js";
import { encodeBatch, encodeCommand } from "../../protocol/command-bytes.js";

const IDENTITY = { nodeId: 3, clusterId: "c".repeat(32) };
const SEGMENT_BYTES = 16 << 20;
const WALL_MS = Date.UTC(2026, 10, 20);
const MEMBERS = {
  ...{ voters: [1, 2, 3], outgoing: [], learners: [] },
  addresses: [1, 2, 3].map((id) => ({ id, address: `db-${id}:7511` })),
};

let place = "";
beforeEach(async () => {
  place = await mkdtemp(join(tmpdir(), "holdfast-offline-"));
});
afterEach(() => rm(place, { recursive: true, force: true }));

function batch(stamp: number, session: number, epoch: number, command: Command): Uint8Array {
  const encoded = encodeCommand(command);
  const bytes = session === 0 ? withOrigin(encoded, { node: 1, address: "" }) : encoded;
  const record = new Uint8Array(RECORD_HEADER_BYTES + bytes.length);
  writeRecord(record, new DataView(record.buffer), 0, session, epoch, bytes);
  return encodeBatch(stamp, WALL_MS + stamp, 1, [record]);
}

/** A no-op, the members, a session, and as many locks of it; all of term 2. */
function entriesFor(locks: number): Entry[] {
  const nonce = "000102030405060708090a0b0c0d0e0f";
  const open = { op: OP.open, nonce, attempt: 1, ttlMs: 15_000, name: "a", metadata: "" } as const;
  const data = [
    { kind: "noop", data: new Uint8Array(0) },
    { kind: "configuration", data: encodeConfiguration(MEMBERS) },
    { kind: "command", data: batch(1_000, 0, 0, open) },
  ] as { kind: Entry["kind"]; data: Uint8Array }[];
  for (let sequence = 1; sequence <= locks; sequence += 1) {
    const items = [{ key: `key-${sequence}`, mode: "exclusive" as const }];
    const head = { sequence, mark: 1, acknowledged: [], task: sequence, waitMs: 0 };
    const acquire = { op: OP.acquire, ...head, items, options: undefined } as const;
    data.push({ kind: "command", data: batch(1_000 + sequence, 1, 1, acquire) });
  }
  return data.map((one, at) => ({ ...one, index: at + 1, term: 2 }));
}

function apply(table: LockTable, entries: readonly Entry[]): void {
  for (const { index, kind, data } of entries) {
    if (kind !== "command") continue;
    const stamp = new DataView(data.buffer, data.byteOffset).getUint32(5);
    const commands = decodeCommands(data, 21);
    table.apply({ index, stamp, wallMs: WALL_MS + stamp, commands }, NOBODY);
  }
}

/** A directory with the first `inSnapshot` entries in a snapshot, and the others in the log. */
async function directoryOf(entries: readonly Entry[], inSnapshot: number): Promise<string> {
  const path = join(place, "n3");
  const directory = await openDataDirectory({ path, ...IDENTITY, segmentBytes: SEGMENT_BYTES });
  const { log, snapshots } = directory;
  let durable = (): void => {};
  log.start({
    onDurable: () => durable(),
    onFailure: (error) => {
      throw error;
    },
  });
  const write = (seq: number, more: Partial<Parameters<typeof log.append>[0]>): Promise<void> => {
    const done = new Promise<void>((resolve) => {
      durable = resolve;
    });
    const hardState = { term: 2, vote: 0 };
    const nothing = { truncateFrom: undefined, snapshot: undefined, entries: [] };
    if (log.append({ seq, hardState, ...nothing, ...more })) durable();
    return done;
  };
  await write(1, { entries });
  if (inSnapshot > 0) {
    const table = new LockTable();
    apply(table, entries.slice(0, inSnapshot));
    const writer = await snapshots.create({ index: inSnapshot, term: 2 });
    for (const chunk of table.snapshot(500)) await writer.append(chunk);
    const { checksum } = await writer.finish(encodeConfiguration(MEMBERS));
    const named = { index: inSnapshot, term: 2, checksum, isReset: false };
    // A window before it stays in the log.
    await write(2, { snapshot: { ...named, keepFrom: 2 } });
  }
  await directory.close();
  return path;
}

async function contentsOf(path: string) {
  const parts: Uint8Array[] = [];
  await writeSnapshotFile(
    await snapshotOfDirectory(path),
    async (part) => {
      parts.push(Uint8Array.from(part));
    },
    () => {},
  );
  async function* read(): AsyncGenerator<Uint8Array> {
    yield* parts;
  }
  return inspectSnapshotFile(read());
}

describe("the snapshot of a stopped node", () => {
  test.each([0, 1, 20, 53])("has all of its log, %d entries of it by a snapshot", async (count) => {
    const entries = entriesFor(50);
    const path = await directoryOf(entries, count);
    const table = new LockTable();
    apply(table, entries);
    const contents = await contentsOf(path);
    expect(contents).toMatchObject({
      ...{ clusterId: IDENTITY.clusterId, nodeId: 3, index: 53, term: 2 },
      ...{ sessions: 1, holds: 50, nextToken: table.nextToken, stamp: table.stamp },
    });
    expect(contents.members.map(({ id }) => id)).toEqual([1, 2, 3]);
    // When the cluster was last known to count tokens.
    if (count < 53) expect(contents.savedWallMs).toBe(WALL_MS + 1_050);
    const offered = await snapshotOfDirectory(path);
    expect(decodeConfiguration(Buffer.from(offered.configuration, "hex"))).toEqual(MEMBERS);
    // It can be read again, and the node can start: nothing was changed.
    expect((await contentsOf(path)).checksum).toBe(contents.checksum);
  });

  test("is told to be impossible where there is none, and nothing is made there", async () => {
    const missing = join(place, "none");
    await expect(snapshotOfDirectory(missing)).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
    expect(await readdir(place)).toEqual([]);
    const path = join(place, "n3");
    const options = { path, ...IDENTITY, segmentBytes: SEGMENT_BYTES };
    const fresh = await openDataDirectory(options);
    await expect(snapshotOfDirectory(path)).rejects.toMatchObject({
      code: "UNAVAILABLE",
      message: expect.stringContaining("in use by another process"),
    });
    await fresh.close();
    await expect(snapshotOfDirectory(path)).rejects.toMatchObject({
      code: "INVALID_ARGUMENT",
      message: expect.stringContaining("nothing was ever written"),
    });
  });

  test("is not made of damaged data", async () => {
    const path = await directoryOf(entriesFor(50), 0);
    const [segment] = await readdir(join(path, "log"));
    const file = join(path, "log", segment as string);
    const { size } = await stat(file);
    await writeFile(file, Buffer.alloc(size));
    await expect(snapshotOfDirectory(path)).rejects.toMatchObject({
      code: "UNAVAILABLE",
      message: expect.stringContaining("the data are damaged"),
    });
  });
});
