/**
 * Shortens long numbers, such as tokens of 16 digits, so that people can compare them: to as many
 * of their last digits as distinguish all numbers of one story.
 */
const LONG = /\d{9,}/g;
const DIGITS_MIN = 4;

/** Gives each long number of `texts` its short form; other numbers are unchanged. */
export function shortNumbers(texts: readonly string[]): (number: string) => string {
  const numbers = [...new Set(texts.flatMap((text) => text.match(LONG) ?? []))];
  const longest = Math.max(0, ...numbers.map(({ length }) => length));
  let digits = DIGITS_MIN;
  const endings = () => new Set(numbers.map((each) => each.slice(-digits))).size;
  while (digits < longest && endings() < numbers.length) digits += 1;
  return (number) => {
    const isShorter = number.length > digits && numbers.includes(number);
    return isShorter ? `…${number.slice(-digits)}` : number;
  };
}

/** The texts with every long number in its short form. */
export function withShortNumbers(texts: readonly string[]): string[] {
  const short = shortNumbers(texts);
  return texts.map((text) => text.replace(LONG, short));
}

/** The parts of a text, with long numbers separate, for other ways to show them. */
export function partsOf(
  text: string,
): readonly { readonly text: string; readonly isLong: boolean }[] {
  return text
    .split(/(\d{9,})/)
    .filter((part) => part !== "")
    .map((part) => ({ text: part, isLong: /^\d{9,}$/.test(part) }));
}
