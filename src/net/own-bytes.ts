/**
 * Bytes of a received WebSocket message that may be kept.
 *
 * `ws` hands out views of the chunk the socket delivered. Whoever keeps a part of such a view keeps
 * the whole chunk alive, and with it everything else that happened to arrive together. One copy per
 * message ends that; views into the copy are then free.
 */

/** `data`, or a copy of it when it is only a part of a larger buffer. */
export function ownBytes(data: Uint8Array): Uint8Array {
  if (data.byteLength !== data.buffer.byteLength) return new Uint8Array(data);
  return new Uint8Array(data.buffer, 0, data.byteLength);
}
