/**
 * What people read in a file, line by line: the prose of a document, the comments of code, also of
 * examples in documents, and texts of more than one word: messages, help, titles of tests,
 * descriptions in JSON and YAML. Names and code within them are left out.
 */
export interface EnglishLine {
  readonly line: number;
  readonly text: string;
}

const COMMENT = /^\s*(?:(?:\/\*\*?|\*|\/\/)\s?|#+\s)(.*)$/;
const COMMENT_AT_END = /\s\/\/ (.*)$/;
const TEXT = /"((?:\\.|[^"\\])*)"|'((?:\\.|[^'\\])*)'|`((?:\\.|[^`\\])*)`/g;
/** The beginning of a text in backticks that goes on in the next line. */
const LAST_TICK = /(?<!\\)`([^`]*)$/;
const CODE_SPAN = /`[^`]*`|<[^>]*>|\]\([^)]*\)/g;

export function englishLines(path: string, source: string): readonly EnglishLine[] {
  const lines = source.split("\n");
  if (path.endsWith(".md")) return proseOf(lines);
  if (path.endsWith(".yml")) return lines.map((text, at) => lineOf(at, text));
  return commentsAndTextsOf(lines);
}

function proseOf(lines: readonly string[]): readonly EnglishLine[] {
  let isCode = false;
  return lines.flatMap((text, at) => {
    if (/^\s*```/.test(text)) {
      isCode = !isCode;
      return [];
    }
    return isCode ? commentsAndTextsIn(text).map((each) => lineOf(at, each)) : [lineOf(at, text)];
  });
}

function commentsAndTextsOf(lines: readonly string[]): readonly EnglishLine[] {
  // Whether a text in backticks goes on from the line before.
  let isText = false;
  return lines.flatMap((source, at) => {
    if (!isText) {
      const [, opened] = LAST_TICK.exec(withoutWholeTexts(source)) ?? [];
      isText = opened !== undefined;
      return [...commentsAndTextsIn(source), opened ?? ""].map((text) => lineOf(at, text));
    }
    const end = source.search(/(?<!\\)`/);
    isText = end < 0;
    return [lineOf(at, isText ? source : source.slice(0, end))];
  });
}

function commentsAndTextsIn(source: string): readonly string[] {
  const comment = (COMMENT.exec(source) ?? COMMENT_AT_END.exec(source))?.[1] ?? "";
  if (COMMENT.test(source)) return [comment];
  const texts = [...source.matchAll(TEXT)].map(([, a, b, c]) => a ?? b ?? c ?? "");
  return [comment, ...texts.filter((text) => / /.test(text))];
}

/** Leaves a backtick only where a text begins that does not end in this line. */
function withoutWholeTexts(source: string): string {
  return COMMENT.test(source) ? "" : source.replace(TEXT, "").replace(COMMENT_AT_END, "");
}

function lineOf(at: number, text: string): EnglishLine {
  return { line: at + 1, text: text.replace(CODE_SPAN, "x").trim() };
}
