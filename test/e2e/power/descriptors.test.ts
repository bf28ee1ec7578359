/**
 * The files of a real log, as the kernel has them open: every one that is written has O_DSYNC. This
 * is independent of the tests that simulate a loss of power.
 */
import { mkdtemp, readdir, readFile, readlink, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import * as storage from "../../../src/storage/index.js";
import { CLUSTER_ID, entryOf, writeOf } from "../../storage/log/log-harness.js";
import { until } from "../world/process-life.js";
import { MutatedBuild, UNSYNCED_LOG } from "./mutated-build.js";

const IS_LINUX = process.platform === "linux";
if (!IS_LINUX) process.stderr.write("SKIPPED: the flags of descriptors are in Linux's /proc\n");

/** As `/proc/self/fdinfo` has them, the same on all machines that Node.js runs on. */
const O_ACCMODE = 0o3;
const O_DSYNC = 0o10000;

interface Written {
  readonly name: string;
  readonly isSynced: boolean;
}

/** The files below `directory` that this process has open for writing, the store's excepted. */
async function writtenBelow(directory: string): Promise<readonly Written[]> {
  const written: Written[] = [];
  for (const fd of await readdir("/proc/self/fd")) {
    // The descriptor by which they are listed is gone by now.
    const path = await readlink(`/proc/self/fd/${fd}`).catch(() => "");
    if (!path.startsWith(`${directory}/`) || path.startsWith(`${directory}/store/`)) continue;
    const [, octal = ""] = /^flags:\s*(\d+)$/m.exec(
      await readFile(`/proc/self/fdinfo/${fd}`, "utf8"),
    ) as RegExpExecArray;
    const flags = Number.parseInt(octal, 8);
    if ((flags & O_ACCMODE) === 0) continue;
    written.push({ name: path.slice(directory.length + 1), isSynced: (flags & O_DSYNC) !== 0 });
  }
  return written.sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** The descriptors of a log that was written to, so that the next segment is being made ready. */
async function writtenByLog({ openDataDirectory, SEGMENT_BYTES_MIN }: typeof storage) {
  const path = await realpath(await mkdtemp(join(tmpdir(), "holdfast-descriptors-")));
  onTestFinished(() => rm(path, { recursive: true }));
  const identity = { nodeId: 1, clusterId: CLUSTER_ID };
  const directory = await openDataDirectory({ path, ...identity, segmentBytes: SEGMENT_BYTES_MIN });
  try {
    const failures: Error[] = [];
    directory.log.start({ onDurable: () => undefined, onFailure: (error) => failures.push(error) });
    directory.log.append(writeOf(1, [entryOf(1, 1)]));
    let written: readonly Written[] = [];
    await until("the next segment to be made ready", async () => {
      written = await writtenBelow(path);
      return written.some(({ name }) => name === "log/next.tmp") || failures.length > 0;
    });
    expect(failures).toEqual([]);
    return written;
  } finally {
    await directory.close();
  }
}

const NAMES = ["log/00000001.seg", "log/next.tmp", "mark"];

describe.skipIf(!IS_LINUX)("the files that a log writes", () => {
  test("are all open so that a write is over when it is durable", async () => {
    expect(await writtenByLog(storage)).toEqual(NAMES.map((name) => ({ name, isSynced: true })));
  });

  test("are seen not to be with the bug that leaves O_DSYNC out", async () => {
    using build = await MutatedBuild.make(UNSYNCED_LOG);
    const mutant = (await import(build.storage)) as typeof storage;
    expect(await writtenByLog(mutant)).toEqual(NAMES.map((name) => ({ name, isSynced: false })));
  });
});
