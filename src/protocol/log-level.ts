/**
 * The levels of a log. Imports nothing: every command loads this file at its start, with the options
 * of a node.
 */

/**
 * Which lines a node logs: the lines of its level and of all levels that follow it. The wire
 * carries the number.
 */
export const LOG_LEVEL = { debug: 0, info: 1, warn: 2, error: 3 } as const;
/** The name of a level of a node's log. */
export type LogLevel = keyof typeof LOG_LEVEL;
export const LOG_LEVELS = Object.keys(LOG_LEVEL) as readonly LogLevel[];
