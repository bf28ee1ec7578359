/**
 * Snapshots for operators: each contains everything that was committed when it was asked for, is
 * taken like any other snapshot of this node, and is read by its client one chunk at a time. A
 * client gets an answer soon, whether the snapshot is ready or not, and asks again; one that stops
 * asking is forgotten, so that nothing is kept for it. Nothing is read ahead: the client sets the
 * pace.
 */
import { ERROR_NUMBERS, type ErrorNumber } from "../../errors/index.js";
import {
  MESSAGE,
  type OperationFailure,
  type ReadSnapshotOperation,
  type SaveSnapshotOperation,
  type SnapshotChunkView,
  type SnapshotView,
  STATUS,
} from "../../protocol/index.js";
import type { NodeId } from "../../raft/index.js";
import { isOutOfSpace, type SnapshotManifest, type SnapshotStore } from "../../storage/index.js";
import type { Attachment } from "../commands/attachments.js";
import type { Clock } from "../ports.js";
import { VERSION } from "../version.js";
import type { StoreCalls } from "./store-calls.js";

/** Clients that may export from one node at a time; each keeps a snapshot on the disk. */
const EXPORTS_MAX = 4;
/** Chunks that one of them may wait for. */
const CHUNKS_ASKED_MAX = 32;
/** Election timeouts after which a client that asks for nothing is forgotten. */
const IDLE_TIMEOUTS = 500;
/** Election timeouts after which a client that waits for a snapshot is answered "not yet". */
const PATIENCE_TIMEOUTS = 1;

export interface ExporterParts {
  readonly nodeId: NodeId;
  readonly store: SnapshotStore;
  readonly clock: Clock;
  readonly electionTimeoutMs: number;
  /** The newest complete snapshot of this node. */
  readonly newest: () => SnapshotManifest | undefined;
  /** The last entry that was applied since the start; 0 if none was. */
  readonly appliedIndex: () => number;
  /** A snapshot in the store may have become garbage. */
  readonly onGarbage: () => void;
  /** A snapshot of that entry is ready for the client. */
  readonly onSaved: (attachment: Attachment, index: number) => void;
}

interface Export {
  readonly attachment: Attachment;
  /** The snapshot must have the effects of everything up to here. */
  indexMin: number;
  /** The request that waits for an answer; 0: none. */
  question: number;
  answerAtMs: number;
  /** The snapshot that is being read; `undefined` while there is none. */
  manifest: SnapshotManifest | undefined;
  chunksAsked: number;
  forgetAtMs: number;
}

const NEVER = Number.POSITIVE_INFINITY;

export class SnapshotExporter {
  readonly #parts: ExporterParts;
  readonly #calls: StoreCalls;
  #exports: Export[] = [];
  #exportedTotal = 0;
  /** A request came that `work` has not seen. */
  #hasNews = false;

  constructor(parts: ExporterParts, calls: StoreCalls) {
    this.#parts = parts;
    this.#calls = calls;
  }

  get exportedTotal(): number {
    return this.#exportedTotal;
  }

  get hasWork(): boolean {
    return this.#hasNews;
  }

  /** A snapshot of this index or a later one is waited for; −1: none. */
  get wantedIndex(): number {
    let wanted = -1;
    for (const { manifest, indexMin } of this.#exports) {
      if (manifest === undefined) wanted = Math.max(wanted, indexMin);
    }
    return wanted;
  }

  get nextDeadlineMs(): number {
    let nextMs = NEVER;
    for (const { question, answerAtMs, forgetAtMs } of this.#exports) {
      nextMs = Math.min(nextMs, question === 0 ? forgetAtMs : answerAtMs);
    }
    return nextMs;
  }

  /** Checksums of the snapshots that are being read. */
  *inUse(): Generator<string, void, void> {
    for (const { manifest } of this.#exports) if (manifest !== undefined) yield manifest.checksum;
  }

  /**
   * Everything that was committed when the client asked is applied, unless it accepts stale data.
   */
  save(attachment: Attachment, { id }: SaveSnapshotOperation): void {
    const { clock, electionTimeoutMs, appliedIndex, newest } = this.#parts;
    const nowMs = clock.nowMs();
    const known = this.#exports.find((other) => other.attachment === attachment);
    if (known !== undefined && known.manifest === undefined) {
      this.#ask(known, id, nowMs);
      return;
    }
    if (known === undefined && this.#exports.length >= EXPORTS_MAX) {
      const message = "too many snapshots are being saved from this node";
      refuse(attachment, id, ERROR_NUMBERS.BUSY, message);
      return;
    }
    const indexMin = appliedIndex();
    if (indexMin === 0 && newest() === undefined) {
      const message =
        "this node has applied nothing since its start, and has no snapshot: stop it, and save " +
        "from its data directory";
      refuse(attachment, id, ERROR_NUMBERS.UNAVAILABLE, message);
      return;
    }
    if (known !== undefined) this.#drop((other) => other === known);
    const forgetAtMs = nowMs + IDLE_TIMEOUTS * electionTimeoutMs;
    const fresh = { attachment, indexMin, question: 0, answerAtMs: NEVER, forgetAtMs };
    const made: Export = { ...fresh, manifest: undefined, chunksAsked: 0 };
    this.#exports.push(made);
    this.#ask(made, id, nowMs);
  }

  /** Answers when the store has read the chunk. A failure of the store ends the node. */
  read(attachment: Attachment, { id, checksum, chunk }: ReadSnapshotOperation): void {
    const { clock, electionTimeoutMs, store } = this.#parts;
    const found = this.#exports.find((other) => other.attachment === attachment);
    const manifest = found?.manifest;
    if (found === undefined || manifest?.checksum !== checksum) {
      const message = "that snapshot is not being read on this connection (any more): begin again";
      refuse(attachment, id, ERROR_NUMBERS.COMPACTED, message);
    } else if (chunk >= manifest.chunkCount) {
      const message = `chunk ${chunk} of ${manifest.chunkCount}`;
      refuse(attachment, id, ERROR_NUMBERS.INVALID_ARGUMENT, message);
    } else if (found.chunksAsked >= CHUNKS_ASKED_MAX) {
      refuse(attachment, id, ERROR_NUMBERS.BUSY, "too many chunks are asked for at a time");
    } else {
      found.forgetAtMs = clock.nowMs() + IDLE_TIMEOUTS * electionTimeoutMs;
      found.chunksAsked += 1;
      this.#calls.run(
        store.readChunk(manifest, chunk),
        (bytes) => {
          found.chunksAsked -= 1;
          const payload: SnapshotChunkView = { bytes: Buffer.from(bytes).toString("base64") };
          send(attachment, id, STATUS.ok, payload);
        },
        (error) => {
          found.chunksAsked -= 1;
          if (!this.#exports.includes(found)) {
            refuse(attachment, id, ERROR_NUMBERS.COMPACTED, "the snapshot is gone: begin again");
          } else if (isOutOfSpace(error)) {
            const message = "the node cannot read before there is room on its disk";
            refuse(attachment, id, ERROR_NUMBERS.DISK_FULL, message);
          } else throw error;
        },
      );
    }
  }

  /** The snapshot that clients wait for cannot be taken. */
  fail(status: ErrorNumber, message: string): void {
    const waiting = this.#exports.filter(({ manifest }) => manifest === undefined);
    this.#exports = this.#exports.filter(({ manifest }) => manifest !== undefined);
    for (const { attachment, question } of waiting) {
      if (question > 0) refuse(attachment, question, status, message);
    }
  }

  /** Once a turn: answers requests, and forgets clients that are gone. */
  work(nowMs: number): void {
    this.#hasNews = false;
    if (this.#exports.length === 0) return;
    this.#drop(({ attachment, question, forgetAtMs }) => {
      return attachment.isClosed || (question === 0 && nowMs >= forgetAtMs);
    });
    const newest = this.#parts.newest();
    for (const one of this.#exports) {
      if (one.manifest === undefined && newest !== undefined && newest.index >= one.indexMin) {
        one.manifest = newest;
        this.#exportedTotal += 1;
        this.#parts.onSaved(one.attachment, newest.index);
      }
      if (one.question === 0) continue;
      if (one.manifest !== undefined) this.#answer(one, this.#viewOf(one.manifest));
      else if (nowMs >= one.answerAtMs) this.#answer(one, { isReady: false });
    }
  }

  #drop(isOver: (one: Export) => boolean): void {
    const dropped = this.#exports.filter(isOver);
    if (dropped.length === 0) return;
    this.#exports = this.#exports.filter((one) => !isOver(one));
    if (dropped.some(({ manifest }) => manifest !== undefined)) this.#parts.onGarbage();
  }

  #ask(one: Export, id: number, nowMs: number): void {
    const { electionTimeoutMs } = this.#parts;
    if (one.question > 0) this.#answer(one, { isReady: false });
    this.#hasNews = true;
    one.question = id;
    one.answerAtMs = nowMs + PATIENCE_TIMEOUTS * electionTimeoutMs;
    one.forgetAtMs = nowMs + IDLE_TIMEOUTS * electionTimeoutMs;
  }

  #answer(one: Export, view: SnapshotView): void {
    send(one.attachment, one.question, STATUS.ok, view);
    one.question = 0;
    one.answerAtMs = NEVER;
  }

  #viewOf(manifest: SnapshotManifest): SnapshotView {
    const { checksum, index, term, chunkCount, byteLength, configuration } = manifest;
    return {
      isReady: true,
      nodeId: this.#parts.nodeId,
      checksum,
      index,
      term,
      chunkCount,
      byteLength,
      configuration: Buffer.from(configuration).toString("hex"),
      wallMs: Math.floor(this.#parts.clock.wallMs()),
      version: VERSION,
    };
  }
}

function refuse(attachment: Attachment, id: number, status: ErrorNumber, message: string): void {
  const payload: OperationFailure = { message };
  send(attachment, id, status, payload);
}

function send(
  attachment: Attachment,
  id: number,
  status: typeof STATUS.ok | ErrorNumber,
  payload: unknown,
): void {
  if (attachment.isClosed) return;
  attachment.connection.send({ kind: MESSAGE.answer, id, status, payload });
}
