/**
 * A snapshot of a cluster, fetched chunk by chunk. Its description comes first; then a few chunks
 * at a time are requested over one connection, ahead of the reader. Only the node that made the
 * snapshot has it, so if that node is lost, the whole snapshot must be requested again.
 */
import { HoldfastError } from "../../errors/index.js";
import { OP, type SnapshotView } from "../../protocol/index.js";
import type { AdminConnection } from "./admin-connection.js";

/** Chunks that were requested and not read yet: usually half a megabyte. */
const CHUNKS_AHEAD_MAX = 8;

/** What `Admin.snapshot` resolves to. */
export interface ClusterSnapshot {
  /** 32 hex digits. */
  readonly clusterId: string;
  /** The node that has the snapshot. */
  readonly nodeId: number;
  /** The last entry of the log whose effects the snapshot contains. */
  readonly index: number;
  readonly term: number;
  /** SHA-256 over the chunks, the configuration and the fields of this object; 64 hex digits. */
  readonly checksum: string;
  readonly chunkCount: number;
  /** Size of all chunks together, in bytes. */
  readonly byteLength: number;
  /** The members of the cluster, as nodes write them to disk; in hex digits. */
  readonly configuration: string;
  /** Wall clock of the node when the snapshot was complete, in milliseconds since 1970. */
  readonly wallMs: number;
  /** Version of Holdfast that the node runs. */
  readonly version: string;
  /**
   * The chunks in order. Rejects with `COMPACTED` when the node no longer has the snapshot or was
   * lost: then request a new snapshot. Call this once. The connection is kept until all chunks were
   * read, or until the iteration or the `Admin` ends.
   */
  chunks(): AsyncIterable<Uint8Array>;
}

type Asked = Pick<AdminConnection, "ask" | "keep" | "clusterId">;

/** Waits until a node has a snapshot, and reads its description. */
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
        throw new HoldfastError("PROTOCOL", "the node's answer is not a snapshot");
      }
      // A node answers at once when it has the snapshot, otherwise after a while: no pause is
      // needed.
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
        // A failure of an earlier chunk is thrown first; then this one is never awaited.
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
    // Not base64: refused below.
  }
  throw new HoldfastError("PROTOCOL", "the node's answer is not a chunk");
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
