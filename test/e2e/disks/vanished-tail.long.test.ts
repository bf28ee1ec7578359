/**
 * A disk that loses what it reported as synced: acknowledged entries vanish from the end of the log
 * while the node is down. Even under continuous load the durable mark follows closely enough that
 * such a loss is distinguished from an interrupted write. Real processes, real files.
 */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { connect } from "../../../src/index.js";
import { type Mark, readMark } from "../../../src/storage/mark/mark-file.js";
import { nodeFileSystem } from "../../../src/storage/node-file-system.js";
import { startCluster } from "../world/cluster-process.js";
import { until } from "../world/process-life.js";

/** Together they leave no pause in which the log would rest. */
const WORKERS = 8;

/** Where the record after the one with this sequence begins; a record begins with the salt. */
function endOfRecord(segment: Buffer, seq: number): number {
  const salt = segment.subarray(0, 8);
  for (let at = 0; at >= 0; at = segment.indexOf(salt, at + 1)) {
    if (Number(segment.readBigUInt64LE(at + 8)) > seq) return at;
  }
  throw new Error(`no record after sequence ${seq}`);
}

test("acknowledged entries that vanished from the end of a busy log are recognised as damage", async () => {
  await using cluster = await startCluster({ nodes: 1 });
  const node = cluster.node(1);
  const directory = join(cluster.directory, "n1");
  const mark = async (): Promise<Mark> => {
    const found = await readMark(nodeFileSystem, directory);
    if (found === undefined) throw new Error("the mark cannot be read");
    return found.mark;
  };
  await using client = await connect({ endpoints: cluster.endpoints, ttlMs: 120_000 });
  let isWorking = true;
  let released = 0;
  const work = Array.from({ length: WORKERS }, async (_, worker) => {
    while (isWorking) {
      await (await client.acquire(`work/${worker}`)).release();
      released += 1;
    }
  });
  const ended = Promise.allSettled(work);
  await until("work to be under way", () => released > 100 * WORKERS);
  const first = await mark();
  await until("the mark to move while the log grows", async () => (await mark()).seq > first.seq);
  isWorking = false;
  await node.kill();
  await client.close();
  await ended;

  const path = join(directory, "log", `${String(first.lastSegment).padStart(8, "0")}.seg`);
  const segment = await readFile(path);
  segment.fill(0, endOfRecord(segment, first.seq));
  await writeFile(path, segment);
  await node.start();
  expect(await node.status()).toMatchObject({
    role: "quarantined",
    damage: { file: path, reason: expect.stringMatching(/below the durable mark/) },
  });
});
