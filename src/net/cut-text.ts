/**
 * Cuts texts for people to the space that they have on the wire. Nothing else may be cut.
 */

/** `text` with at most `bytesMax` bytes of UTF-8, never cut inside a character. */
export function cutText(text: string, bytesMax: number): string {
  // A UTF-16 unit is at most three bytes of UTF-8.
  if (text.length * 3 <= bytesMax) return text;
  const bytes = Buffer.from(text);
  if (bytes.length <= bytesMax) return text;
  let end = bytesMax;
  while (end > 0 && ((bytes[end] as number) & 0xc0) === 0x80) end -= 1;
  return bytes.toString("utf8", 0, end);
}
