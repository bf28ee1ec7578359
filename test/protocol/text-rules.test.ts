/** The rules for names, as the SDK applies them to arguments. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  isValidAccessToken,
  isValidAddress,
  isValidIdentityName,
  isValidKey,
  isValidLabel,
  isValidMetadata,
  isValidPrefix,
  isValidReason,
  isValidSessionName,
  isValidSettingName,
  isValidTableKey,
  isValidValue,
} from "../../src/protocol/index.js";

describe("a key", () => {
  test.each(["a", "orders/1001", "ключ", "鍵", "🔒", "a~", " ", "k".repeat(512)])(
    "may be %j",
    (key) => expect(isValidKey(key)).toBeUndefined(),
  );

  test.each([
    ["", "key is empty"],
    ["~", "keys under ~ are reserved"],
    ["k".repeat(513), "key exceeds 512 bytes"],
    ["🔒".repeat(129), "key exceeds 512 bytes"],
    ["a\u0000", "key holds a control character"],
    ["\u001f", "key holds a control character"],
    ["\u007f", "key holds a control character"],
    ["\u009f", "key holds a control character"],
    ["\ud800", "key holds a lone surrogate"],
    ["a\udc00b", "key holds a lone surrogate"],
    ["\udc00\ud800", "key holds a lone surrogate"],
    ["\ud83d🔒", "key holds a lone surrogate"],
  ])("may not be %j", (key, reason) => expect(isValidKey(key)).toBe(reason));

  test("is measured in bytes of UTF-8, like any text", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 300 }), (text) => {
        const isTooLong = Buffer.byteLength(text) > 256;
        const reason = isValidSessionName(text);
        if (isTooLong) expect(reason).toBe("name exceeds 256 bytes");
        else expect([undefined, "name holds a control character"]).toContain(reason);
      }),
      { numRuns: 60 },
    );
  });
});

describe("a key of the table", () => {
  test.each(["a", "~locks/", "~locks/orders/1", "~locks/🔒", "~locks/~0000~d800~007e"])(
    "may be %j",
    (key) => expect(isValidTableKey(key)).toBeUndefined(),
  );

  test.each([
    ["~", "an unknown reserved name"],
    ["~locks", "the prefix without its end"],
    ["~locks/~0041", "what need not be escaped"],
    ["~locks/~D800", "digits in capitals"],
    ["~locks/~d83d~dd12", "a pair, which can stand for itself"],
    ["~locks/~00", "an escape cut short"],
    ["~locks/~", "an escape without digits"],
    [`~locks/${"k".repeat(506)}`, "more bytes than a key has"],
  ])("may not be %j: %s", (key) => {
    expect(isValidTableKey(key)).toBe("keys under ~ are reserved");
  });

  test("may not hold raw what has to be escaped", () => {
    for (const raw of ["\u0000", "\u007f", "\u009f", "\ud800"]) {
      expect(isValidTableKey(`~locks/${raw}`)).toBeDefined();
    }
  });
});

test("a prefix may be empty and may be a reserved one, but is bounded like a key", () => {
  expect(isValidPrefix("")).toBeUndefined();
  expect(isValidPrefix("~")).toBeUndefined();
  expect(isValidPrefix("k".repeat(513))).toBe("prefix exceeds 512 bytes");
  expect(isValidPrefix("\n")).toBe("prefix holds a control character");
});

test("metadata may hold any characters, up to its length", () => {
  expect(isValidMetadata('{\n\t"pid": 1\u0000}')).toBeUndefined();
  expect(isValidMetadata("x".repeat(1_025))).toBe("metadata exceeds 1024 bytes");
  expect(isValidMetadata("\udfff")).toBe("metadata holds a lone surrogate");
});

test("a value may hold any characters, up to its length", () => {
  expect(isValidValue("")).toBeUndefined();
  expect(isValidValue('{\n\t"pid": 1\u0000}')).toBeUndefined();
  expect(isValidValue("é".repeat(512))).toBeUndefined();
  expect(isValidValue("é".repeat(513))).toBe("value exceeds 1024 bytes");
  expect(isValidValue("\udfff")).toBe("value holds a lone surrogate");
});

test("a reason may be empty, and is fit for a terminal", () => {
  expect(isValidReason("")).toBeUndefined();
  expect(isValidReason("é".repeat(128))).toBeUndefined();
  expect(isValidReason("é".repeat(129))).toBe("reason exceeds 256 bytes");
  expect(isValidReason("\u001b[2J")).toBe("reason holds a control character");
  expect(isValidReason("\ud800")).toBe("reason holds a lone surrogate");
});

test("a setting's name is made of ASCII letters", () => {
  expect(isValidSettingName("waitersMax")).toBeUndefined();
  expect(isValidSettingName("n".repeat(64))).toBeUndefined();
  expect(isValidSettingName("n".repeat(65))).toBe("name exceeds 64 bytes");
  for (const name of ["", "a.b", "a b", "größe", "a1", "a\n", "__proto__"]) {
    expect(isValidSettingName(name)).toBe("a setting's name is made of letters");
  }
});

describe("the address of a member", () => {
  test.each([
    "a:1",
    "10.0.0.4:7421",
    "n_4.db-1.example:65535",
    "[::1]:80",
    `${"h".repeat(250)}:7421`,
  ])("may be %j", (address) => expect(isValidAddress(address)).toBeUndefined());

  test("is refused unless host and port can be told apart again, whatever the text", () => {
    const near = fc.tuple(fc.string({ maxLength: 8 }), fc.nat(70_000)).map(([h, p]) => `${h}:${p}`);
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: "binary", maxLength: 300 }), near), (address) => {
        if (isValidAddress(address) !== undefined) return;
        const [, host = "", port = ""] = /^(.+):(\d+)$/.exec(address) ?? [];
        expect(`${host}:${Number(port)}`).toBe(address);
        expect(host).toMatch(/^[\w.-]+$|^\[[^\]]+\]$/);
        expect(Number(port)).toBeGreaterThan(0);
        expect(Number(port)).toBeLessThan(65_536);
        expect(Buffer.byteLength(address)).toBeLessThanOrEqual(255);
      }),
      { numRuns: 2_000 },
    );
  });
});

describe("access", () => {
  test.each(["a", "0", "ci/main@example.org:1+2_3-4.5", "A".repeat(128)])(
    "an identity may be called %j",
    (name) => expect(isValidIdentityName(name)).toBeUndefined(),
  );

  test.each(["", "-a", ".a", "/a", "a b", "a*", "é", "a\n", "A".repeat(129)])(
    "an identity may not be called %j",
    (name) => expect(isValidIdentityName(name)).toBeDefined(),
  );

  test("a credential is called as people like, in 64 bytes", () => {
    for (const label of ["laptop", "büro 2", "é".repeat(32)]) {
      expect(isValidLabel(label)).toBeUndefined();
    }
    for (const label of ["", "a\nb", "é".repeat(33), "\ud800"]) {
      expect(isValidLabel(label)).toBeDefined();
    }
  });

  test("a token is visible ASCII, at most 512 characters", () => {
    for (const token of ["!", "~", "A".repeat(512)]) {
      expect(isValidAccessToken(token)).toBeUndefined();
    }
    for (const token of ["", " ", "a b", "a\n", "é", "A".repeat(513)]) {
      expect(isValidAccessToken(token)).toBeDefined();
    }
  });
});
