/**
 * `holdfast snapshot save|inspect|restore`: saves the state of a cluster to a file, shows such a
 * file, and makes a new cluster from it. Only saving asks a running cluster.
 */
import { createReadStream } from "node:fs";
import { addAbortSignal } from "node:stream";
import type { Command } from "commander";
import { HoldfastError } from "../../../src/errors/index.js";
import type { ClusterSnapshot } from "../../../src/index.js";
import {
  clusterCommand,
  commandGroup,
  type Examples,
  isJson,
  jsonCommand,
  tell,
} from "../../cluster/cluster-command.js";
import { withAdmin } from "../../cluster/cluster-connections.js";
import { type ClusterAccess, clusterAccessFor } from "../../config/command-options.js";
import { Configuration } from "../../config/configuration.js";
import { addOptions } from "../../config/flags.js";
import type { Finish } from "../../exit/ending.js";
import { EXIT } from "../../exit/exit-codes.js";
import { Failure, systemCodeOf } from "../../exit/failure.js";
import { directoryFailure } from "../../exit/start-failure.js";
import { RESTORE_OPTIONS } from "../../options/option-table.js";
import { fileFailure } from "../../output/new-file.js";
import { ProgressLine } from "../../output/progress-line.js";
import { demandTarget, openTarget, STANDARD_STREAM } from "../../output/snapshot-output.js";
import { note, print, printJson } from "../../output/terminal.js";
import { untilStopped } from "../../run/until-stopped.js";
import { roughSize } from "../../text/sizes.js";
import {
  contentsDocument,
  contentsLines,
  restoredDocument,
  restoredLines,
  savedDocument,
  savedText,
} from "../../views/snapshot-view.js";

/** How often saving is attempted if the node that has the snapshot is lost. */
const ATTEMPTS_MAX = 3;
const FILE = "a snapshot; - is standard input";

const SAVE_EXAMPLES: Examples = [
  ["holdfast snapshot save locks.hfs", "everything that is committed now"],
  ["holdfast snapshot save - | ssh vault 'cat > locks.hfs'", "to another machine"],
  [
    "holdfast snapshot save --stale --endpoints db-2:7411 l.hfs",
    "from db-2, after a majority was lost",
  ],
];
const INSPECT_EXAMPLES: Examples = [
  ["holdfast snapshot inspect locks.hfs", "show its contents, and whether it is intact"],
];
const RESTORE_EXAMPLES: Examples = [
  [
    "holdfast snapshot restore locks.hfs --id 1 --data n1 \\\n" +
      "    --initial-cluster 1=db-1:7511,2=db-2:7511,3=db-3:7511 \\\n" +
      "    --restore-id after-the-fire",
    "on each node, with its own --id",
  ],
];
const EXAMPLES: Examples = [...SAVE_EXAMPLES.slice(0, 1), ...INSPECT_EXAMPLES, ...RESTORE_EXAMPLES];

const SAVE_NOTES = `
Any node can be asked; it takes a snapshot with everything that was committed
when the command began. The file appears when all of it is on the disk, or not
at all. Only its owner can read the file: it names the locks and sessions of the
cluster, but contains no secret of theirs.

For a cluster that has lost its majority: --stale asks one node for what it
knows, without the others. After a restart, such a node knows only its last
snapshot; stop it, and --data reads its whole log, committed or not.

Exit code 1 if the file exists or cannot be written, or the directory cannot be
used, 4 if no node answers or there is no leader, 5 if the node has no room for
a snapshot. The JSON document:
  {"file":"locks.hfs","bytes":48213,"clusterId":"…","nodeId":2,"index":4711,
   "term":3,"checksum":"…","savedAt":"2026-11-20T22:10:03.120Z"}`;

const INSPECT_NOTES = `
Reads the whole file and asks no cluster. Exit code 1 if it is damaged, cut off,
not a snapshot, or in a later format. The JSON document:
  {"file":"locks.hfs","clusterId":"…","nodeId":2,"version":"0.1.0",
   "savedAt":"…","index":4711,"term":3,"checksum":"…","bytes":48213,
   "members":[{"id":1,"role":"voter","address":"db-1:7511"}],"stamp":86400123,
   "sessions":12,"keys":9,"holds":9,"waiters":3,"cooldowns":0,
   "leases":0,"endlessLeases":0,"nextToken":3665513368518657,
   "longestLeaseMs":15000,"quietMs":0,
   "settings":{"waitersMax":100000},"isIntact":true}
index and term: of the last log entry that it contains. stamp: cluster time, in
milliseconds.`;

const RESTORE_NOTES = `
Makes the data directory of one node of a new cluster. Run it once for each
node, with the same file and the same options except --id and --data. These
survive: the settings of the cluster, the limits of semaphores that were set,
and the cooldowns of locks (--min-hold). Sessions, holds, waiters and leases
end. Fencing tokens continue above all that the old cluster can have given out.

The new cluster has another id: nodes and clients of the old one are refused.
First stop every node of the old cluster, and do not start it again: it would
keep renewing its leases. Clients that were cut off from it may rely on their
leases for up to ten more minutes, so no session is opened before --quiet-time
is over, counted from the first leader. Shorten it only to more than the longest
lease of any client; use --old-leases-are-over if the old cluster was stopped
longer ago than that. Longer leases of named owners (holdfast lease) that the
file holds let their keys cool down for as long as they may have been extended,
and do nothing else. Give a longer --quiet-time if the old cluster may have
granted such leases after the file was saved. If the old cluster allowed leases
without end, restore needs --drop-endless-leases: first make sure that nobody
relies on one.

Exit code 1 if the file or the directory cannot be used, 2 if the options are
wrong, for example if the directory is not empty. A restore that fails or is
interrupted leaves nothing. The JSON document:
  {"id":1,"data":"n1","clusterId":"…","from":"…","index":1099511632487,
   "quietMs":660000,"longLeases":0,"longLeasesClosedMs":0,
   "tokenFloor":3665694562480129,"start":["holdfast","server","--id=1",…]}
longLeases: leases of named owners whose keys cool down for longer than
quietMs.`;

export function defineSnapshot(command: Command, finish: Finish): void {
  commandGroup(command, EXAMPLES);
  defineSave(command, finish);
  defineInspect(command);
  defineRestore(command, finish);
}

function defineSave(parent: Command, finish: Finish): void {
  const command = parent.command("save").description("save the state of the cluster to a file");
  command
    .argument("<file>", "the file to write; - is standard output")
    .option("--force", "replace the file if it exists")
    .option("--stale", "save what one node knows, without asking the others")
    .option("--data <directory>", "read the data directory of a stopped node; asks no cluster");
  clusterCommand(command, { examples: SAVE_EXAMPLES, notes: SAVE_NOTES }).action(
    async (file: string) => {
      const flags = command.opts<SaveFlags>();
      demandTarget(file, flags.json === true);
      if (flags.data !== undefined && flags.stale === true) {
        throw new Failure(
          EXIT.usage,
          "--data and --stale exclude each other: --data is for a stopped node",
        );
      }
      const access = clusterAccessFor(command);
      finish(await untilStopped((signal) => save(access, file, flags, signal)));
    },
  );
}

function defineInspect(parent: Command): void {
  const command = parent.command("inspect").description("show the contents of a saved snapshot");
  command.argument("<file>", FILE);
  jsonCommand(command, { examples: INSPECT_EXAMPLES, notes: INSPECT_NOTES }).action(
    async (file: string) => {
      const { inspectSnapshotFile } = await import("../../../src/server/index.js");
      const contents = await reading(file, () => inspectSnapshotFile(bytesOf(file)));
      tell(command, contentsDocument(file, contents), contentsLines(contents, Date.now()));
    },
  );
}

function defineRestore(parent: Command, finish: Finish): void {
  const command = parent
    .command("restore")
    .description("make a node of a new cluster from a snapshot");
  command.argument("<file>", FILE);
  addOptions(command, RESTORE_OPTIONS);
  jsonCommand(command, { examples: RESTORE_EXAMPLES, notes: RESTORE_NOTES }).action(
    async (file: string) => {
      const flags = Configuration.of(command).settle(RESTORE_OPTIONS);
      if (flags.oldLeasesAreOver && flags.quietTime !== undefined) {
        throw new Failure(EXIT.usage, "--quiet-time and --old-leases-are-over exclude each other");
      }
      finish(await untilStopped((signal) => restore(file, flags, isJson(command), signal)));
    },
  );
}

interface SaveFlags {
  readonly json?: boolean;
  readonly force?: boolean;
  readonly stale?: boolean;
  readonly data?: string;
}

async function save(
  access: ClusterAccess,
  file: string,
  flags: SaveFlags,
  signal: AbortSignal,
): Promise<number> {
  const { snapshot, bytes } = await saved(access, file, flags, signal);
  if (flags.json === true) printJson(savedDocument(file, bytes, snapshot));
  else if (file !== STANDARD_STREAM) print(savedText(file, bytes, snapshot));
  else note(savedText("standard output", bytes, snapshot));
  return EXIT.done;
}

/** Waits until there is a snapshot. */
type Ask = () => Promise<ClusterSnapshot>;

interface Saved {
  readonly snapshot: ClusterSnapshot;
  readonly bytes: number;
}

async function saved(
  access: ClusterAccess,
  file: string,
  { data, stale, force }: SaveFlags,
  signal: AbortSignal,
): Promise<Saved> {
  const write = (ask: Ask): Promise<Saved> => saveFrom(ask, file, force === true, signal);
  if (data === undefined) {
    const options = { stale: stale === true, signal };
    return withAdmin(access, (admin) => write(() => admin.snapshot(options)), signal);
  }
  const { snapshotOfDirectory } = await import("../../../src/server/index.js");
  try {
    return await write(() => snapshotOfDirectory(data));
  } catch (error) {
    throw error instanceof Failure ? error : directoryFailure(error, data);
  }
}

/**
 * Only the node that made a snapshot has it; if that node is lost, another one is asked for its
 * own.
 */
async function saveFrom(
  ask: Ask,
  file: string,
  replaces: boolean,
  signal: AbortSignal,
): Promise<Saved> {
  for (let attempt = 1; ; attempt += 1) {
    // Before a node makes a snapshot.
    const target = await openTarget(file, replaces);
    const progress = new ProgressLine();
    try {
      show(progress, "waiting for a snapshot");
      const snapshot = await ask();
      const { writeSnapshotFile } = await import("../../../src/server/index.js");
      const write = (bytes: Uint8Array): Promise<void> => {
        signal.throwIfAborted();
        return target.write(bytes);
      };
      const bytes = await writeSnapshotFile(snapshot, write, (done, of) =>
        show(progress, `${roughSize(done)} of ${roughSize(of)}`),
      );
      await target.commit();
      return { snapshot, bytes };
    } catch (error) {
      const isLost = error instanceof HoldfastError && error.code === "COMPACTED";
      if (!isLost || attempt === ATTEMPTS_MAX || file === STANDARD_STREAM) throw error;
      progress.end();
      note("the node that had the snapshot was lost: starting again");
    } finally {
      progress.end();
      await target.discard();
    }
  }
}

/** A log does not need progress. */
function show(progress: ProgressLine, text: string): void {
  if (process.stderr.isTTY) progress.show(text);
}

interface RestoreFlags {
  readonly id: number;
  readonly data: string;
  readonly initialCluster: readonly { id: number; address: { host: string; port: number } }[];
  readonly restoreId: string;
  readonly quietTime: number | undefined;
  readonly oldLeasesAreOver: boolean;
  readonly dropEndlessLeases: boolean;
  readonly tokenFloor: number | undefined;
}

async function restore(
  file: string,
  flags: RestoreFlags,
  isJson: boolean,
  signal: AbortSignal,
): Promise<number> {
  const { id, data, initialCluster, restoreId, quietTime, oldLeasesAreOver, tokenFloor } = flags;
  const { dropEndlessLeases } = flags;
  const { restoreSnapshotFile } = await import("../../../src/server/index.js");
  const options = {
    ...{ id, dataDirectory: data, initialCluster, restoreId, signal },
    quietMs: oldLeasesAreOver ? undefined : (quietTime ?? ("default" as const)),
    dropEndlessLeases,
    tokenFloor: tokenFloor ?? 0,
  };
  const restored = await reading(
    file,
    () => restoreSnapshotFile(bytesOf(file, signal), options),
    data,
  );
  const plan = { id, data, initialCluster };
  if (isJson) printJson(restoredDocument(plan, restored));
  else for (const line of restoredLines(plan, restored, Date.now())) print(line);
  return EXIT.done;
}

/** Ends with an error when the signal is aborted, even while no bytes arrive. */
function bytesOf(file: string, signal?: AbortSignal): AsyncIterable<Uint8Array> {
  const stream = file === STANDARD_STREAM ? process.stdin : createReadStream(file);
  return signal === undefined ? stream : addAbortSignal(signal, stream);
}

/**
 * Reports an error in the file as one of the file, any other as one of the directory or the
 * options.
 */
async function reading<T>(file: string, work: () => Promise<T>, directory = ""): Promise<T> {
  const name = file === STANDARD_STREAM ? "standard input" : file;
  try {
    return await work();
  } catch (error) {
    if (error instanceof HoldfastError) {
      if (!("problem" in error.details)) throw directoryFailure(error, directory);
      throw new Failure(EXIT.failed, `${name}: ${error.message}`, { cause: error });
    }
    if (systemCodeOf(error) !== "") throw fileFailure("read", name, error);
    throw error;
  }
}
