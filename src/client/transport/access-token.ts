/**
 * The form of access tokens: `hf_`, then 32 random bytes and their CRC-32 in base64url. Scanners for
 * secrets find the prefix, and the checksum shows a damaged token before it is sent. Tokens of
 * another form are allowed, because the cluster compares only digests. No text that is made here
 * contains a token, other than the token itself.
 */
import { isValidAccessToken } from "../../protocol/index.js";

export const TOKEN_SECRET_BYTES = 32;
const PREFIX = "hf_";
const CHECKSUM_BYTES = 4;
/** Both together fill it without padding. */
const DIGITS = 48;
const FORM = new RegExp(`^${PREFIX}[A-Za-z0-9_-]{${DIGITS}}$`);
/** The polynomial of CRC-32, reflected. */
const POLYNOMIAL = 0xedb88320;

/** The token with that secret of `TOKEN_SECRET_BYTES`. */
export function accessTokenOf(secret: Uint8Array): string {
  const bytes = new Uint8Array(TOKEN_SECRET_BYTES + CHECKSUM_BYTES);
  bytes.set(secret);
  new DataView(bytes.buffer).setUint32(TOKEN_SECRET_BYTES, crc32(secret));
  const digits = btoa(String.fromCharCode(...bytes));
  return PREFIX + digits.replaceAll("+", "-").replaceAll("/", "_");
}

/** Why the text cannot be an access token; `undefined` if it can. */
export function accessTokenProblem(token: string): string | undefined {
  const problem = isValidAccessToken(token);
  if (problem !== undefined) return `no access token: ${problem}`;
  if (!token.startsWith(PREFIX)) return undefined;
  if (FORM.test(token) && hasChecksum(token.slice(PREFIX.length))) return undefined;
  return "the access token is damaged: characters are missing, changed or added; copy it again";
}

function hasChecksum(digits: string): boolean {
  const text = atob(digits.replaceAll("-", "+").replaceAll("_", "/"));
  const bytes = Uint8Array.from(text, (character) => character.charCodeAt(0));
  const checksum = new DataView(bytes.buffer).getUint32(TOKEN_SECRET_BYTES);
  return checksum === crc32(bytes.subarray(0, TOKEN_SECRET_BYTES));
}

function crc32(bytes: Uint8Array): number {
  let rest = 0xffffffff;
  for (const byte of bytes) {
    rest ^= byte;
    for (let bit = 0; bit < 8; bit += 1) rest = (rest >>> 1) ^ (rest & 1 ? POLYNOMIAL : 0);
  }
  return ~rest >>> 0;
}
