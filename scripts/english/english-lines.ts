/**
 * What people read in a file, line by line: the prose of a document, the comments of code, and its
 * texts of more than one word (messages, titles of tests). Names and code within them are left out.
 */
export interface EnglishLine {
  readonly line: number;
  readonly text: string;
}

const COMMENT = /^\s*(?:(?:\/\*\*?|\*|\/\/)\s?|#+\s)(.*)$/;
const COMMENT_AT_END = /\s\/\/ (.*)$/;
const TEXT = /"((?:\\.|[^"\\])*)"|'((?:\\.|[^'\\])*)'|`((?:\\.|[^`\\])*)`/g;
const CODE_SPAN = /`[^`]*`|<[^>]*>|\]\([^)]*\)/g;

export function englishLines(path: string, source: string): readonly EnglishLine[] {
  const lines = source.split("\n");
  return path.endsWith(".md") ? proseOf(lines) : commentsAndTextsOf(lines);
}

function proseOf(lines: readonly string[]): readonly EnglishLine[] {
  let isCode = false;
  return lines.flatMap((text, at) => {
    if (/^\s*```/.test(text)) {
      isCode = !isCode;
      return [];
    }
    return isCode ? [] : [{ line: at + 1, text: text.replace(CODE_SPAN, "x") }];
  });
}

function commentsAndTextsOf(lines: readonly string[]): readonly EnglishLine[] {
  return lines.flatMap((source, at) => {
    const comment = (COMMENT.exec(source) ?? COMMENT_AT_END.exec(source))?.[1];
    const isComment = COMMENT.test(source);
    const texts = isComment
      ? []
      : [...source.matchAll(TEXT)].map(([, a, b, c]) => a ?? b ?? c ?? "");
    return [comment ?? "", ...texts.filter((text) => / /.test(text))]
      .filter((text) => text !== "")
      .map((text) => ({ line: at + 1, text: text.replace(CODE_SPAN, "x").trim() }));
  });
}
