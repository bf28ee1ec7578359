/** What clients say: a frame of requests, and the same bytes as the log and the leader read them. */
import fc from "fast-check";
import { REQUEST_SCHEMAS } from "../../../../src/protocol/codec/schema.js";
import {
  BATCH_HEADER_BYTES,
  CLIENT_FRAME_BYTES_MAX,
  type ClientRequest,
  decodeCommands,
  decodeFrame,
  decodeOperation,
  isAttachCommand,
  isCommandOp,
  isOperationOp,
  ProtocolError,
  RECORD_HEADER_BYTES,
  withOrigin,
  writeRecord,
} from "../../../../src/protocol/index.js";
import { anyCommand, anyOperation, anyQuery, requestsOf } from "../../../protocol/arbitraries.js";
import { decodeCommand, encodeBatch } from "../../../protocol/command-bytes.js";
import { encodeRequest, frameOf } from "../../../protocol/frames.js";
import { mutateMsgpack } from "../../engine/msgpack-mutators.js";
import { wordMutator } from "../../engine/mutators.js";
import { demand, demandEqual, demandSameBytes, type FuzzTarget } from "../../engine/target.js";

const SEED = 7;
const REASON_LENGTH_MAX = 120;
const ORIGIN = { node: 1, address: "192.0.2.7" } as const;

export const clientFrames: FuzzTarget = {
  name: "client-frames",
  about: "a client's frame: requests, and the commands that enter the log",
  corpus: () => sampleFrames(150),
  mutators: [mutateMsgpack, wordMutator(["\u0000lock/", "\u00ff", "a:1"])],
  bytesMax: 16_384,
  steps: { fixed: 5_000, perByte: 60 },
  run(input) {
    const { told, error } = read(input);
    for (const { request, bytes } of told.requests) {
      demandSameBytes(encodeRequest(request), bytes, "a request that was read, written again");
      demandAlone(request, bytes);
    }
    for (const { op, id, reason } of told.invalid) {
      demand(Number.isSafeInteger(id), () => `operation ${op} is refused under the id ${id}`);
      demand(/^[ -~]+$/.test(reason) && reason.length <= REASON_LENGTH_MAX, () => reason);
    }
    return error === undefined && told.invalid.length === 0 ? "taken" : "refused";
  },
};

/** Frames of every kind of request, mostly with allowed values. */
export function sampleFrames(count: number): Uint8Array[] {
  const wrong = REQUEST_SCHEMAS.map((operation) => requestsOf(operation, "any"));
  const any = fc.oneof(anyCommand, anyOperation, anyQuery, ...wrong);
  const frames = fc.array(any, { minLength: 1, maxLength: 4 }).map(frameOf);
  return fc.sample(frames, { seed: SEED, numRuns: count }).filter((one) => one.length < 4_096);
}

interface Told {
  readonly requests: { readonly request: ClientRequest; readonly bytes: Uint8Array }[];
  readonly invalid: { readonly op: number; readonly id: number; readonly reason: string }[];
}

function read(frame: Uint8Array): { readonly told: Told; readonly error: unknown } {
  const told: Told = { requests: [], invalid: [] };
  let end = 0;
  try {
    decodeFrame(frame, {
      request(request, from, to) {
        demand(from >= end && to > from && to <= frame.length, () => `a request at ${from}–${to}`);
        end = to;
        told.requests.push({ request, bytes: frame.slice(from, to) });
      },
      invalid: (op, id, reason) => told.invalid.push({ op, id, reason }),
    });
    return { told, error: undefined };
  } catch (error) {
    if (!(error instanceof ProtocolError)) throw error;
    demand(
      frame.length <= CLIENT_FRAME_BYTES_MAX && error.message.length < 200,
      () => error.message,
    );
    return { told, error };
  }
}

/** What a gateway took as a command or an operation, the log and the leader take as the same. */
function demandAlone(request: ClientRequest, bytes: Uint8Array): void {
  const { op } = request;
  demandEqual(decodeCommand(bytes) !== undefined, isCommandOp(op), `op ${op} is a command`);
  demandEqual(decodeOperation(bytes) !== undefined, isOperationOp(op), `op ${op} is an operation`);
  const isAttach = isAttachCommand(request);
  const inRecord = isAttach ? withOrigin(bytes, ORIGIN) : bytes;
  demandEqual(isReadInRecord(inRecord), isCommandOp(op), `op ${op} is read from an entry`);
  // A client cannot say from where it attaches, nor leave it out.
  if (isAttach) demandEqual(isReadInRecord(bytes), false, `op ${op} is read without its origin`);
}

function isReadInRecord(bytes: Uint8Array): boolean {
  const record = new Uint8Array(RECORD_HEADER_BYTES + bytes.length);
  writeRecord(record, new DataView(record.buffer), 0, 1, 1, bytes);
  const [recorded] = decodeCommands(encodeBatch(1, 1, 1, [record]), BATCH_HEADER_BYTES);
  return recorded?.command !== undefined;
}
