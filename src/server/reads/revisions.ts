/**
 * The order of revisions: places in the row of everything that happened to locks, the same on every
 * node. A number that no change of an entry reaches stands for the whole entry.
 */
import { REVISION_NUMBER_MAX, type Revision } from "../../protocol/index.js";

/** Whether `revision` comes after `other`. */
export function isAfter(revision: Revision, other: Revision): boolean {
  return (
    revision.index > other.index ||
    (revision.index === other.index && revision.number > other.number)
  );
}

/** The place right before a revision. */
export function placeBefore({ index, number }: Revision): Revision {
  return number > 0 ? { index, number: number - 1 } : endOfEntry(index - 1);
}

/** Behind everything that the entry changed. */
export function endOfEntry(index: number): Revision {
  return { index, number: REVISION_NUMBER_MAX };
}
