import { execFileSync } from "node:child_process";
import fc from "fast-check";
import { expect, test } from "vitest";
import { exportLines, shellWord } from "../../../bin/text/shell-word.js";

test("a shell reads back the text itself", () => {
  for (const plain of ["wss://127.0.0.1:7411,wss://[::1]:1", "/a_b/c.d-e", "~/a b", "it's $HOME"]) {
    expect(execFileSync("sh", ["-c", `printf %s ${shellWord(plain)}`]).toString()).toBe(plain);
  }
  const text = fc.string({ unit: fc.constantFrom(..."a'\"\\$` *~!#&;\n"), maxLength: 12 });
  const read = (words: string): string =>
    execFileSync("sh", ["-c", `printf '%s\\0' ${words}`]).toString();
  fc.assert(
    fc.property(fc.array(text, { minLength: 1, maxLength: 50 }), (texts) => {
      expect(read(texts.map(shellWord).join(" "))).toBe(texts.map((one) => `${one}\0`).join(""));
    }),
    { numRuns: 10 },
  );
});

test("a list that is too long for a line is set in several, which a shell adds up", () => {
  const urls = [1, 2, 3].map((node) => `wss://127.0.0.1:1841${node}`);
  const short = urls.slice(0, 2).join(",");
  expect(exportLines("ENDPOINTS", short, 78)).toEqual([`export ENDPOINTS=${short}`]);
  for (const list of [urls.join(","), `${"/a b".repeat(30)},c$d,it's`]) {
    const lines = exportLines("ENDPOINTS", list, 78);
    expect(lines).toHaveLength(3);
    const pasted = lines.map((line) => `  ${line}\n`).join("");
    const script = `${pasted}printf %s "$ENDPOINTS"`;
    expect(execFileSync("sh", ["-c", script], { encoding: "utf8" })).toBe(list);
  }
});
