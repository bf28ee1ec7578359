/** Our reader of EDN, which knows the line of everything it reads, against another one. */
import { type EDNVal, parseEDNString, toEDNString } from "edn-data";
import fc from "fast-check";
import { expect, test } from "vitest";
import { plainValue, readEdn } from "../../../jepsen-lite/foreign/edn.js";

const name = fc
  .stringMatching(/^[a-z][a-z.?*!-]{0,6}$/)
  .filter((text) => !/^(nil|true|false)$/.test(text));
const character = fc.constantFrom(
  "a",
  "Z",
  "0",
  "é",
  "\\",
  "newline",
  "return",
  "space",
  "tab",
  "u00e9",
);
const text = fc.string({ unit: fc.constantFrom(...'ab"\\\n\r\t\b\f;,#_{}[]() é😀\u0000') });

const { value } = fc.letrec<{ value: EDNVal }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom(null, true, false),
    fc.maxSafeInteger(),
    fc
      .double({ noNaN: true, noDefaultInfinity: true })
      .filter((number) => !Number.isInteger(number)),
    text,
    name.map((key) => ({ key })),
    name.map((sym) => ({ sym })),
    character.map((char) => ({ char })),
    fc.array(tie("value"), { maxLength: 4 }),
    fc.array(tie("value"), { maxLength: 4 }).map((list) => ({ list })),
    fc.array(tie("value"), { maxLength: 4 }).map((set) => ({ set })),
    fc
      .uniqueArray(fc.tuple(name, tie("value")), { maxLength: 4, selector: ([key]) => key })
      .map((pairs) => ({
        map: pairs.map(([key, held]): [EDNVal, EDNVal] => [{ key }, held]),
      })),
    tie("value").map((val) => ({ tag: "a/tag", val })),
  ),
}));

test("both read the same in whatever is written", () => {
  fc.assert(
    fc.property(fc.array(value, { minLength: 1, maxLength: 3 }), (values) => {
      const written = `[${values.map(toEDNString).join(" #_ (left {:out 1})\n;[\n")}]`;
      const theirs = parseEDNString(written, {
        mapAs: "object",
        setAs: "array",
        listAs: "array",
        keywordAs: "string",
        symbolAs: "string",
        charAs: "string",
        tagHandlers: { "a/tag": (tagged: unknown) => tagged },
      });
      const ours = readEdn(written).map((form) => plainValue(form.value));
      expect(JSON.stringify(ours)).toBe(JSON.stringify([theirs]));
    }),
  );
});
