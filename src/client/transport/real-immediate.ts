/**
 * The platform's own `setImmediate`, kept when this package is loaded: the fake timers of a test
 * replace the global one, and then nothing would ever be sent. `undefined` in browsers.
 */
type Immediate = (task: () => void) => unknown;

export const realImmediate = (globalThis as { setImmediate?: Immediate }).setImmediate;
