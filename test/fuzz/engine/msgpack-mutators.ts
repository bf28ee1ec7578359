/**
 * Changes of msgpack, value by value: one replaced, removed, doubled, moved or wrapped, with the
 * counts around it set right, so that what is changed reaches the code after the first check of the
 * form. Values are mostly written canonically and now and then nearly so.
 */
import type { RandomStream } from "../../../lab/random-stream.js";
import { INTERESTING_NUMBERS, type Mutator } from "./mutators.js";

/** One value: an array or map with its parts, or the bytes of anything else. */
export type Node =
  | { readonly type: "array" | "map"; parts: Node[] }
  | { readonly type: "bytes"; bytes: Uint8Array };

const DEPTH_MAX = 40;
const LENGTHS = [0, 1, 15, 16, 31, 32, 64, 255, 256, 257, 511, 512, 513, 1_024, 1_025, 65_536];

/** Changes one value, or a few. */
export const mutateMsgpack: Mutator = (input, { random, other }) => {
  const root = parsed(input);
  if (root === undefined) return undefined;
  const donor = parsed(other());
  change(root, random, donor);
  return written(root, random);
};

/** The values one after the other that fill `bytes`, as the parts of an array of no header. */
function parsed(bytes: Uint8Array): { parts: Node[] } | undefined {
  const parts: Node[] = [];
  let at = 0;
  while (at < bytes.length) {
    const read = readNode(bytes, at, 0);
    if (read === undefined) {
      parts.push({ type: "bytes", bytes: bytes.subarray(at) });
      break;
    }
    parts.push(read.node);
    at = read.end;
  }
  return parts.length === 0 ? undefined : { parts };
}

/** The value that begins at `at`, with where it ends. */
export function readNode(
  bytes: Uint8Array,
  at: number,
  depth: number,
): { readonly node: Node; readonly end: number } | undefined {
  const type = bytes[at];
  if (type === undefined || depth > DEPTH_MAX) return undefined;
  if (type >= 0x80 && type < 0x90) return readParts(bytes, at + 1, "map", type & 15, depth);
  if (type >= 0x90 && type < 0xa0) return readParts(bytes, at + 1, "array", type & 15, depth);
  const [headBytes, count] = headOf(bytes, at, type);
  if (type >= 0xdc) {
    if (type < 0xe0 && at + headBytes > bytes.length) return undefined;
    if (type < 0xde) return readParts(bytes, at + headBytes, "array", count, depth);
    if (type < 0xe0) return readParts(bytes, at + headBytes, "map", count, depth);
  }
  const end = at + headBytes + (hasContent(type) ? count : 0);
  if (end > bytes.length) return undefined;
  return { node: { type: "bytes", bytes: bytes.subarray(at, end) }, end };
}

function readParts(
  bytes: Uint8Array,
  from: number,
  type: "array" | "map",
  count: number,
  depth: number,
): { readonly node: Node; readonly end: number } | undefined {
  const parts: Node[] = [];
  let at = from;
  for (let left = type === "map" ? 2 * count : count; left > 0; left -= 1) {
    const read = readNode(bytes, at, depth + 1);
    if (read === undefined) return undefined;
    parts.push(read.node);
    at = read.end;
  }
  return { node: { type, parts }, end: at };
}

/** Bytes of the type and what follows it, and the number that these are. */
function headOf(bytes: Uint8Array, at: number, type: number): [number, number] {
  if (type < 0x80 || type >= 0xe0) return [1, 0];
  if (type >= 0xa0 && type < 0xc0) return [1, type & 31];
  const width = TAILS[type - 0xc0] ?? 0;
  let number = 0;
  for (let i = 1; i <= width; i += 1) number = number * 256 + (bytes[at + i] ?? 0);
  return [1 + width, number];
}

/** From 0xc0 on: nil, unused, false, true, bin × 3, ext × 3, floats, uints, ints, fixext × 5, str … */
const TAILS = [
  ...[0, 0, 0, 0, 1, 2, 4, 2, 3, 5, 4, 8, 1, 2, 4, 8],
  ...[1, 2, 4, 8, 2, 3, 5, 9, 17, 1, 2, 4, 2, 4, 2, 4],
];

function hasContent(type: number): boolean {
  return (
    (type >= 0xa0 && type < 0xc0) || (type >= 0xc4 && type < 0xc7) || (type >= 0xd9 && type < 0xdc)
  );
}

function change(
  root: { parts: Node[] },
  random: RandomStream,
  donor: { parts: Node[] } | undefined,
) {
  const { parts } = placeIn(root, random);
  const at = random.below(parts.length + 1);
  const node = parts[at];
  const kind = random.below(9);
  if (node === undefined || kind === 0) parts.splice(at, 0, anyNode(random));
  else if (kind === 1) parts.splice(at, 1);
  else if (kind === 2) parts.splice(random.below(parts.length + 1), 0, node);
  else if (kind === 3 && donor !== undefined) parts[at] = partOf(donor, random);
  else if (kind === 4) parts[at] = { type: "array", parts: [node] };
  else if (kind === 5 && node.type !== "bytes" && node.parts.length > 0) multiply(node, random);
  else if (kind === 6) parts.push(...parts.splice(at, 1));
  else parts[at] = near(node, random);
}

/** Where the change happens: the parts of any array or map, the deeper ones too. */
function placeIn(root: { parts: Node[] }, random: RandomStream): { parts: Node[] } {
  const places: { parts: Node[] }[] = [root];
  const visit = (parts: readonly Node[]): void => {
    for (const part of parts) {
      if (part.type === "bytes") continue;
      places.push(part);
      visit(part.parts);
    }
  };
  visit(root.parts);
  return random.pick(places);
}

function partOf(root: { parts: Node[] }, random: RandomStream): Node {
  return random.pickOrNone(placeIn(root, random).parts) ?? anyNode(random);
}

/** As many parts as some limit. */
function multiply(node: { parts: Node[] }, random: RandomStream): void {
  const count = random.pick([15, 16, 17, 100, 255, 1_001, 4_097]);
  const part = random.pick(node.parts);
  node.parts = Array.from({ length: count }, () => part);
}

/** A number for a number, a text for a text, and now and then something else. */
function near(node: Node, random: RandomStream): Node {
  const type = node.type === "bytes" ? (node.bytes[0] ?? 0) : 0;
  if (node.type !== "bytes" || random.chance(0.2)) return anyNode(random);
  if (type < 0x80 || (type >= 0xcc && type < 0xd0)) return leaf(numberBytes(random));
  if (type >= 0xc4 && type < 0xc7) return leaf(binaryBytes(random));
  if ((type >= 0xa0 && type < 0xc0) || (type >= 0xd9 && type < 0xdc))
    return leaf(textBytes(random));
  return anyNode(random);
}

function anyNode(random: RandomStream): Node {
  switch (random.below(8)) {
    case 0:
    case 1:
    case 2:
      return leaf(numberBytes(random));
    case 3:
      return leaf(textBytes(random));
    case 4:
      return leaf(binaryBytes(random));
    case 5:
      return leaf(Uint8Array.of(random.pick([0xc0, 0xc2, 0xc3, 0xc1])));
    case 6:
      return { type: random.pick(["array", "map"]), parts: [] };
    default:
      return leaf(random.pick(ODD_VALUES));
  }
}

/** Floats, negative numbers, extensions: what has no place in the canonical subset. */
const ODD_VALUES: readonly Uint8Array[] = [
  "ca3f800000",
  "cb7ff8000000000000",
  "cb4340000000000000",
  "ff",
  "d080",
  "d3ffe0000000000000",
  "d3ffffffffffffffff",
  "d47240",
  "d600000000000000000000",
  "c70c7200000000000000000000000000",
  "c7087280000000000000000000",
  "a95f5f70726f746f5f5f",
].map((digits) => Uint8Array.from(Buffer.from(digits, "hex")));

function leaf(bytes: Uint8Array): Node {
  return { type: "bytes", bytes };
}

/** In its shortest form, or now and then in a longer one. */
function numberBytes(random: RandomStream): Uint8Array {
  const number = random.pick(INTERESTING_NUMBERS) + BigInt(random.integer(0, 1));
  const value = BigInt.asUintN(64, number);
  let width =
    value < 0x80n ? 0 : value < 256n ? 1 : value < 65_536n ? 2 : value < 2n ** 32n ? 4 : 8;
  if (random.chance(0.1))
    width = random.pickOrNone([1, 2, 4, 8].filter((wider) => wider > width)) ?? width;
  if (width === 0) return Uint8Array.of(Number(value));
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64BE(value);
  const type = width === 1 ? 0xcc : width === 2 ? 0xcd : width === 4 ? 0xce : 0xcf;
  return Uint8Array.from([type, ...bytes.subarray(8 - width)]);
}

const CHARACTERS = ["k", "/", "*", "\u0000", "\n", "\u009b", "é", "漢", "😀", "\u202e", "\ufeff"];

function textBytes(random: RandomStream): Uint8Array {
  const length = random.chance(0.7) ? random.below(8) : random.pick(LENGTHS);
  const one = random.pick(CHARACTERS);
  let content = Buffer.from(one.repeat(length)).subarray(0, length);
  if (random.chance(0.1)) content = Buffer.from([...content, 0xed, 0xa0, 0x80]);
  const count = content.length;
  const isShort = count < 32 && !random.chance(0.05);
  if (isShort) return Uint8Array.from([0xa0 | count, ...content]);
  if (count < 256) return Uint8Array.from([0xd9, count, ...content]);
  if (count < 65_536) return Uint8Array.from([0xda, count >> 8, count & 255, ...content]);
  return Uint8Array.from([0xdb, 0, count >> 16, (count >> 8) & 255, count & 255, ...content]);
}

function binaryBytes(random: RandomStream): Uint8Array {
  const count = random.pick([0, 1, 8, 15, 16, 17, 31, 32, 33, 64]);
  const content = Uint8Array.from({ length: count }, () => random.below(256));
  return Uint8Array.from([0xc4, count, ...content]);
}

/** With counts that are right, but for a few. */
function written(root: { parts: Node[] }, random: RandomStream): Uint8Array {
  const pieces: Uint8Array[] = [];
  const write = (node: Node): void => {
    if (node.type === "bytes") {
      pieces.push(node.bytes);
      return;
    }
    const isMap = node.type === "map";
    let count = isMap ? node.parts.length >> 1 : node.parts.length;
    if (random.chance(0.01)) count += random.pick([-1, 1, 2 ** 16, 2 ** 31]);
    pieces.push(headerOf(isMap, Math.max(0, count), random.chance(0.01)));
    for (const part of node.parts) write(part);
  };
  for (const part of root.parts) write(part);
  return Uint8Array.from(Buffer.concat(pieces));
}

function headerOf(isMap: boolean, count: number, isWide: boolean): Uint8Array {
  if (count < 16 && !isWide) return Uint8Array.of((isMap ? 0x80 : 0x90) | count);
  if (count < 65_536) return Uint8Array.of(isMap ? 0xde : 0xdc, count >> 8, count & 255);
  const bytes = Buffer.alloc(5);
  bytes[0] = isMap ? 0xdf : 0xdd;
  bytes.writeUInt32BE(count, 1);
  return Uint8Array.from(bytes);
}
