/** What the table keeps of a token. */
import { createHash } from "node:crypto";

/** SHA-256 as 64 hex digits. */
export function digestOf(token: string): string {
  return createHash("sha256").update(token).digest("hex");
}
