/**
 * A claim as one line of text, for HTTP headers, message headers and environment variables:
 *
 *   exclusive 3710851743744001
 *   shared 3710851743744002
 *   permits 3710851743744003 slots=0,2
 *
 * The mode is required: a token without it could only be treated as exclusive, which would refuse
 * the other shared holders.
 */
import { HoldfastError } from "../errors/index.js";
import { type Claim, type ClaimMode, checkedClaim } from "./claim.js";

/** The header that carries a claim. Lower case, as in Node and HTTP/2. */
export const FENCE_HEADER = "holdfast-fence";

const LINE = /^(exclusive|shared|permits) ([1-9]\d{0,15})(?: slots=(\d{1,6}(?:,\d{1,6})*))?$/;
/** Enough for all slots that one claim can have. */
const LINE_LENGTH_MAX = 8_192;

/** Throws `TypeError` or `RangeError` if it is not a claim. */
export function formatClaim(claim: Claim): string {
  const { token, mode, slots = [] } = checkedClaim(claim);
  return mode === "permits" ? `${mode} ${token} slots=${slots.join(",")}` : `${mode} ${token}`;
}

/** Parses a line that `formatClaim` wrote. Throws `INVALID_ARGUMENT`. */
export function parseClaim(line: string): Claim {
  const match = line.length > LINE_LENGTH_MAX ? null : LINE.exec(line);
  const [, mode, token, slots] = match ?? [];
  if (mode === undefined || (mode === "permits") !== (slots !== undefined)) throw malformed(line);
  try {
    return checkedClaim({
      token: Number(token),
      mode: mode as ClaimMode,
      ...(slots === undefined ? {} : { slots: slots.split(",").map(Number) }),
    });
  } catch (error) {
    throw malformed(line, error);
  }
}

function malformed(line: string, cause?: unknown): HoldfastError {
  return new HoldfastError(
    "INVALID_ARGUMENT",
    `${JSON.stringify(line.slice(0, 80))} is not a claim like "exclusive 42" or "permits 42 slots=0"`,
    { cause },
  );
}
