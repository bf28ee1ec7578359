/**
 * Reads the file of a snapshot ("saved-file.ts") from any source of bytes, in pieces of any size, and
 * never keeps more in memory than a chunk needs. The chunks before the end are intact, but only the
 * end shows that they are complete: nothing may be made of them before.
 */
import { createHash } from "node:crypto";
import { SnapshotDigest } from "./digest.js";
import {
  badFile,
  demandChunkLength,
  demandManifest,
  FILE_DIGEST_BYTES,
  FILE_FORMAT_VERSION,
  FILE_HEAD_BYTES,
  FILE_HEADER_BYTES_MAX,
  FILE_MAGIC,
  fileBytesOf,
  readHeader,
  type SavedSnapshot,
} from "./saved-file.js";

export class SnapshotFileReader {
  readonly #source: AsyncIterator<Uint8Array>;
  readonly #hash = createHash("sha256");
  /** Read from the source, and not taken yet. */
  #rest: Buffer = Buffer.alloc(0);
  #takenBytes = 0;
  #saved: SavedSnapshot | undefined;
  #fileBytes = 0;

  constructor(source: AsyncIterable<Uint8Array>) {
    this.#source = source[Symbol.asyncIterator]();
  }

  /** The size of the whole file, once `begin` has resolved. */
  get fileBytes(): number {
    return this.#fileBytes;
  }

  /**
   * Reads up to the first chunk. Fails with `INVALID_ARGUMENT` and `details.problem` if the file is
   * of another kind, in a newer format, cut short or damaged.
   */
  async begin(): Promise<SavedSnapshot> {
    const head = await this.#upTo(FILE_HEAD_BYTES);
    const magic = head.subarray(0, FILE_MAGIC.length);
    if (!FILE_MAGIC.subarray(0, magic.length).equals(magic) || magic.length === 0) {
      throw badFile("notASnapshot", "this is not a snapshot of a Holdfast cluster");
    }
    if (head.length < FILE_HEAD_BYTES) throw this.#cutShort();
    const version = head.readUInt32LE(FILE_MAGIC.length);
    if (version !== FILE_FORMAT_VERSION) {
      const message =
        `the snapshot is in format ${version}, this version of Holdfast reads format ` +
        `${FILE_FORMAT_VERSION}: use the version that saved it, or a later one`;
      throw badFile("newerFormat", message);
    }
    const headerBytes = head.readUInt32LE(FILE_MAGIC.length + 4);
    if (headerBytes > FILE_HEADER_BYTES_MAX) throw damaged("its header is too long");
    const header = await this.#take(headerBytes);
    const computed = this.#hash.update(head).update(header).copy().digest();
    this.#hash.update(await this.#demandDigest(computed, "its header"));
    const saved = readHeader(header);
    if (saved === undefined) throw damaged("its header cannot be read");
    this.#saved = saved;
    this.#fileBytes = fileBytesOf(saved.manifest, headerBytes);
    return saved;
  }

  /**
   * The chunks, and after the last one the check of everything: a caller that reaches the end has
   * had a complete snapshot. Fails like `begin`.
   */
  async *chunks(): AsyncGenerator<Uint8Array, void, void> {
    const manifest = this.#saved?.manifest;
    if (manifest === undefined) throw new Error("the chunks of a file that was not begun");
    const digest = new SnapshotDigest();
    for (let number = 0; number < manifest.chunkCount; number += 1) {
      const head = await this.#take(4);
      const length = head.readUInt32LE(0);
      demandChunkLength(length);
      const chunk = await this.#take(length);
      this.#hash.update(head).update(chunk);
      digest.add(chunk);
      yield chunk;
    }
    await this.#demandDigest(this.#hash.digest(), "its content");
    demandManifest(digest, manifest);
    if ((await this.#upTo(1)).length > 0) throw damaged("bytes follow its end");
  }

  async #demandDigest(computed: Buffer, what: string): Promise<Buffer> {
    const stored = await this.#take(FILE_DIGEST_BYTES);
    if (stored.equals(computed)) return stored;
    throw damaged(`${what} does not match its digest`);
  }

  async #take(count: number): Promise<Buffer> {
    const bytes = await this.#upTo(count);
    if (bytes.length < count) throw this.#cutShort();
    return bytes;
  }

  /** Returns fewer bytes only at the end. */
  async #upTo(count: number): Promise<Buffer> {
    const pieces: Buffer[] = [this.#rest];
    let have = this.#rest.length;
    while (have < count) {
      const next = await this.#source.next();
      if (next.done === true) break;
      const { buffer, byteOffset, byteLength } = next.value;
      pieces.push(Buffer.from(buffer, byteOffset, byteLength));
      have += byteLength;
    }
    const all = pieces.length === 1 ? this.#rest : Buffer.concat(pieces);
    const taken = all.subarray(0, count);
    this.#rest = all.subarray(taken.length);
    this.#takenBytes += taken.length;
    return taken;
  }

  #cutShort(): Error {
    const of = this.#fileBytes === 0 ? "" : ` of ${this.#fileBytes}`;
    return badFile(
      "cutShort",
      `the snapshot is cut short: it ends after ${this.#takenBytes}${of} bytes`,
    );
  }
}

function damaged(why: string): Error {
  return badFile("damaged", `the snapshot is damaged: ${why}`);
}
