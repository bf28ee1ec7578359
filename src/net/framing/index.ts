export { decodeServerFrame } from "./decode-server-frame.js";
export { packPayload, unpackPayload } from "./payload.js";
