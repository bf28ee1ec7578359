/** What a terminal sends, as keys, however it is cut into chunks. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { KeyReader } from "../../../bin/top/keys.js";

const keysOf = (...chunks: readonly string[]): string[] => {
  const reader = new KeyReader();
  return [...chunks.flatMap((chunk) => reader.feed(chunk)), ...reader.flush()];
};

test("characters, controls and the sequences of arrows and pages are keys", () => {
  expect(keysOf("q/é注\r\u007f\u0003\u001a")).toEqual([
    ...["q", "/", "é", "注", "enter", "backspace", "interrupt", "suspend"],
  ]);
  expect(keysOf("\u001b[A\u001bOB\u001b[5~\u001b[6~\u001b[H\u001b[4~")).toEqual([
    ...["up", "down", "pageUp", "pageDown", "home", "end"],
  ]);
});

describe("a sequence", () => {
  test("that is unknown or modified is swallowed whole, and none of its letters is a key", () => {
    expect(keysOf("\u001b[1;5Aq")).toEqual(["q"]);
    expect(keysOf("\u001b[200~s\u001b[201~")).toEqual(["s"]);
    expect(keysOf("\u001bOP\u001b[24~")).toEqual([]);
  });

  test("that comes byte by byte is the same key", () => {
    expect(keysOf("\u001b", "[", "6", "~", "q")).toEqual(["pageDown", "q"]);
  });

  test("that never ends is not waited for", () => {
    expect(keysOf(`\u001b[${"1".repeat(100)}`)).toContain("escape");
  });
});

test("Escape alone is a key once nothing has come after it", () => {
  const reader = new KeyReader();
  expect(reader.feed("\u001b")).toEqual([]);
  expect(reader.isWaiting).toBe(true);
  expect(reader.flush()).toEqual(["escape"]);
  expect(reader.isWaiting).toBe(false);
});

test("no bytes at all make a key that holds a control character", () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: "binary" }), { maxLength: 8 }), (chunks) => {
      for (const key of keysOf(...chunks)) expect(key).not.toMatch(/\p{Cc}/u);
    }),
  );
});
