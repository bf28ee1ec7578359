/** What becomes of a node that cannot remember whom it met. */
import { expect, test } from "vitest";
import { HoldfastError } from "../../src/errors.js";
import { PeerNotes } from "../../src/server/peer-notes.js";

const IDENTITY = {
  ...{ nodeId: 2, clusterId: "c".repeat(32), birth: "b".repeat(16), origin: "initial" as const },
  ...{ incarnation: 1, advertise: "ws://b:1" },
};

/** A disk that fails as it is told to, and everything that is reported. */
class Disk {
  readonly noted: string[] = [];
  readonly reports: unknown[] = [];
  failure: Error | undefined;
  readonly notes = new PeerNotes(
    {
      notePeer: async ({ nodeId, incarnation }) => {
        if (this.failure !== undefined) throw this.failure;
        this.noted.push(`${nodeId}: ${incarnation}`);
      },
    },
    (level, event, fields) => this.reports.push([level, event, fields]),
    (failure) => this.reports.push(failure),
  );
}

/** Everything that was begun has ended. */
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test("a disk without room is a warning, in the words of the store or of the system", async () => {
  const disk = new Disk();
  disk.failure = new HoldfastError("DISK_FULL", "no room for the store");
  disk.notes.add(IDENTITY);
  await settled();
  disk.failure = Object.assign(new Error("ENOSPC: write"), { code: "ENOSPC" });
  disk.notes.add(IDENTITY);
  await settled();
  expect(disk.reports).toEqual([
    ["warn", "peer not noted", { peer: 2, error: "no room for the store" }],
    ["warn", "peer not noted", { peer: 2, error: "ENOSPC: write" }],
  ]);
});

test("and what there was no room for is noted when there is, once, in its last state", async () => {
  const disk = new Disk();
  disk.failure = new HoldfastError("DISK_FULL", "no room for the store");
  disk.notes.add(IDENTITY);
  disk.notes.add({ ...IDENTITY, incarnation: 2 });
  disk.notes.add({ ...IDENTITY, nodeId: 3 });
  await settled();
  disk.notes.retry();
  await settled();
  expect(disk.noted).toEqual([]);
  disk.failure = undefined;
  disk.notes.retry();
  await settled();
  disk.notes.retry();
  await settled();
  expect(disk.noted).toEqual(["2: 2", "3: 1"]);
});

test("everything else is the end of the node", async () => {
  const disk = new Disk();
  disk.failure = Object.assign(new Error("EIO: write"), { code: "EIO" });
  disk.notes.add(IDENTITY);
  await settled();
  expect(disk.reports).toEqual([disk.failure]);
});
