/**
 * A snapshot of a cluster on its way to whoever keeps it: what is to come is known first, and then it
 * is fetched chunk by chunk over one connection, a few ahead of who takes them. A node that is lost
 * on the way has it alone: then all of it is to be asked for again.
 */
import { HoldfastError } from "../../errors.js";
import { OP, type SnapshotView } from "../../protocol/index.js";
import type { AdminConnection } from "./admin-connection.js";

/** Chunks asked for and not taken yet: half a megabyte, mostly. */
const CHUNKS_AHEAD_MAX = 8;

/** What `Admin.snapshot` resolves to. */
export interface ClusterSnapshot {
  /** 32 hex digits. */
  readonly clusterId: string;
  /** The node that has it. */
  readonly nodeId: number;
  /** The last entry of the log whose effects it holds. */
  readonly index: number;
  readonly term: number;
  /** SHA-256 over chunks, configuration and what is said here of them; 64 hex digits. */
  readonly checksum: string;
  readonly chunkCount: number;
  /** Of all chunks together. */
  readonly byteLength: number;
  /** Who belonged to the cluster, as its nodes write it down; in hex digits. */
  readonly configuration: string;
  /** Wall clock of the node when the snapshot was there, in milliseconds. */
  readonly wallMs: number;
  /** Of the node. */
  readonly version: string;
  /**
   * The chunks in their order. Rejects with `COMPACTED` when the node does not have it any more, or
   * was lost: then the snapshot is to be asked for anew. To be called once; until all were taken, or
   * the iteration or the `Admin` ended, the connection is kept.
   */
  chunks(): AsyncIterable<Uint8Array>;
}

type Asked = Pick<AdminConnection, "ask" | "keep" | "clusterId">;

/** Waits until a node has one, and knows what it is. */
export async function askForSnapshot(
  connection: Asked,
  isStale: boolean,
  signal: AbortSignal | undefined,
): Promise<ClusterSnapshot> {
  const letGo = connection.keep();
  try {
    for (;;) {
      const view = await connection.ask({ op: OP.saveSnapshot, isStale }, signal);
      if (!isSnapshotView(view)) {
        throw new HoldfastError("PROTOCOL", "the node answered something else than a snapshot");
      }
      // A node answers at once when it is there, and else after a while: no pause is needed.
      if (!view.isReady) continue;
      const { isReady: _, ...rest } = view;
      const chunks = (): AsyncIterable<Uint8Array> => fetchChunks(connection, view, letGo, signal);
      return { clusterId: connection.clusterId, ...rest, chunks };
    }
  } catch (error) {
    letGo();
    throw error;
  }
}

async function* fetchChunks(
  connection: Asked,
  { checksum, chunkCount }: { readonly checksum: string; readonly chunkCount: number },
  letGo: () => void,
  signal: AbortSignal | undefined,
): AsyncGenerator<Uint8Array, void, void> {
  const asked: Promise<unknown>[] = [];
  try {
    for (let taken = 0; taken < chunkCount; taken += 1) {
      while (asked.length < CHUNKS_AHEAD_MAX && taken + asked.length < chunkCount) {
        const chunk = taken + asked.length;
        const answer = connection.ask({ op: OP.readSnapshot, checksum, chunk }, signal);
        // The failure of one before it is thrown first, and then nobody waits for this one.
        answer.catch(() => undefined);
        asked.push(answer);
      }
      yield bytesIn(await asked.shift());
    }
  } finally {
    letGo();
  }
}

function bytesIn(payload: unknown): Uint8Array {
  const text = (payload as { readonly bytes?: unknown } | null)?.bytes;
  try {
    if (typeof text === "string") return Uint8Array.from(atob(text), (one) => one.charCodeAt(0));
  } catch {
    // No base64: refused below.
  }
  throw new HoldfastError("PROTOCOL", "the node answered something else than a chunk");
}

const NUMBERS = ["nodeId", "index", "term", "chunkCount", "byteLength", "wallMs"] as const;

function isSnapshotView(payload: unknown): payload is SnapshotView {
  if (typeof payload !== "object" || payload === null) return false;
  const view = payload as Record<string, unknown>;
  if (view["isReady"] === false) return true;
  if (view["isReady"] !== true) return false;
  const { checksum, configuration, version } = view;
  return (
    NUMBERS.every((name) => Number.isSafeInteger(view[name]) && (view[name] as number) >= 0) &&
    typeof checksum === "string" &&
    /^[0-9a-f]{64}$/.test(checksum) &&
    typeof configuration === "string" &&
    /^([0-9a-f]{2})*$/.test(configuration) &&
    typeof version === "string"
  );
}
