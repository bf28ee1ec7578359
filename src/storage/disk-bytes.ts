/** How all files here write a number, and how much of a file a disk writes at once. */

/** The unit that a disk writes completely or not at all. */
export const SECTOR_BYTES = 512;

/** A number up to 2^53 − 1 in eight bytes. Returns the position after it. */
export function writeUint53(target: Buffer, value: number, at: number): number {
  const high = Math.floor(value / 0x1_0000_0000);
  target.writeUInt32LE(value - high * 0x1_0000_0000, at);
  return target.writeUInt32LE(high, at + 4);
}

/** The reverse. A value above 2^53 − 1 becomes a number that is not a safe integer. */
export function readUint53(source: Buffer, at: number): number {
  return source.readUInt32LE(at + 4) * 0x1_0000_0000 + source.readUInt32LE(at);
}
