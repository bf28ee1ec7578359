/** What a node says, as a client reads it: messages, and payloads that msgpackr unpacks. */
import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { decodeServerFrame, writePayload } from "../../../../src/net/framing/index.js";
import {
  ProtocolError,
  type ServerMessage,
  Writer,
  writeServerMessage,
} from "../../../../src/protocol/index.js";
import { anyMessage } from "../../../framing/arbitraries.js";
import { mutateMsgpack } from "../../engine/msgpack-mutators.js";
import { demand, demandEqual, type FuzzTarget } from "../../engine/target.js";

const SEED = 17;

export const serverFrames: FuzzTarget = {
  name: "server-frames",
  about: "a node's frame as a client reads it",
  corpus() {
    const frames = fc.array(anyMessage, { minLength: 1, maxLength: 4 }).map(serverFrameOf);
    const sampled = fc.sample(frames, { seed: SEED, numRuns: 150 });
    return sampled.filter(({ length }) => length < 4_096);
  },
  mutators: [mutateMsgpack],
  bytesMax: 16_384,
  steps: { fixed: 10_000, perByte: 80 },
  run(input) {
    const before = Object.keys(Object.prototype).length;
    let messages: ServerMessage[];
    try {
      messages = decodeServerFrame(input.slice());
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error;
      demand(/^[ -~]{1,200}$/.test(error.message), () => error.message);
      return "refused";
    } finally {
      demandEqual(Object.keys(Object.prototype).length, before, "fields of every object");
    }
    for (const message of messages) demandWrittenAgain(message);
    return "taken";
  },
};

/** What follows known positions was passed over: what is left means the same once it is written. */
function demandWrittenAgain(message: ServerMessage): void {
  // A payload may hold what only readers know: dates before writers refuse them, binaries.
  if ("payload" in message && !isPlain(message.payload)) return;
  const [again] = decodeServerFrame(serverFrameOf([message]));
  demand(isDeepStrictEqual(again, message), () => {
    return `${JSON.stringify(again)} instead of ${JSON.stringify(message)}`;
  });
}

function isPlain(value: unknown): boolean {
  if (typeof value === "number") return !Object.is(value, -0);
  if (typeof value !== "object" || value === null) return typeof value !== "bigint";
  if (Array.isArray(value)) return value.every(isPlain);
  return (
    Object.getPrototypeOf(value) === Object.prototype &&
    Object.values(value).every((one) => one !== undefined && isPlain(one))
  );
}

function serverFrameOf(messages: readonly ServerMessage[]): Uint8Array {
  const writer = new Writer();
  writer.beginFrame();
  for (const message of messages) writeServerMessage(writer, message, writePayload);
  writer.endFrame(messages.length);
  return writer.take();
}
