/**
 * The one error for files that are not what they were written as. Whoever meets it changes nothing
 * on disk: the files are evidence, and the only good copy of their contents is on other nodes.
 */
import { HoldfastError } from "../errors.js";

/** Where damage was found. `index`: the first entry that cannot be vouched for; 0 when unknown. */
export interface DamagePlace {
  readonly file: string;
  readonly offset: number;
  readonly index: number;
}

/** `INTERNAL` with the details `{ corrupt: true, file, offset, index, reason }`. */
export function corruption(place: DamagePlace, reason: string): HoldfastError {
  const { file, offset, index } = place;
  const where = index === 0 ? `byte ${offset}` : `byte ${offset}, entry ${index}`;
  return new HoldfastError("INTERNAL", `corrupt: ${file} at ${where}: ${reason}`, {
    details: { corrupt: true, file, offset, index, reason },
  });
}
