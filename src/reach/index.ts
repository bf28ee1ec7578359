/**
 * How a node is reached, in Node: dials, the reason why TLS failed, the pages of a node, the socket in
 * its directory. What people mean by its address, where a token may be sent, and the time limit of a
 * question are behind another door, `portable.ts`.
 */
export { DIAL_OPTIONS } from "./dial-options.js";
export { endsHandshake, handshakeProblem } from "./handshake-problem.js";
export { type PageTls, readPage } from "./read-page.js";
export { LOCAL_SOCKET_NAME, openSocketDirectory } from "./socket-path.js";
