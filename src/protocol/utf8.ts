/**
 * Encodes and decodes UTF-8 by hand, because the pure rooms have no TextEncoder and because
 * decoding must be strict: overlong forms, encoded surrogates and code points beyond U+10FFFF are
 * refused (RFC 3629, section 3), so that two byte strings never decode to the same text. Nothing
 * here may replace a bad character by another one.
 */

/** The most code units joined by one call; the engine's limit on arguments is far above. */
const UNITS_PER_CALL = 4_096;

/**
 * The number of bytes of `text` in UTF-8; -1 if it contains a lone surrogate and has no such form.
 */
export function utf8Length(text: string): number {
  let length = 0;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit < 0x80) length += 1;
    else if (unit < 0x800) length += 2;
    else if (unit < 0xd800 || unit > 0xdfff) length += 3;
    else {
      if (!isSurrogatePair(text, i)) return -1;
      length += 4;
      i += 1;
    }
  }
  return length;
}

/**
 * Writes `text`, which must have no lone surrogate, at `offset`, where there must be room. Returns
 * its end.
 */
export function writeUtf8(text: string, target: Uint8Array, offset: number): number {
  let at = offset;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit < 0x80) {
      target[at++] = unit;
    } else if (unit < 0x800) {
      target[at++] = 0xc0 | (unit >> 6);
      target[at++] = 0x80 | (unit & 0x3f);
    } else if (unit < 0xd800 || unit > 0xdfff) {
      target[at++] = 0xe0 | (unit >> 12);
      target[at++] = 0x80 | ((unit >> 6) & 0x3f);
      target[at++] = 0x80 | (unit & 0x3f);
    } else {
      const point = 0x10000 + ((unit & 0x3ff) << 10) + (text.charCodeAt(++i) & 0x3ff);
      target[at++] = 0xf0 | (point >> 18);
      target[at++] = 0x80 | ((point >> 12) & 0x3f);
      target[at++] = 0x80 | ((point >> 6) & 0x3f);
      target[at++] = 0x80 | (point & 0x3f);
    }
  }
  return at;
}

/** The text in `bytes[start, end)`; `undefined` if these are not valid UTF-8. */
export function readUtf8(bytes: Uint8Array, start: number, end: number): string | undefined {
  let text = "";
  let units: number[] = [];
  let at = start;
  while (at < end) {
    const lead = bytes[at] as number;
    const width = sequenceWidth(lead);
    if (width === 0 || at + width > end) return undefined;
    const point = width === 1 ? lead : codePoint(bytes, at, lead, width);
    if (point < 0) return undefined;
    if (point < 0x10000) units.push(point);
    else units.push(0xd7c0 + (point >> 10), 0xdc00 | (point & 0x3ff));
    at += width;
    if (units.length >= UNITS_PER_CALL) {
      text += String.fromCharCode.apply(String, units);
      units = [];
    }
  }
  return text + String.fromCharCode.apply(String, units);
}

function isSurrogatePair(text: string, index: number): boolean {
  const high = text.charCodeAt(index);
  const low = text.charCodeAt(index + 1);
  return high < 0xdc00 && low >= 0xdc00 && low <= 0xdfff;
}

/** The number of bytes of the sequence that `lead` begins; 0 if no sequence begins with it. */
function sequenceWidth(lead: number): number {
  if (lead < 0x80) return 1;
  if (lead < 0xc2) return 0;
  if (lead < 0xe0) return 2;
  if (lead < 0xf0) return 3;
  return lead < 0xf5 ? 4 : 0;
}

/**
 * The code point of a sequence of two to four bytes; -1 if it is not valid or not in its shortest
 * form.
 */
function codePoint(bytes: Uint8Array, at: number, lead: number, width: number): number {
  let point = lead & (0x7f >> width);
  for (let i = 1; i < width; i++) {
    const byte = bytes[at + i] as number;
    if ((byte & 0xc0) !== 0x80) return -1;
    point = (point << 6) | (byte & 0x3f);
  }
  if (width === 3 && (point < 0x800 || (point >= 0xd800 && point <= 0xdfff))) return -1;
  if (width === 4 && (point < 0x10000 || point > 0x10ffff)) return -1;
  return point;
}
