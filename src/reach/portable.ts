/**
 * What needs nothing of Node: for browsers, and for commands that should not load HTTP when they start.
 */
export { endpointUrl } from "./endpoint-url.js";
export { isProtected } from "./protected-url.js";
export { isLate, within } from "./within.js";
