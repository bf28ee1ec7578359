/**
 * Bytes of a received WebSocket message that can be kept.
 *
 * `ws` returns views of the chunk that the socket delivered. A part of such a view keeps the whole
 * chunk in memory, with everything else that arrived in it. One copy per message avoids that, and
 * views of the copy cost nothing more.
 */

/** `data`, or a copy of it if it is only part of a larger buffer. */
export function ownBytes(data: Uint8Array): Uint8Array {
  if (data.byteLength !== data.buffer.byteLength) return new Uint8Array(data);
  return new Uint8Array(data.buffer, 0, data.byteLength);
}
