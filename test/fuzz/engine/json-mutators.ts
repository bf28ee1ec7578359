/** Changes of JSON, value by value, so that the text stays one that can be parsed. */
import type { RandomStream } from "../../../lab/random-stream.js";
import type { Mutator } from "./mutators.js";

type Parts = Record<string | number, unknown>;

const VALUES: readonly unknown[] = [
  ...[null, true, false, 0, 1, -1, 0.5, 1e308, 2 ** 31, 2 ** 32, 2 ** 53 - 1, 2 ** 53, -(2 ** 31)],
  ...["", "k", "\ud800", "a\ud800", "\u0000", "\u009b31m", "k".repeat(513), "k".repeat(2_000)],
  ...["10s", "1e9d", "ws://127.0.0.1:1", "wss://[::1]:7411", "http://x", "ws://a@b:1/?t#f", "1G"],
  ...["exclusive", "shared", "permits", "00".repeat(16), "ff".repeat(32), "__proto__"],
  ...[[], {}, [null], [[]], { key: "k" }, [1, 2, 3]],
];
const NAMES = ["__proto__", "constructor", "toString", "", "key", "length"];
const COUNTS = [17, 101, 1_001, 4_097];

/** Replaces, removes, doubles or adds one value somewhere in the document. */
export const mutateJson: Mutator = (input, { random, other }) => {
  const root = { value: parsed(input) };
  if (root.value === undefined) return undefined;
  const parts = placeIn(root as Parts, random);
  const names = Object.keys(parts);
  const name = random.pickOrNone(names);
  const kind = random.below(6);
  if (name === undefined || kind === 0) add(parts, random);
  else if (kind === 1 && parts !== root) remove(parts, name);
  else if (kind === 2) parts[name] = donated(parsed(other()), random);
  else if (kind === 3 && Array.isArray(parts)) multiply(parts, random);
  else parts[name] = anyValue(random);
  return Uint8Array.from(Buffer.from(JSON.stringify(root.value) ?? "null"));
};

/** A copy, because what it is put into may be changed again. */
function anyValue(random: RandomStream): unknown {
  return structuredClone(random.pick(VALUES));
}

function parsed(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(bytes).toString()) as unknown;
  } catch {
    return undefined;
  }
}

function placeIn(root: Parts, random: RandomStream): Parts {
  const places: Parts[] = [];
  const visit = (value: unknown): void => {
    if (typeof value !== "object" || value === null) return;
    places.push(value as Parts);
    for (const part of Object.values(value)) visit(part);
  };
  visit(root);
  return random.pick(places);
}

function add(parts: Parts, random: RandomStream): void {
  if (Array.isArray(parts)) parts.push(anyValue(random));
  else {
    const [value, name] = [anyValue(random), random.pick(NAMES)];
    Object.defineProperty(parts, name, { value, enumerable: true, configurable: true });
  }
}

function remove(parts: Parts, name: string): void {
  if (Array.isArray(parts)) parts.splice(Number(name), 1);
  else delete parts[name];
}

function multiply(parts: unknown[], random: RandomStream): void {
  const [one] = parts;
  parts.length = 0;
  for (let left = random.pick(COUNTS); left > 0; left -= 1) parts.push(one);
}

function donated(donor: unknown, random: RandomStream): unknown {
  if (typeof donor !== "object" || donor === null) return anyValue(random);
  return random.pickOrNone(Object.values(placeIn(donor as Parts, random))) ?? anyValue(random);
}
