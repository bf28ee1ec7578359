/**
 * The first 128 bits of SHA-256 (FIPS 180-4), as 32 hex digits: what the table keeps in place of a
 * secret, and how the SDK names the owner of a lease. A digest recognises a client that presents the
 * secret, and someone who reads the table, in a snapshot or its file, learns nothing to present. A
 * secret must never be stored with its digest.
 *
 * Secrets have 128 random bits, so a salt or a slow function would add nothing. It is written here
 * because the pure rooms have no `node:crypto`, and because the SDK cannot wait for the one in a
 * browser.
 */

/** The fractional parts of the cube roots of the first 64 primes. */
const ROUND = Int32Array.of(
  ...[0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4],
  ...[0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe],
  ...[0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f],
  ...[0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7],
  ...[0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc],
  ...[0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b],
  ...[0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116],
  ...[0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3],
  ...[0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7],
  0xc67178f2,
);
/** The fractional parts of the square roots of the first eight primes. */
const INITIAL = Int32Array.of(
  ...[0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a],
  ...[0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19],
);
const BLOCK_BYTES = 64;
const DIGEST_WORDS = 4;
/** Each byte in hex digits. */
const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));
/** Scratch space; its contents mean nothing between two calls. */
const state = new Int32Array(8);
const schedule = new Int32Array(64);

/** The digest of a text in ASCII, such as a secret in hex digits. */
export function digestOf(text: string): string {
  return digest(text.length, (at) => text.charCodeAt(at));
}

export function digestOfBytes(bytes: Uint8Array): string {
  return digest(bytes.length, (at) => bytes[at] as number);
}

function digest(length: number, byteAt: (at: number) => number): string {
  state.set(INITIAL);
  // The text, a one bit, zeros, and the count of its bits in the last eight bytes.
  const blocks = Math.ceil((length + 9) / BLOCK_BYTES);
  for (let block = 0; block < blocks; block += 1) {
    schedule.fill(0, 0, 16);
    const start = block * BLOCK_BYTES;
    const end = Math.min(length - start, BLOCK_BYTES);
    for (let at = 0; at < end; at += 1) {
      (schedule[at >> 2] as number) |= byteAt(start + at) << (24 - 8 * (at & 3));
    }
    if (end >= 0 && end < BLOCK_BYTES) {
      (schedule[end >> 2] as number) |= 0x80 << (24 - 8 * (end & 3));
    }
    if (block === blocks - 1) schedule[15] = length * 8;
    compress();
  }
  let digits = "";
  for (let at = 0; at < DIGEST_WORDS; at += 1) {
    const word = state[at] as number;
    digits +=
      (HEX[word >>> 24] as string) +
      (HEX[(word >>> 16) & 255] as string) +
      (HEX[(word >>> 8) & 255] as string) +
      (HEX[word & 255] as string);
  }
  return digits;
}

/** Processes one block, whose words are the first sixteen of `schedule`. */
function compress(): void {
  const w = schedule;
  for (let t = 16; t < 64; t += 1) {
    const x = w[t - 15] as number;
    const y = w[t - 2] as number;
    const s0 = rotated(x, 7) ^ rotated(x, 18) ^ (x >>> 3);
    const s1 = rotated(y, 17) ^ rotated(y, 19) ^ (y >>> 10);
    w[t] = (w[t - 16] as number) + s0 + (w[t - 7] as number) + s1;
  }
  let a = state[0] as number;
  let b = state[1] as number;
  let c = state[2] as number;
  let d = state[3] as number;
  let e = state[4] as number;
  let f = state[5] as number;
  let g = state[6] as number;
  let h = state[7] as number;
  for (let t = 0; t < 64; t += 1) {
    const s1 = rotated(e, 6) ^ rotated(e, 11) ^ rotated(e, 25);
    const t1 = (h + s1 + ((e & f) ^ (~e & g)) + (ROUND[t] as number) + (w[t] as number)) | 0;
    const s0 = rotated(a, 2) ^ rotated(a, 13) ^ rotated(a, 22);
    const t2 = s0 + ((a & b) ^ (a & c) ^ (b & c));
    h = g;
    g = f;
    f = e;
    e = (d + t1) | 0;
    d = c;
    c = b;
    b = a;
    a = (t1 + t2) | 0;
  }
  // An array of them would be made for each block, and a digest would take three times as long.
  state[0] = (state[0] as number) + a;
  state[1] = (state[1] as number) + b;
  state[2] = (state[2] as number) + c;
  state[3] = (state[3] as number) + d;
  state[4] = (state[4] as number) + e;
  state[5] = (state[5] as number) + f;
  state[6] = (state[6] as number) + g;
  state[7] = (state[7] as number) + h;
}

function rotated(word: number, by: number): number {
  return (word >>> by) | (word << (32 - by));
}
