/**
 * How a cluster begins: with nothing, or with what survives of another one that was saved to a file
 * (docs/operating/snapshots.md). What is in the file must be what the log of the other one says up to its
 * index, and what is made of it what the naive model makes of that; the laws of locks carry over what
 * is promised: cooldowns, limits, settings, and that no token is given twice.
 */
import { type RefoundOptions, TableRestore } from "../../../src/lockfsm/index.js";
import type { RestoredNode } from "../../../src/server/index.js";
import { SnapshotFileReader } from "../../../src/storage/index.js";
import { foundersOf } from "../world/founders.js";
import type { Speakers } from "./access/speakers.js";
import { canonicalTextOf } from "./canonical-text.js";
import type { RaftChecks, RaftFounding } from "./consensus/raft-checks.js";
import { type Beginning, emptyBeginning, Witness, type WitnessEvents } from "./hearing/witness.js";
import type { Fail } from "./violation.js";

export interface Founding extends RaftFounding {
  /** 32 hex digits. */
  readonly clusterId: string;
  readonly beginning: Beginning;
}

/** A cluster that was saved: all that is known of it. */
export interface SavedCluster {
  readonly founding: Founding;
  readonly raft: RaftChecks;
  readonly witness: Witness;
}

/** A cluster that is restored, as its operator wants it. */
export interface Restored {
  readonly node: RestoredNode;
  readonly file: Uint8Array;
  /** Nodes 1 to this number found it. */
  readonly nodeCount: number;
  readonly quietMs: number;
  readonly tokenFloor: number;
}

const NOTHING: WitnessEvents = {
  onAnswered: () => {},
  onSessionEnded: () => {},
  onLost: () => {},
  onExecuted: () => {},
  onResult: () => {},
  onGivenUp: () => {},
};

/** The founding of a new cluster. */
export function newFounding(
  clusterId: string,
  nodeCount: number,
  speakers: Speakers | undefined,
): Founding {
  const start = { index: 0, term: 0, stamp: 0 };
  const beginning = emptyBeginning(speakers);
  return { clusterId, founders: foundersOf(nodeCount), ...start, beginning };
}

/** `keys`: those that clients use. */
export async function restoredFounding(
  old: SavedCluster,
  restored: Restored,
  keys: readonly string[],
  fail: Fail,
): Promise<Founding> {
  const { node, nodeCount, quietMs, tokenFloor } = restored;
  const { contents, clusterId, index } = node;
  const complain = (what: string): void => fail("what survives a restore", what);
  if (contents.clusterId !== old.founding.clusterId || clusterId === contents.clusterId) {
    complain(`cluster ${clusterId} is restored from ${contents.clusterId}`);
  }
  if (index <= old.raft.committedIndex) {
    complain(`it begins at ${index}, the one before came to ${old.raft.committedIndex}`);
  }
  const saved = replayed(old, contents.index, keys);
  if (contents.index > old.raft.committedIndex) complain(`${contents.index} was not committed`);
  if ((await hashIn(restored.file)) !== saved.table.hash()) {
    complain(`the file is not what the log says of entry ${contents.index}`);
  }
  const savedWallMs = Math.max(1, contents.savedWallMs);
  const options = { index, quietMs, tokenFloor, savedWallMs };
  const newest = Math.max(old.witness.laws.newestToken, old.witness.table.nextToken - 1);
  const beginning = survivors(saved, options, newest);
  const difference = differenceOf(beginning, keys);
  if (difference !== undefined) complain(difference);
  const [before, after] = [saved.table, beginning.table].map((table) =>
    canonicalTextOf(table.settings()),
  );
  if (before !== after) complain(`the settings are ${after}, and were ${before}`);
  const rights = beginning.access.reckoning.differenceFrom(beginning.table);
  if (rights !== undefined) complain(rights);
  const { stamp } = saved.laws;
  const start = { index, term: contents.term, stamp };
  return { clusterId, founders: foundersOf(nodeCount), ...start, beginning };
}

/** The log of a cluster up to an index, executed once more. */
function replayed(
  { raft, founding }: SavedCluster,
  index: number,
  keys: readonly string[],
): Witness {
  if (founding.index > 0) throw new Error("a cluster that was restored is not restored again");
  const witness = new Witness(keys, false, NOTHING, emptyBeginning());
  for (const entry of raft.committedUpTo(index)) witness.apply(entry);
  return witness;
}

function survivors(saved: Beginning, options: RefoundOptions, newestToken: number): Beginning {
  return {
    table: saved.table.refounded(options),
    model: saved.model.refounded(options),
    laws: saved.laws.outlived(options.quietMs, newestToken),
    access: saved.access.outlived(options.index),
  };
}

/** Between what the table and the model make of a file. */
function differenceOf({ table, model }: Beginning, keys: readonly string[]): string | undefined {
  const [counted, right] = [table, model].map((one) => {
    const { sessions, holds, waiters, cooldowns } = one.counts();
    return canonicalTextOf({ sessions, holds, waiters, cooldowns, keys: one.counts().keys });
  });
  if (counted !== right) return `the table has ${counted}, the model ${right}`;
  for (const key of keys) {
    const [shown, due] = [table.inspect(key), model.inspect(key)].map(canonicalTextOf);
    if (shown !== due) return `the table shows ${shown}, the model ${due}`;
  }
  return undefined;
}

async function hashIn(file: Uint8Array): Promise<string> {
  const source = (async function* () {
    yield file;
  })();
  const reader = new SnapshotFileReader(source);
  await reader.begin();
  const restore = new TableRestore();
  for await (const chunk of reader.chunks()) restore.add(chunk);
  const finishing = restore.finish();
  for (;;) {
    const step = finishing.next();
    if (step.done === true) return step.value.hash();
  }
}
