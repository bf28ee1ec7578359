/** Columns for people: aligned, in whatever script the names in them are. */
import { describe, expect, test } from "vitest";
import { tableLines } from "../../../bin/output/text-table.js";
import { cutInTheMiddle, displayWidth } from "../../../bin/text/display-width.js";

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

describe("a table that is wider than the terminal", () => {
  const columns = [
    { heading: "KEY" },
    { heading: "HELD BY" },
    { heading: "TOKEN", alignment: "right" },
    { heading: "" },
  ] as const;
  const rows = [
    ["orders/eu-central/customers/4711/1001", "billing-7.example.com", "3764817229774849", ""],
    ["注文/東京/大阪/名古屋/福岡/仙台/札幌/那覇", "b", "1", `value "${"v".repeat(1_024)}"`],
  ];
  const linesAt = (width: number): string[] => tableLines(columns, rows, process.stdout, width);

  test("fits, and its longest texts lose their middle, not its numbers", () => {
    expect(linesAt(72)).toEqual([
      "KEY               HELD BY                       TOKEN",
      "orders/e…11/1001  billing-…mple.com  3764817229774849",
      '注文/東…幌/那覇   b                                 1  value "v…vvvvvvv"',
    ]);
  });

  test.each([60, 80, 120, 200])("fits %i columns, whatever is in it", (width) => {
    const lines = linesAt(width);
    for (const line of lines) expect(displayWidth(line)).toBeLessThanOrEqual(width);
    expect(lines.join("\n")).toContain("3764817229774849");
    expect(Math.max(...lines.map(displayWidth))).toBeGreaterThan(width - 4);
  });

  test("is as wide as it must be where nobody looks at a terminal, and cut no further than it can be read", () => {
    expect(linesAt(Number.POSITIVE_INFINITY).join("\n")).toContain("v".repeat(1_024));
    expect(linesAt(1)[1]).toMatch(/^orde…001 +bill…com +3764817229774849$/);
  });
});

test.each<[text: string, width: number, cut: string]>([
  ["orders/1001", 11, "orders/1001"],
  ["orders/1001", 10, "order…1001"],
  ["orders/1001", 1, "…"],
  ["注文/東京/大阪", 10, "注文/…大阪"],
  ["👩🏽👩🏽👩🏽👩🏽", 5, "👩🏽…👩🏽"],
  ["", 1, ""],
])("%j in %i columns is %j", (text, width, cut) => {
  expect(cutInTheMiddle(text, width)).toBe(cut);
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
  ["half-width kana with marks next to them", "ｶﾞﾊﾟ", 4],
  ["vowel signs next to their consonants", "किताब", 5],
  ["and above or below them", "कुके", 2],
])("%s: %j", (_what, text, width) => {
  expect(displayWidth(text)).toBe(width);
});
