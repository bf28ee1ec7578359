/**
 * Snapshots that the nodes of a `TableServer` give to operators. Each has the state of the one
 * table when it was requested, and can be read only on the connection that requested it.
 */
import { ERROR_NUMBERS, type ErrorNumber } from "../../../src/errors/index.js";
import type { LockTable } from "../../../src/lockfsm/index.js";
import { type NodeOperation, OP, type SnapshotView, STATUS } from "../../../src/protocol/index.js";
import { SnapshotDigest } from "../../../src/storage/index.js";
import type { ServerConnection } from "./server-connection.js";

const CHUNK_BYTES = 60;

interface Answered {
  readonly status: typeof STATUS.ok | ErrorNumber;
  readonly payload: unknown;
}

interface Saved {
  readonly view: SnapshotView & { readonly isReady: true };
  readonly chunks: readonly Uint8Array[];
}

export class TableSnapshots {
  readonly #table: LockTable;
  readonly #saved = new Map<ServerConnection, Saved>();
  readonly #questions = new Map<ServerConnection, number>();
  /** How many questions are answered with "not yet". */
  questionsInVain = 2;
  /** Said instead of what is true. */
  falsehood: unknown = undefined;

  constructor(table: LockTable) {
    this.#table = table;
  }

  carryOut(connection: ServerConnection, operation: NodeOperation, nowMs: number): Answered {
    if (this.falsehood !== undefined) return { status: STATUS.ok, payload: this.falsehood };
    if (operation.op === OP.saveSnapshot) return this.#save(connection, nowMs);
    if (operation.op === OP.logLevel) {
      const payload = { message: "the log of this node has no levels" };
      return { status: ERROR_NUMBERS.INVALID_ARGUMENT, payload };
    }
    const saved = this.#saved.get(connection);
    if (saved?.view.checksum !== operation.checksum) {
      return { status: ERROR_NUMBERS.COMPACTED, payload: { message: "it is gone: begin again" } };
    }
    const chunk = saved.chunks[operation.chunk] as Uint8Array;
    const bytes = Buffer.from(chunk).toString("base64");
    return { status: STATUS.ok, payload: { bytes } };
  }

  #save(connection: ServerConnection, nowMs: number): Answered {
    const asked = (this.#questions.get(connection) ?? 0) + 1;
    this.#questions.set(connection, asked);
    if (asked <= this.questionsInVain) return { status: STATUS.ok, payload: { isReady: false } };
    const chunks = [...this.#table.snapshot(CHUNK_BYTES)];
    const digest = new SnapshotDigest();
    for (const chunk of chunks) digest.add(chunk);
    const { index } = this.#table;
    const manifest = digest.manifestOf({ index, term: 3 }, Uint8Array.of(7));
    const { checksum, chunkCount, byteLength } = manifest;
    const counted = { checksum, index, term: 3, chunkCount, byteLength, configuration: "07" };
    const { nodeId } = connection;
    const wallMs = Math.floor(nowMs);
    const view = { isReady: true, nodeId, ...counted, wallMs, version: "0.1.0" } as const;
    this.#saved.set(connection, { view, chunks });
    return { status: STATUS.ok, payload: view };
  }
}
