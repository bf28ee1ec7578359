/** Frames between nodes: messages of consensus, forwarded records, snapshots, members, operations. */
import fc from "fast-check";
import { decodePeerFrame } from "../../../../src/net/peers/decoder.js";
import { MESSAGE_HEADER_BYTES } from "../../../../src/net/peers/encoder.js";
import { PeerFrameError } from "../../../../src/net/peers/frame-cursor.js";
import { addressed, FROM, frameOf, SAMPLES, sealed, TO } from "../../../net/peers/messages.js";
import { type Mutator, replaced } from "../../engine/mutators.js";
import { demand, demandSameBytes, type FuzzTarget } from "../../engine/target.js";

const SEED = 13;
const CHECKSUM_BYTES = 4;

export const peerFrames: FuzzTarget = {
  name: "peer-frames",
  about: "a frame of another node: every kind of message",
  corpus() {
    const messages = fc.array(addressed, { minLength: 1, maxLength: 3 });
    const sampled = fc.sample(messages.map(frameOf), { seed: SEED, numRuns: 120 });
    return [...SAMPLES.map((message) => frameOf([{ group: 0, message }])), ...sampled];
  },
  mutators: [resizeMessage, moveMessage],
  repair: (input) => sealed(input.subarray(CHECKSUM_BYTES)),
  bytesMax: 16_384,
  steps: { fixed: 5_000, perByte: 60 },
  run(input) {
    try {
      const deliveries = decodePeerFrame(input.slice(), FROM, TO);
      demandSameBytes(frameOf(deliveries), input, "a frame that was read, written again");
      return "taken";
    } catch (error) {
      if (!(error instanceof PeerFrameError)) throw error;
      demand(/^[ -~]{1,200}$/.test(error.message), () => error.message);
      return "refused";
    }
  },
};

/** Where the messages begin. */
function messagesIn(frame: Uint8Array): number[] {
  const bytes = Buffer.from(frame.buffer, frame.byteOffset, frame.length);
  const starts: number[] = [];
  let at = CHECKSUM_BYTES;
  while (at + MESSAGE_HEADER_BYTES <= bytes.length) {
    starts.push(at);
    at += MESSAGE_HEADER_BYTES + bytes.readUInt32BE(at + MESSAGE_HEADER_BYTES - 4);
  }
  return starts;
}

/** Adds bytes to a body or takes some away, and says so in its header. */
function resizeMessage(...[input, { random }]: Parameters<Mutator>): Uint8Array | undefined {
  const starts = messagesIn(input);
  const start = random.pickOrNone(starts);
  if (start === undefined) return undefined;
  const bodyAt = start + MESSAGE_HEADER_BYTES;
  const end = Math.min(input.length, starts.find((other) => other > start) ?? input.length);
  const at = random.integer(bodyAt, Math.max(bodyAt, end));
  const removed = Math.min(end - at, random.below(9));
  const part = Uint8Array.from({ length: random.below(9) }, () => random.below(256));
  const bytes = Buffer.from(replaced(input, at, at + removed, part));
  bytes.writeUInt32BE(Math.max(0, end - bodyAt - removed + part.length), bodyAt - 4);
  return Uint8Array.from(bytes);
}

/** A message of another frame after the messages of this one. */
function moveMessage(...[input, source]: Parameters<Mutator>): Uint8Array | undefined {
  const other = source.other();
  const starts = messagesIn(other);
  const start = source.random.pickOrNone(starts);
  if (start === undefined) return undefined;
  const end = starts.find((next) => next > start) ?? other.length;
  return replaced(input, input.length, input.length, other.subarray(start, end));
}
