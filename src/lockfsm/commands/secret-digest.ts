/**
 * The one-way digest that the table stores instead of a secret, which is the nonce of a session or
 * the secret of a ticket. It recognises a client that presents the secret, and someone who reads
 * the table, in a snapshot or its file, learns nothing to present. A secret must never be stored
 * with its digest.
 *
 * It is the first 128 bits of SHA-256 (FIPS 180-4). Secrets have 128 random bits, so a salt or a
 * slow function would add nothing. It is written here because a pure room has no `node:crypto`.
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
/** Scratch space; its contents mean nothing between two calls. */
const schedule = new Int32Array(64);

/** The digest of a secret in ASCII: 32 hex digits, like the secrets themselves. */
export function digestOf(secret: string): string {
  const { length } = secret;
  const state = Int32Array.from(INITIAL);
  // The text, a one bit, zeros, and the count of its bits in the last eight bytes.
  const blocks = Math.ceil((length + 9) / BLOCK_BYTES);
  for (let block = 0; block < blocks; block += 1) {
    schedule.fill(0);
    for (let at = 0; at < BLOCK_BYTES; at += 1) {
      const from = block * BLOCK_BYTES + at;
      const byte = from < length ? secret.charCodeAt(from) : from === length ? 0x80 : 0;
      (schedule[at >> 2] as number) |= byte << (24 - 8 * (at & 3));
    }
    if (block === blocks - 1) schedule[15] = length * 8;
    compress(state);
  }
  let text = "";
  for (let at = 0; at < DIGEST_WORDS; at += 1) {
    text += ((state[at] as number) >>> 0).toString(16).padStart(8, "0");
  }
  return text;
}

/** Processes one block, whose words are the first sixteen of `schedule`. */
function compress(state: Int32Array): void {
  const w = schedule;
  for (let t = 16; t < 64; t += 1) {
    const x = w[t - 15] as number;
    const y = w[t - 2] as number;
    const s0 = rotated(x, 7) ^ rotated(x, 18) ^ (x >>> 3);
    const s1 = rotated(y, 17) ^ rotated(y, 19) ^ (y >>> 10);
    w[t] = (w[t - 16] as number) + s0 + (w[t - 7] as number) + s1;
  }
  let [a, b, c, d, e, f, g, h] = state as unknown as [
    ...[number, number, number, number],
    ...[number, number, number, number],
  ];
  for (let t = 0; t < 64; t += 1) {
    const s1 = rotated(e, 6) ^ rotated(e, 11) ^ rotated(e, 25);
    const t1 = (h + s1 + ((e & f) ^ (~e & g)) + (ROUND[t] as number) + (w[t] as number)) | 0;
    const s0 = rotated(a, 2) ^ rotated(a, 13) ^ rotated(a, 22);
    const t2 = s0 + ((a & b) ^ (a & c) ^ (b & c));
    [h, g, f, e, d, c, b, a] = [g, f, e, (d + t1) | 0, c, b, a, (t1 + t2) | 0];
  }
  for (const [at, word] of [a, b, c, d, e, f, g, h].entries()) {
    state[at] = (state[at] as number) + word;
  }
}

function rotated(word: number, by: number): number {
  return (word >>> by) | (word << (32 - by));
}
