/** The pages of reference that are made from tables, or must have a heading for each entry of one. */
import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { optionsPage } from "../../bin/config/options-page.js";
import { exitCodeOfError } from "../../bin/exit/exit-codes.js";
import { ERROR_NUMBERS, type ErrorCode, HoldfastError } from "../../src/errors/index.js";

const page = (name: string): Promise<string> =>
  readFile(new URL(`../../docs/reference/${name}`, import.meta.url), "utf8");

test("the page of options is what `holdfast config reference` prints", async () => {
  expect(await page("options.md")).toBe(optionsPage());
});

test("the page of errors has a heading for every code, in their order, and no other", async () => {
  const headings = [...(await page("errors.md")).matchAll(/^## (.+)$/gm)].map(([, code]) => code);
  expect(headings).toEqual(Object.keys(ERROR_NUMBERS));
});

test("what the page of errors says of a code is so", async () => {
  const text = await page("errors.md");
  const codes = Object.keys(ERROR_NUMBERS) as ErrorCode[];
  for (const code of codes) {
    const isRetryable = new HoldfastError(code, "").retryable ? "yes" : "no";
    const exitCode = exitCodeOfError(code);
    const row = `| [\`${code}\`](#${code.toLowerCase()}) | ${ERROR_NUMBERS[code]} | ${isRetryable} | ${exitCode} |`;
    expect(text).toContain(row);
    const [, section = ""] = text.split(`\n## ${code}\n`);
    const [own = ""] = section.split("\n## ");
    expect(own).toMatch(/^\n\S[^\n]+\n\n- \*\*When\*\*: .+\n- \*\*What to do\*\*: .+\n/);
    expect(own).toContain(`\n- **Retryable**: ${isRetryable}.\n- **Indeterminate**: `);
  }
});
