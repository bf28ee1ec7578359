/**
 * Words of a Lua script. Comments and blanks are dropped. `undefined`: the text has something that no
 * lock script has, or too many words.
 */

/** The longest script that is read, in characters. The longest known one has 1,700. */
const SCRIPT_CHARACTERS_MAX = 8_192;
const TOKENS_MAX = 2_048;

export type Token =
  | { readonly kind: "name" | "keyword" | "string" | "sign"; readonly text: string }
  | { readonly kind: "number"; readonly number: number };

const KEYWORDS = new Set(
  (
    "and break do else elseif end false for function if in local nil not or repeat return then " +
    "true until while"
  ).split(" "),
);

/** The first that matches is the next word, so that longer signs stand before shorter ones. */
const WORD =
  /(?<blank>[ \t\r\n\f\v]+|--(?!\[=*\[)[^\n]*)|(?<name>[A-Za-z_]\w*)|(?<number>\d+(?:\.\d+)?(?![\w.]))|(?<quote>["'])|(?<sign>\.\.\.|\.\.|==|~=|<=|>=|[-+*/%#<>=(){}[\];:,.])/y;

const ESCAPES: Readonly<Record<string, string>> = {
  n: "\n",
  r: "\r",
  t: "\t",
  "\\": "\\",
  '"': '"',
  "'": "'",
};
const LONG_COMMENT = "--[";

export function readTokens(text: string): readonly Token[] | undefined {
  if (text.length > SCRIPT_CHARACTERS_MAX) return undefined;
  const tokens: Token[] = [];
  let at = 0;
  while (at < text.length) {
    if (text.startsWith(LONG_COMMENT, at)) {
      const end = endOfLongComment(text, at);
      if (end !== undefined) {
        if (end < 0) return undefined;
        at = end;
        continue;
      }
    }
    WORD.lastIndex = at;
    const groups = WORD.exec(text)?.groups;
    if (groups === undefined || tokens.length >= TOKENS_MAX) return undefined;
    const { blank, name, number, quote, sign } = groups;
    at = WORD.lastIndex;
    if (blank !== undefined) continue;
    if (name !== undefined) {
      tokens.push({ kind: KEYWORDS.has(name) ? "keyword" : "name", text: name });
    } else if (number !== undefined) {
      tokens.push({ kind: "number", number: Number(number) });
    } else if (sign !== undefined) {
      tokens.push({ kind: "sign", text: sign });
    } else {
      const string = readString(text, at, quote as string);
      if (string === undefined) return undefined;
      tokens.push({ kind: "string", text: string.text });
      at = string.end;
    }
  }
  return tokens;
}

/** `undefined`: none begins there; -1: it has no end. */
function endOfLongComment(text: string, at: number): number | undefined {
  const open = /--\[(=*)\[/y;
  open.lastIndex = at;
  const level = open.exec(text)?.[1];
  if (level === undefined) return undefined;
  const close = `]${level}]`;
  const end = text.indexOf(close, open.lastIndex);
  return end < 0 ? -1 : end + close.length;
}

function readString(
  text: string,
  start: number,
  quote: string,
): { readonly text: string; readonly end: number } | undefined {
  let read = "";
  for (let at = start; at < text.length; at++) {
    const character = text[at] as string;
    if (character === quote) return { text: read, end: at + 1 };
    if (character === "\n") return undefined;
    if (character !== "\\") {
      read += character;
      continue;
    }
    at += 1;
    const escaped = ESCAPES[text[at] ?? ""];
    if (escaped === undefined) return undefined;
    read += escaped;
  }
  return undefined;
}
