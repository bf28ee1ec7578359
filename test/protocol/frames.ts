/** What the tests of this room do with frames and bytes. */
import { forEachRecord } from "../../src/protocol/batch.js";
import { type ClientRequest, decodeFrame, Writer, writeRequest } from "../../src/protocol/index.js";
import { encodeCommand } from "./command-bytes.js";

/** What a sink received, in order. */
export type Told =
  | { readonly request: ClientRequest; readonly bytes: Uint8Array }
  | { readonly op: number; readonly id: number; readonly reason: string };

/** Reads a frame and returns what its sink received; throws what `decodeFrame` throws. */
export function read(frame: Uint8Array): Told[] {
  const told: Told[] = [];
  decodeFrame(frame, {
    request: (request, start, end) => told.push({ request, bytes: frame.slice(start, end) }),
    invalid: (op, id, reason) => told.push({ op, id, reason }),
  });
  return told;
}

export function frameOf(requests: readonly ClientRequest[]): Uint8Array {
  const writer = new Writer();
  writer.beginFrame();
  for (const request of requests) writeRequest(writer, request);
  writer.endFrame(requests.length);
  return writer.take();
}

/** A frame around requests that are bytes already. At most 15. */
export function wrap(...requests: readonly Uint8Array[]): Uint8Array {
  return Uint8Array.from(Buffer.concat([Uint8Array.of(0x90 | requests.length), ...requests]));
}

export const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");

/** Bytes from hex digits in groups. */
export const bytes = (digits: string): Uint8Array =>
  Uint8Array.from(Buffer.from(digits.replaceAll(/\s/g, ""), "hex"));

export const encodeRequest = (request: ClientRequest): Uint8Array => {
  if (request.op < 64) return encodeCommand(request as Parameters<typeof encodeCommand>[0]);
  return frameOf([request]).slice(1);
};

/** One command as it lies in a batch. */
export interface CommandRecord {
  readonly session: number;
  readonly epoch: number;
  readonly bytes: Uint8Array;
}

/** All records of a batch behind `offset`. */
export function recordsOf(batch: Uint8Array, offset: number): CommandRecord[] {
  const records: CommandRecord[] = [];
  forEachRecord(batch, offset, (session, epoch, start, end) => {
    records.push({ session, epoch, bytes: batch.subarray(start, end) });
  });
  return records;
}
