/**
 * Decodes what a node sends, and packs and unpacks payloads. This is the only part of `net` that
 * clients use, also in browsers.
 */
export { decodeServerFrame } from "./decode-server-frame.js";
export { packPayload, writePayload } from "./pack-payload.js";
export { unpackPayload } from "./unpack-payload.js";
