import { describe, expect, test } from "vitest";
import { blocksOf, expectedOutput, isAsExpected } from "./document-page.js";
import { DocumentProject } from "./document-project.js";

const PAGE = [
  "# Title",
  "<!-- given for the page",
  "const one = 1;",
  "-->",
  "",
  "```ts",
  "console.log(one); // => 1",
  "```",
  "<!-- given",
  "const two = 2;",
  "-->",
  "```ts no-run",
  "console.log(one + two);",
  "```",
  "<!-- given in sh",
  "alias say=echo",
  "-->",
  "```sh",
  "echo three # => t…e",
  "```",
].join("\n");

describe("a page", () => {
  test("has blocks with a language, words and lines, each where it stands", () => {
    const blocks = blocksOf("page.md", PAGE);
    expect(blocks.map(({ line, language, words }) => [line, language, words])).toEqual([
      [7, "ts", []],
      [13, "ts", ["no-run"]],
      [19, "sh", []],
    ]);
    expect(blocks[1]?.lines).toEqual(["console.log(one + two);"]);
  });

  test("gives some lines to all of its blocks of one language, and others to the next only", () => {
    const [first, second, third] = blocksOf("page.md", PAGE);
    const ofPage = { number: 3, text: "const one = 1;" };
    expect(first?.given).toEqual([ofPage]);
    expect(second?.given).toEqual([ofPage, { number: 10, text: "const two = 2;" }]);
    expect(third?.given).toEqual([{ number: 16, text: "alias say=echo" }]);
  });

  test("says what its examples print", () => {
    const [first, second, third] = blocksOf("page.md", PAGE);
    expect([first, second, third].map((block) => block && expectedOutput(block))).toEqual([
      ["1"],
      [],
      ["t…e"],
    ]);
    expect(isAsExpected("three", "t…e")).toBe(true);
    expect(isAsExpected("threes", "t…e")).toBe(false);
    expect(isAsExpected("a.b", "a.b")).toBe(true);
    expect(isAsExpected("axb", "a.b")).toBe(false);
  });

  test("whose code would be passed over in silence is refused, with the line", () => {
    expect(() => blocksOf("page.md", "# Title\n- a list\n  ```ts")).toThrow("page.md:3");
    expect(() => blocksOf("page.md", "# Title\n```js\n```")).toThrow("page.md:2");
    expect(() => blocksOf("page.md", "# Title\n```ts\nlet a;")).toThrow("page.md:2");
    expect(() => blocksOf("page.md", "# Title\n<!-- given\nlet a;")).toThrow("page.md:2");
  });
});

describe("an example that is wrong is found", () => {
  const page = [
    "# Title",
    "```ts",
    "const a: string = 1;",
    "```",
    "```ts",
    'throw new Error("it goes wrong");',
    "```",
    "```ts",
    'import { connect } from "holdfast";',
    "console.log(typeof connect);",
    "```",
    "```sh",
    "false",
    "```",
  ].join("\n");

  test("by the compiler, by its end, and by what it prints", async () => {
    const blocks = blocksOf("page.md", page);
    const [untyped, failing, printing, shell] = blocks;
    if (!untyped || !failing || !printing || !shell) throw new Error("blocks are missing");
    await using project = await DocumentProject.create([untyped, failing, printing]);

    const [diagnostic, ...others] = project.diagnosticsOf(untyped);
    expect(diagnostic).toMatchObject({ line: 3, message: expect.stringContaining("TS2322") });
    expect(others).toEqual([]);
    expect(project.diagnosticsOf(failing)).toEqual([]);

    const failed = await project.run(failing, ["ws://127.0.0.1:1"]);
    expect(failed.code).toBe(1);
    // At its line of the page.
    expect(failed.stderr).toContain("it goes wrong");
    expect(failed.stderr).toContain(".ts:6");

    expect(await project.run(printing, ["ws://127.0.0.1:1"])).toEqual({
      code: 0,
      stdout: "function\n",
      stderr: "",
    });
    expect((await project.run(shell, [])).code).toBe(1);
  });
});
