/**
 * A page of the documents, taken apart: its blocks of code, and what its examples take as given.
 *
 *     ```ts              checked as TypeScript and run against a cluster
 *     ```ts no-run       checked as TypeScript only: it needs what a test has not
 *     ```ts unchecked    neither: code of another library that is not installed here
 *     ```sh              run by the shell against the same cluster; `sh no-run`: not
 *
 * `// => text` (in a shell `# => text`) behind a line that prints says what it prints; `…` stands
 * for anything. What examples need and readers do not (a stand-in for the database, a second
 * holder) stands in comments that no reader sees: `<!-- given` belongs to the next block only,
 * `<!-- given for the page` to all that follow. What ends with ` in sh` is for blocks of the shell, all
 * else for programs.
 */

export interface CodeBlock {
  /** Relative to the root of the repository. */
  readonly page: string;
  /** The number of the first line of code, from 1. */
  readonly line: number;
  readonly language: string;
  /** What else stands behind the fence. */
  readonly words: readonly string[];
  readonly lines: readonly string[];
  /** What its program begins with: line of the page and text. */
  readonly given: readonly Line[];
}

export interface Line {
  readonly number: number;
  readonly text: string;
}

const FENCE = /^```(\w*)\s*(.*)$/;
/** What would be passed over in silence: a fence that is not found, and other names of ts and sh. */
const LOST_FENCE = /^\s+```/;
const OTHER_NAMES: ReadonlySet<string> = new Set(
  "typescript js javascript mjs shell bash".split(" "),
);
const GIVEN = /^<!-- given( for the page)?( in sh)?$/;
const GIVEN_END = "-->";
const EXPECTATION = /(?:\/\/|#) => (.*)$/;

/** All blocks of a page, in order. Throws where one would be missed. */
export function blocksOf(page: string, text: string): CodeBlock[] {
  const blocks: CodeBlock[] = [];
  const given = { program: new Given(), sh: new Given() };
  const lines = text.split("\n");
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at] ?? "";
    const begin = GIVEN.exec(line);
    if (begin !== null) {
      const end = indexOfLine(lines, GIVEN_END, at + 1, page);
      const { ofNext, ofPage } = begin[2] === undefined ? given.program : given.sh;
      (begin[1] === undefined ? ofNext : ofPage).push(...numbered(lines, at + 1, end));
      at = end;
      continue;
    }
    const fence = FENCE.exec(line);
    if (LOST_FENCE.test(line) || OTHER_NAMES.has(fence?.[1] ?? "")) {
      throw new Error(`${page}:${at + 1}: a block begins its line and is called ts or sh`);
    }
    if (fence === null) continue;
    const end = indexOfLine(lines, "```", at + 1, page);
    blocks.push({
      page,
      line: at + 2,
      language: fence[1] ?? "",
      words: (fence[2] ?? "").split(" ").filter((word) => word !== ""),
      lines: lines.slice(at + 1, end),
      given: (fence[1] === "sh" ? given.sh : given.program).take(),
    });
    at = end;
  }
  return blocks;
}

/** What examples need and readers do not. */
class Given {
  readonly ofPage: Line[] = [];
  readonly ofNext: Line[] = [];

  /** For the next block. */
  take(): Line[] {
    return [...this.ofPage, ...this.ofNext.splice(0)];
  }
}

/** What the block says that it prints, line by line. */
export function expectedOutput({ lines }: CodeBlock): string[] {
  const expected: string[] = [];
  for (const line of lines) {
    const text = EXPECTATION.exec(line)?.[1];
    if (text !== undefined) expected.push(text.trim());
  }
  return expected;
}

/** Whether the printed line is what was expected; `…` stands for anything. */
export function isAsExpected(printed: string, expected: string): boolean {
  const parts = expected.split("…").map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  return new RegExp(`^${parts.join(".*")}$`).test(printed.trim());
}

function numbered(lines: readonly string[], from: number, to: number): Line[] {
  return lines.slice(from, to).map((text, index) => ({ number: from + index + 1, text }));
}

function indexOfLine(lines: readonly string[], wanted: string, from: number, page: string): number {
  const at = lines.findIndex((line, index) => index >= from && line === wanted);
  if (at === -1) throw new Error(`${page}:${from}: nothing closes this`);
  return at;
}
