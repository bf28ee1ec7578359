/**
 * The order of revisions: places in the sequence of all changes of locks, the same on every node. A
 * number above every change's stands for the end of the entry.
 */
import { REVISION_NUMBER_MAX, type Revision } from "../../protocol/index.js";

/** Whether `revision` comes after `other`. */
export function isAfter(revision: Revision, other: Revision): boolean {
  return (
    revision.index > other.index ||
    (revision.index === other.index && revision.number > other.number)
  );
}

/** The place just before a revision. */
export function placeBefore({ index, number }: Revision): Revision {
  return number > 0 ? { index, number: number - 1 } : endOfEntry(index - 1);
}

/** After everything that the entry changed. */
export function endOfEntry(index: number): Revision {
  return { index, number: REVISION_NUMBER_MAX };
}

/** The last entry of which a place has passed everything. */
export function wholeEntryAt({ index, number }: Revision): number {
  return number === REVISION_NUMBER_MAX ? index : index - 1;
}
