/**
 * How far cluster time can go. A stamp is milliseconds of cluster time, and never falls along the
 * log, so a stamp that was believed once binds every later leader. It has an absolute end, far below
 * the numbers that can be counted with: deadlines lie behind a stamp. And one message brings it at
 * most to the end of the next era, so that it takes thousands of them to get there. Eras are the
 * same for all nodes: what one believes, another whose table is a little behind believes too.
 */

/** 142,000 years. At the end cluster time stands still: nothing more ends by itself. */
export const STAMP_MAX = 2 ** 52;
/** 34 years, more than any cluster is idle. */
const ERA_MS = 2 ** 40;

/** The latest stamp that is believed by a node whose table has the stamp `stamp`. */
export function latestStampAfter(stamp: number): number {
  return Math.min(STAMP_MAX, (Math.floor(stamp / ERA_MS) + 2) * ERA_MS);
}
