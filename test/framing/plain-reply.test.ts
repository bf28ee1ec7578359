/**
 * What is written by hand for speed against the layout of all messages: both write the same bytes,
 * and read the same from any.
 */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { MessageReader } from "../../src/net/framing/message-reader.js";
import { serverMessage } from "../../src/protocol/codec/message-layout.js";
import { readPlainReply, writePlainReply } from "../../src/protocol/codec/plain-reply.js";
import { MessagePositionReader } from "../../src/protocol/codec/position-reader.js";
import { PositionWriter } from "../../src/protocol/codec/position-writer.js";
import { MESSAGE, ProtocolError, type Reply, STATUS, Writer } from "../../src/protocol/index.js";
import { anyNumber } from "../protocol/arbitraries.js";
import { anyMessage } from "./arbitraries.js";

const plainReply: fc.Arbitrary<Reply> = fc.record({
  kind: fc.constant(MESSAGE.reply),
  sequence: anyNumber(),
  stamp: anyNumber(),
  result: fc.oneof(
    fc.record({ status: fc.constant(STATUS.granted), token: anyNumber() }),
    fc.constant({ status: STATUS.released }),
  ),
});

function writtenByLayout(message: Parameters<typeof writePlainReply>[1]): Uint8Array {
  const writer = new Writer();
  new PositionWriter().write(writer, message, serverMessage, (to) => to.nil());
  return writer.take();
}

/** The message and where it ends, or why there is none. */
function outcome(bytes: Uint8Array, read: (reader: MessageReader) => unknown): unknown {
  const reader = new MessageReader(bytes);
  try {
    return { message: read(reader), end: reader.at };
  } catch (error) {
    expect(error).toBeInstanceOf(ProtocolError);
    return (error as Error).message;
  }
}
const readByLayout = (reader: MessageReader): unknown =>
  new MessagePositionReader(reader).read(serverMessage);

/** Whether it was read by hand, which must then be as the layout reads it. */
function expectAgreement(bytes: Uint8Array): boolean {
  const byHand = outcome(bytes, readPlainReply);
  const isForOthers = typeof byHand === "object" && JSON.stringify(byHand) === '{"end":0}';
  if (!isForOthers) expect(byHand).toEqual(outcome(bytes, readByLayout));
  return !isForOthers;
}

describe("a reply to an acquire that was granted, or to a release", () => {
  test("is written by hand as its layout says, and read from that", () => {
    fc.assert(
      fc.property(plainReply, (reply) => {
        const writer = new Writer();
        expect(writePlainReply(writer, reply)).toBe(true);
        const bytes = writer.take();
        expect(bytes).toEqual(writtenByLayout(reply));
        expect(outcome(bytes, readPlainReply)).toEqual({ message: reply, end: bytes.length });
        expect(expectAgreement(bytes)).toBe(true);
      }),
      { numRuns: 500 },
    );
  });

  test("is refused where its layout says, with any bytes changed or cut off", () => {
    const likely = fc.constantFrom(0x00, 0x01, 0x03, 0x7f, 0x80, 0x94, 0x95, 0x96, 0xcc, 0xcf);
    const changes = fc.array(fc.tuple(fc.nat(), fc.oneof(likely, fc.nat(255))), { maxLength: 2 });
    fc.assert(
      fc.property(plainReply, changes, fc.nat(), (reply, all, cut) => {
        const bytes = writtenByLayout(reply);
        for (const [at, value] of all) bytes[at % bytes.length] = value;
        expectAgreement(bytes);
        expectAgreement(bytes.subarray(0, cut % bytes.length));
      }),
      { numRuns: 3_000 },
    );
  });
});

test("no other message is written or read by hand", () => {
  fc.assert(
    fc.property(anyMessage, (message) => {
      const isPlain =
        message.kind === MESSAGE.reply &&
        (message.result.status === STATUS.released ||
          (message.result.status === STATUS.granted && message.result.slots === undefined));
      const writer = new Writer();
      expect(writePlainReply(writer, message)).toBe(isPlain);
      if (!isPlain) expect(writer.length).toBe(0);
      expect(expectAgreement(writtenByLayout(message))).toBe(isPlain);
    }),
    { numRuns: 500 },
  );
});
