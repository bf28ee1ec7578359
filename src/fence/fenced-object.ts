/**
 * Fencing in object stores with conditional writes (S3, R2, GCS, MinIO). The first line of the
 * object stores the tokens it has seen, and each write is conditional on the object that was read.
 *
 * The line is part of the content, never metadata: the ETag of S3 is a hash of the content, so an
 * object that was written again with the same content would look unchanged to a late writer.
 */
import { HoldfastError } from "../errors/index.js";
import { type Claim, checkedClaim } from "./claim.js";
import {
  checkedState,
  type FenceState,
  NOTHING_SEEN,
  newestAgainst,
  withClaim,
} from "./fence-state.js";
import { staleToken } from "./stale-token.js";

export interface StoredObject {
  readonly body: Uint8Array;
  /** Changes with the content; exactly as the store returned it, with quotes. */
  readonly etag: string;
}

/** The object that a write requires: the one with this ETag, or none at all. */
export type WriteCondition = { readonly ifMatch: string } | { readonly ifNoneMatch: "*" };

/** The operations that are needed of an object store; `s3Objects` is one. */
export interface ObjectStore {
  /** `undefined`: there is no such object. Must never be served from a cache. */
  read(key: string): Promise<StoredObject | undefined>;
  /** `false`: the condition did not hold, and nothing was written. */
  write(key: string, body: Uint8Array, condition: WriteCondition): Promise<boolean>;
}

export interface FencedObject {
  readonly body: Uint8Array;
  readonly state: FenceState;
}

/** Each lost round means that another writer succeeded, so this limits attempts, not time. */
const ROUNDS_MAX = 32;
const HEAD = "holdfast-fence ";
const HEAD_BYTES = new TextEncoder().encode(HEAD);
const NEWLINE = 10;

/**
 * Reads an object without the line of its fence. An object without such a line is returned
 * unchanged.
 */
export async function readFenced(
  store: ObjectStore,
  key: string,
): Promise<FencedObject | undefined> {
  const object = await store.read(key);
  return object === undefined ? undefined : decode(key, object.body);
}

/**
 * Writes an object under a claim. `body` is the new content, or a function that makes it from the
 * present object and is called again if another writer came first. Rejects with `STALE_TOKEN`, with
 * `BUSY` after 32 rounds lost to others, and with the store's error; in that last case the object
 * may have been written.
 */
export async function writeFenced(
  store: ObjectStore,
  key: string,
  claim: Claim,
  body: Uint8Array | ((current: Uint8Array | undefined) => Uint8Array | Promise<Uint8Array>),
): Promise<void> {
  const checked = checkedClaim(claim);
  for (let round = 0; round < ROUNDS_MAX; round += 1) {
    const found = await store.read(key);
    const current = found === undefined ? undefined : decode(key, found.body);
    const seen = current?.state ?? NOTHING_SEEN;
    const newest = newestAgainst(seen, checked);
    if (checked.token < newest) throw staleToken(key, checked, newest);
    const next = typeof body === "function" ? await body(current?.body) : body;
    const condition: WriteCondition =
      found === undefined ? { ifNoneMatch: "*" } : { ifMatch: found.etag };
    if (await store.write(key, encode(withClaim(seen, checked), next), condition)) return;
  }
  throw new HoldfastError(
    "BUSY",
    `${JSON.stringify(key)} was written by others in all ${ROUNDS_MAX} attempts`,
  );
}

/**
 * Rejects with `INVALID_ARGUMENT` if the store writes although a condition does not hold: some
 * stores do so silently, and then fencing has no effect. Call it once at the start; leaves an
 * object at `key`.
 */
export async function requireConditionalWrites(store: ObjectStore, key: string): Promise<void> {
  const nothing = new Uint8Array();
  await store.write(key, nothing, { ifNoneMatch: "*" });
  const conditions: WriteCondition[] = [
    { ifNoneMatch: "*" },
    { ifMatch: '"00000000000000000000000000000000"' },
  ];
  for (const condition of conditions) {
    if (!(await store.write(key, nothing, condition))) continue;
    const name = Object.keys(condition).join();
    throw new HoldfastError("INVALID_ARGUMENT", `the object store ignores ${name} on writes`);
  }
}

function encode(state: FenceState, body: Uint8Array): Uint8Array {
  const head = new TextEncoder().encode(`${HEAD}${JSON.stringify(state)}\n`);
  const bytes = new Uint8Array(head.length + body.length);
  bytes.set(head);
  bytes.set(body, head.length);
  return bytes;
}

function decode(key: string, bytes: Uint8Array): FencedObject {
  if (!HEAD_BYTES.every((byte, index) => bytes[index] === byte)) {
    return { body: bytes, state: NOTHING_SEEN };
  }
  const end = bytes.indexOf(NEWLINE);
  const line = new TextDecoder().decode(bytes.subarray(HEAD_BYTES.length, Math.max(end, 0)));
  try {
    return { body: bytes.subarray(end + 1), state: checkedState(JSON.parse(line)) };
  } catch (cause) {
    // Continuing without it would let every late holder in.
    throw new HoldfastError("INTERNAL", `the fence of object ${JSON.stringify(key)} is damaged`, {
      cause,
    });
  }
}
