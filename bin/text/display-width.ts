/**
 * How many columns of a terminal a text takes: two for the characters of East Asian scripts and for
 * emoji, none for combining accents, one for the rest. Padding by the number of code units would
 * misalign columns with such names. (Unicode Standard Annex 11, "East Asian Width", version 14: the
 * assigned characters that are W or F, with the unassigned ones between them.)
 */

const ASCII = /^[ -~]*$/;

/** W and F except emoji, which are found by their own property. */
const WIDE_RANGES = [
  String.raw`\u1100-\u115f\u2329\u232a\u2e80-\u303e\u3041-\u3247\u3250-\u4dbf\u4e00-\ua4c6`,
  String.raw`\ua960-\ua97c\uac00-\ud7a3\uf900-\ufad9\ufe10-\ufe19\ufe30-\ufe6b\uff01-\uff60`,
  String.raw`\uffe0-\uffe6\u{16fe0}-\u{1b2fb}\u{1f200}-\u{1f265}\u{20000}-\u{3fffd}`,
];
const WIDE = new RegExp(String.raw`[${WIDE_RANGES.join("")}\p{Emoji_Presentation}]`, "u");

/** Asks for a picture where the character alone would be text. */
const AS_EMOJI = "\ufe0f";

const WITHOUT_WIDTH = /^[\p{Mn}\p{Me}\p{Cf}]+$/u;

/**
 * Characters with a column of their own: vowel signs of Indian scripts, marks of half-width kana.
 */
const BESIDE = /[\p{Mc}\uff9e\uff9f]/gu;

let graphemes: Intl.Segmenter | undefined;

export function displayWidth(text: string): number {
  if (ASCII.test(text)) return text.length;
  graphemes ??= new Intl.Segmenter("en", { granularity: "grapheme" });
  let width = 0;
  for (const { segment } of graphemes.segment(text)) width += graphemeWidth(segment);
  return width;
}

const ELLIPSIS = "…";

/**
 * The text, or its beginning and its end around an ellipsis: never wider than `widthMax`, from 1.
 */
export function cutInTheMiddle(text: string, widthMax: number): string {
  if (displayWidth(text) <= widthMax) return text;
  graphemes ??= new Intl.Segmenter("en", { granularity: "grapheme" });
  const characters = [...graphemes.segment(text)].map(({ segment }) => segment);
  const room = widthMax - 1;
  const start = beginningOf(characters, Math.ceil(room / 2));
  const end = beginningOf(characters.reverse(), room - displayWidth(start.join(""))).reverse();
  return [...start, ELLIPSIS, ...end].join("");
}

/** The text, or its beginning: never wider than `widthMax`, from 0. */
export function cutAtTheEnd(text: string, widthMax: number): string {
  if (displayWidth(text) <= widthMax) return text;
  graphemes ??= new Intl.Segmenter("en", { granularity: "grapheme" });
  const characters = [...graphemes.segment(text)].map(({ segment }) => segment);
  return beginningOf(characters, widthMax).join("");
}

/** As many of the first characters as there is room for. */
function beginningOf(characters: readonly string[], widthMax: number): string[] {
  let width = 0;
  const end = characters.findIndex((character) => {
    width += graphemeWidth(character);
    return width > widthMax;
  });
  return characters.slice(0, end < 0 ? characters.length : end);
}

/** The width of what is read as one character, however many code points it has. */
function graphemeWidth(grapheme: string): number {
  if (WITHOUT_WIDTH.test(grapheme)) return 0;
  if (WIDE.test(grapheme) || grapheme.includes(AS_EMOJI)) return 2;
  return 1 + (grapheme.slice(1).match(BESIDE)?.length ?? 0);
}
