/** Any string has one key, and the key gives the string back. */
import fc from "fast-check";
import { expect, test } from "vitest";
import {
  isValidTableKey,
  KEY_BYTES_MAX,
  keyOfLockName,
  keyOfRedisName,
  LOCK_NAME_BYTES_MAX,
  lockNameOf,
  redisNameOf,
} from "../../src/protocol/index.js";

/** Code units of every kind: plain, control, escape, both surrogates, the edges of each range. */
const anyUnit = fc.oneof(
  fc.integer({ min: 0, max: 0xffff }),
  fc.constantFrom(0, 0x1f, 0x20, 0x7e, 0x7f, 0x9f, 0xa0, 0xd7ff, 0xd800, 0xdbff, 0xdc00, 0xdfff),
  fc.constantFrom(0xe000, 0xfffd, 0xffff),
);
const anyName = fc.array(anyUnit, { maxLength: 60 }).map((units) => String.fromCharCode(...units));

test.each([
  ["", "~locks/"],
  ["orders/1001", "~locks/orders/1001"],
  ["a\u0000~", "~locks/a~0000~007e"],
  ["\ud800", "~locks/~d800"],
  ["\ufffd", "~locks/\ufffd"],
  ["\udc00\ud800", "~locks/~dc00~d800"],
  ["\ud83d🔒", "~locks/~d83d🔒"],
  ["\uffff", "~locks/\uffff"],
])("the key of %j is %j", (name, key) => {
  expect(keyOfLockName(name)).toBe(key);
  expect(lockNameOf(key)).toBe(name);
});

test("every name has a key that the table allows, and that gives the name back", () => {
  fc.assert(
    fc.property(anyName, (name) => {
      const key = keyOfLockName(name);
      expect(key).toBeDefined();
      if (key === undefined) return;
      expect(isValidTableKey(key)).toBeUndefined();
      expect(lockNameOf(key)).toBe(name);
    }),
    { numRuns: 2_000 },
  );
});

test("no key but the key of its name is allowed under the prefix", () => {
  const anyEscape = fc.constantFrom("~0041", "~d83d", "~dd12", "~0000", "~000", "~007E", "~007e");
  const anyKey = fc
    .array(fc.oneof(anyEscape, fc.string({ unit: "binary", maxLength: 3 })), { maxLength: 6 })
    .map((parts) => `~locks/${parts.join("")}`);
  fc.assert(
    fc.property(anyKey, (key) => {
      const name = lockNameOf(key);
      if (name === undefined) expect(isValidTableKey(key)).toBeDefined();
      else expect(keyOfLockName(name)).toBe(key);
    }),
    { numRuns: 2_000 },
  );
});

test("a name may be as long as the limit of its key allows", () => {
  expect(LOCK_NAME_BYTES_MAX).toBe(505);
  const longest = keyOfLockName(`${"é".repeat(252)}k`) ?? "";
  expect(Buffer.byteLength(longest)).toBe(KEY_BYTES_MAX);
  expect(keyOfLockName("é".repeat(253))).toBeUndefined();
  expect(keyOfLockName("k".repeat(506))).toBeUndefined();
  expect(keyOfLockName("\u0000".repeat(101))).toBeDefined();
  expect(keyOfLockName("\u0000".repeat(102))).toBeUndefined();
});

test("other keys are not names", () => {
  for (const key of ["", "orders/1", "~", "~lock/a"]) expect(lockNameOf(key)).toBeUndefined();
});

test.each([
  [0, "", "~redis/0/"],
  [3, "a/b", "~redis/3/a/b"],
  [99_999, "\udcff~", "~redis/99999/~dcff~007e"],
])("the key of name %j in database %j is %j", (database, name, key) => {
  expect(keyOfRedisName({ database, name })).toBe(key);
  expect(redisNameOf(key)).toEqual({ database, name });
  expect(isValidTableKey(key)).toBeUndefined();
});

test.each([
  "~redis/",
  "~redis/0",
  "~redis/00/a",
  "~redis/100000/a",
  "~redis/-1/a",
  "~redis/0/~0041",
])("%j is the key of no name of Redis", (key) => {
  expect(redisNameOf(key)).toBeUndefined();
  expect(isValidTableKey(key)).toBeDefined();
});
