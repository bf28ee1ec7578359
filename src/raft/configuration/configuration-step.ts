/**
 * Which configurations can follow one another in the log of a correct leader (`../membership.ts`,
 * thesis, chapter 4). A follower believes no other: the members count as soon as their entry is in
 * its log, so one entry with voters that do not exist would leave it without a leader (rule 29). It
 * must accept everything that a leader appends.
 */
import type { Configuration } from "../types.js";
import {
  hasSameVoters,
  isJoint,
  isSameConfiguration,
  isSameRow,
  membersOf,
  settledOf,
} from "./configuration.js";

/** Whether a leader with the configuration `before` may append `next`. */
export function isNextConfiguration(before: Configuration, next: Configuration): boolean {
  // A node that waits to learn its members does not know the configuration before.
  if (before.voters.length === 0) return true;
  if (isJoint(before)) return isSameConfiguration(next, settledOf(before));
  if (!isJoint(next)) return hasSameVoters(before, next);
  const members = membersOf(before);
  return (
    !hasSameVoters(before, next) &&
    isSameRow(
      next.outgoing,
      [...before.voters].sort((a, b) => a - b),
    ) &&
    // A new voter had to catch up as a learner first.
    next.voters.every((id) => members.includes(id))
  );
}
