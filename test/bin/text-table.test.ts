/** Columns that people read: straight, whatever the names in them are written in. */
import { expect, test } from "vitest";
import { displayWidth } from "../../bin/display-width.js";
import { tableLines } from "../../bin/text-table.js";

test("a column is as wide as its widest cell, and its heading; the last one has no blanks behind it", () => {
  const columns = [
    { heading: "KEY" },
    { heading: "HOLDERS", alignment: "right" },
    { heading: "WHO" },
  ] as const;
  expect(
    tableLines(columns, [
      ["orders/1", "1", "a"],
      ["b", "12", "bcd"],
    ]),
  ).toEqual([
    //
    "KEY       HOLDERS  WHO",
    "orders/1        1  a",
    "b              12  bcd",
  ]);
});

test("names of wide characters push nothing out of its column", () => {
  const rows = ["orders", "注文/東京", "주문", "🔒 lock", "e\u0301te\u0301", "ｆｕｌｌ"].map(
    (name) => [name, "|"],
  );
  const lines = tableLines([{ heading: "KEY" }, { heading: "" }], rows).slice(1);
  const columns = lines.map((line) => displayWidth(line.slice(0, line.indexOf("|"))));
  expect(columns).toEqual(rows.map(() => "注文/東京".length * 2 - 1 + 2));
  // The characters themselves are not what is counted.
  expect(new Set(lines.map((line) => line.indexOf("|"))).size).toBeGreaterThan(3);
});

test.each<[what: string, text: string, width: number]>([
  ["nothing", "", 0],
  ["Latin letters", "Zürich", 6],
  ["Greek, Cyrillic, Arabic and Hebrew letters", "αбعא", 4],
  ["an accent that stands above its letter", "e\u0301", 1],
  ["Chinese characters, of any plane", "漢\u{20bb7}", 4],
  ["kana, and their halves", "ロックﾛｯｸ", 9],
  ["Hangul, composed or of its parts", "락\u1105\u1161\u11a8", 4],
  ["full-width forms and punctuation", "Ａ。！", 6],
  ["an emoji", "🔒", 2],
  ["an emoji of several code points", "👩🏽", 2],
  ["a flag", "🇨🇭", 2],
  ["a character that is asked for as an emoji", "❤\ufe0f", 2],
  ["and as text", "❤", 1],
  ["lines that boxes are drawn with", "─│└", 3],
])("%s: %j", (_what, text, width) => {
  expect(displayWidth(text)).toBe(width);
});
