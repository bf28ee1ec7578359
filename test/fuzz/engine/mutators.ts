/**
 * Changes of bytes that know nothing of a format: bits, bytes, numbers at the edges of their widths,
 * lengths, cuts, repetitions, and parts of other inputs. Pure: every choice is drawn from the stream
 * that is handed in.
 */
import type { RandomStream } from "../../../lab/random-stream.js";

/** What a mutator may draw from. */
export interface MutationSource {
  readonly random: RandomStream;
  /** One of the inputs that are kept. */
  other(): Uint8Array;
}

/** A changed copy; `undefined`: it can do nothing with this input. */
export type Mutator = (input: Uint8Array, source: MutationSource) => Uint8Array | undefined;

/** The edges of every width, and of what JavaScript can count. */
export const INTERESTING_NUMBERS: readonly bigint[] = [
  ...[0n, 1n, 2n, 15n, 16n, 31n, 32n, 127n, 128n, 255n, 256n],
  ...[512n, 513n, 1_000n, 1_001n, 1_024n, 1_025n, 4_096n, 65_535n, 65_536n],
  ...[2n ** 20n, 2n ** 24n, 2n ** 24n + 1n, 2n ** 31n - 1n, 2n ** 31n, 2n ** 32n - 1n, 2n ** 32n],
  ...[2n ** 40n, 2n ** 52n, 2n ** 53n - 2n, 2n ** 53n - 1n, 2n ** 53n, 2n ** 63n, 2n ** 64n - 1n],
];

const RUN_BYTES_MAX = 4_096;
const STACKED_MAX = 4;

/** Applies between one and a few of `all`, and cuts what became too long. */
export function mutated(
  input: Uint8Array,
  all: readonly Mutator[],
  source: MutationSource,
  bytesMax: number,
): Uint8Array {
  let bytes = input;
  const count = 1 + (source.random.chance(0.5) ? source.random.below(STACKED_MAX) : 0);
  for (let left = count; left > 0; left -= 1) {
    const changed = source.random.pick(all)(bytes, source);
    if (changed !== undefined) bytes = changed;
    if (bytes.length > bytesMax) bytes = bytes.slice(0, bytesMax);
  }
  return bytes;
}

export const GENERAL_MUTATORS: readonly Mutator[] = [
  flipBit,
  setByte,
  addToByte,
  writeNumber,
  insertBytes,
  removeRange,
  doubleRange,
  repeatByte,
  cut,
  overwriteFromOther,
  splice,
];

export function replaced(
  bytes: Uint8Array,
  from: number,
  to: number,
  part: Uint8Array,
): Uint8Array {
  return Uint8Array.from(Buffer.concat([bytes.subarray(0, from), part, bytes.subarray(to)]));
}

function flipBit(input: Uint8Array, { random }: MutationSource): Uint8Array | undefined {
  if (input.length === 0) return undefined;
  const bytes = input.slice();
  const at = random.below(bytes.length);
  bytes[at] = (bytes[at] as number) ^ (1 << random.below(8));
  return bytes;
}

function setByte(input: Uint8Array, { random }: MutationSource): Uint8Array | undefined {
  if (input.length === 0) return undefined;
  const bytes = input.slice();
  bytes[random.below(bytes.length)] = random.below(256);
  return bytes;
}

function addToByte(input: Uint8Array, { random }: MutationSource): Uint8Array | undefined {
  if (input.length === 0) return undefined;
  const bytes = input.slice();
  const at = random.below(bytes.length);
  bytes[at] = (bytes[at] as number) + random.integer(-4, 4);
  return bytes;
}

/** In either order of bytes, over what stood there. */
function writeNumber(input: Uint8Array, { random }: MutationSource): Uint8Array | undefined {
  const width = random.pick([2, 4, 8]);
  if (input.length < width) return undefined;
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64BE(random.pick(INTERESTING_NUMBERS));
  const number = bytes.subarray(8 - width);
  if (random.chance(0.4)) number.reverse();
  const at = random.below(input.length - width + 1);
  return replaced(input, at, at + width, number);
}

function insertBytes(input: Uint8Array, { random }: MutationSource): Uint8Array {
  const at = random.below(input.length + 1);
  const part = Uint8Array.from({ length: random.integer(1, 8) }, () => random.below(256));
  return replaced(input, at, at, part);
}

function removeRange(input: Uint8Array, { random }: MutationSource): Uint8Array | undefined {
  if (input.length === 0) return undefined;
  const [from, to] = rangeIn(input, random);
  return replaced(input, from, to, new Uint8Array(0));
}

function doubleRange(input: Uint8Array, { random }: MutationSource): Uint8Array | undefined {
  if (input.length === 0) return undefined;
  const [from, to] = rangeIn(input, random);
  return replaced(input, to, to, input.subarray(from, to));
}

/** Headers of arrays one inside the other, among others. */
function repeatByte(input: Uint8Array, { random }: MutationSource): Uint8Array {
  const byte = random.chance(0.5) ? random.below(256) : random.pick([0x81, 0x91, 0x00, 0xff, 0x5b]);
  const count = 1 + Math.floor(random.next() ** 3 * RUN_BYTES_MAX);
  const at = random.below(input.length + 1);
  return replaced(input, at, at, new Uint8Array(count).fill(byte));
}

function cut(input: Uint8Array, { random }: MutationSource): Uint8Array | undefined {
  return input.length === 0 ? undefined : input.slice(0, random.below(input.length));
}

function overwriteFromOther(input: Uint8Array, source: MutationSource): Uint8Array | undefined {
  const other = source.other();
  if (input.length === 0 || other.length === 0) return undefined;
  const [from, to] = rangeIn(other, source.random);
  const at = source.random.below(input.length);
  return replaced(input, at, Math.min(input.length, at + to - from), other.subarray(from, to));
}

function splice(input: Uint8Array, source: MutationSource): Uint8Array {
  const other = source.other();
  const from = source.random.below(other.length + 1);
  return replaced(input, source.random.below(input.length + 1), input.length, other.subarray(from));
}

/** Mostly short. */
function rangeIn(bytes: Uint8Array, random: RandomStream): [number, number] {
  const from = random.below(bytes.length);
  const length = 1 + Math.floor(random.next() ** 3 * (bytes.length - from));
  return [from, Math.min(bytes.length, from + length)];
}

/** Puts words of a format in, or over what stood there. */
export function wordMutator(words: readonly (string | Uint8Array)[]): Mutator {
  return (input, { random }) => {
    const word = random.pick(words);
    const part = typeof word === "string" ? Buffer.from(word) : word;
    const at = random.below(input.length + 1);
    const to = random.chance(0.5) ? at : Math.min(input.length, at + part.length);
    return replaced(input, at, to, part);
  };
}
