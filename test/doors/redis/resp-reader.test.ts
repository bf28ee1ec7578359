/** The reader of commands: any pieces of the same bytes are the same commands, and it has limits. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ProtocolProblem, RespReader } from "../../../src/doors/redis/resp/resp-reader.js";
import { commandBytes } from "./world/door-world.js";

const BYTES_MAX = 4_096;

const command = fc.array(
  fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes)),
  { minLength: 1, maxLength: 6 },
);

/** Where bytes are cut, as parts of their length. */
const cuts = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 30 });

function piecesOf(bytes: Buffer, at: readonly number[]): Buffer[] {
  const ends = [...at.map((part) => Math.floor(part * bytes.length)), bytes.length];
  ends.sort((one, other) => one - other);
  return ends.map((end, index) => bytes.subarray(ends[index - 1] ?? 0, end));
}

/** What it reads, as text; the message of a problem is the last. */
function readAll(pieces: readonly Buffer[], bytesMax = BYTES_MAX): string[] {
  const reader = new RespReader();
  const read: string[] = [];
  for (const piece of pieces) {
    reader.push(piece);
    for (;;) {
      try {
        const found = reader.next(bytesMax);
        if (found === undefined) break;
        if (found.length > 0) read.push(found.map((word) => word.toString("hex")).join(" "));
      } catch (error) {
        if (!(error instanceof ProtocolProblem)) throw error;
        return [...read, error.message];
      }
    }
  }
  return read;
}

test("commands are read whatever the pieces are in which they come", () => {
  fc.assert(
    fc.property(fc.array(command, { maxLength: 8 }), cuts, (commands, at) => {
      const bytes = Buffer.concat(commands.map(commandBytes));
      const expected = commands.map((words) => words.map((word) => word.toString("hex")).join(" "));
      expect(readAll(piecesOf(bytes, at))).toEqual(expected);
    }),
  );
});

test("bytes that are changed are commands or a problem, the same in any pieces", () => {
  const changes = fc.array(fc.tuple(fc.nat(400), fc.constantFrom(..."*$-0123456789\r\n x")), {
    minLength: 1,
    maxLength: 3,
  });
  fc.assert(
    fc.property(fc.array(command, { maxLength: 4 }), changes, cuts, (commands, changed, at) => {
      const bytes = Buffer.concat(commands.map(commandBytes));
      for (const [place, byte] of changed)
        if (place < bytes.length) bytes.write(byte, place, "latin1");
      expect(readAll(piecesOf(bytes, at))).toEqual(readAll([bytes]));
    }),
    { numRuns: 1_000 },
  );
});

test("any bytes are commands or a problem", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
      readAll([Buffer.from(bytes)]);
    }),
    { numRuns: 1_000 },
  );
});

test("the commands of checks of health are read as lines, whatever the pieces", () => {
  const lines = "PING\r\ninfo  replication \r\nAUTH a b\nquit\r\n";
  const expected = [["PING"], ["info", "replication"], ["AUTH", "a", "b"], ["quit"]].map((words) =>
    words.map((word) => Buffer.from(word).toString("hex")).join(" "),
  );
  fc.assert(
    fc.property(cuts, (at) => {
      expect(readAll(piecesOf(Buffer.from(lines), at))).toEqual(expected);
    }),
  );
  const mixed = Buffer.concat([commandBytes(["GET", "k"]), Buffer.from("PING\r\n*0\r\n")]);
  expect(readAll([mixed, commandBytes(["TTL", "k"])])).toHaveLength(3);
});

describe("what is not a command is a problem", () => {
  test.each([
    ["another inline command", "GET k\r\n"],
    ["a word that begins like an inline command", "PINGS\r\n"],
    ["an inline command that does not end", `PING ${"x".repeat(300)}`],
    ["a request of HTTP", "POST / HTTP/1.1\r\nHost: a\r\n"],
    ["a number among arguments", "*1\r\n:1\r\n"],
    ["an array within an array", "*1\r\n*1\r\n$1\r\na\r\n"],
    ["a negative length", "*1\r\n$-1\r\n"],
    ["a length without digits", "*\r\n"],
    ["a length that is not a number", "*1\r\n$1x\r\na\r\n"],
    ["a length with too many digits", `*1\r\n$${"1".repeat(30)}`],
    ["too many arguments", "*100000\r\n"],
    ["a bulk string that goes on", "*1\r\n$1\r\nab\r\n"],
  ])("%s", (_, text) => {
    const [problem] = readAll([Buffer.from(text)]);
    expect(problem).toMatch(/ /);
  });

  test("a command longer than allowed, before it has come", () => {
    expect(readAll([Buffer.from("*2\r\n$3\r\nSET\r\n$4094\r\n")])).toHaveLength(1);
    expect(readAll([Buffer.from("*2\r\n$3\r\nSET\r\n$4093\r\n")])).toEqual([]);
  });
});

describe("the work for a command grows with its bytes, not with their square", () => {
  /** How many bytes are copied while `work` runs. */
  function copiedBytes(work: () => void): number {
    const { concat } = Buffer;
    const { copy } = Buffer.prototype;
    let copied = 0;
    Buffer.concat = (...args: Parameters<typeof concat>) => {
      const joined = concat(...args);
      copied += joined.length;
      return joined;
    };
    Buffer.prototype.copy = function (this: Buffer, ...args: Parameters<typeof copy>) {
      const count = copy.apply(this, args);
      copied += count;
      return count;
    };
    try {
      work();
    } finally {
      Buffer.concat = concat;
      Buffer.prototype.copy = copy;
    }
    return copied;
  }

  test.each([1, 7, 1_000])("in pieces of %i bytes", (pieceBytes) => {
    const value = "v".repeat(200_000);
    const bytes = commandBytes(["SET", "k", value].map((word) => Buffer.from(word)));
    const reader = new RespReader();
    let found: Buffer[] | undefined;
    const copied = copiedBytes(() => {
      for (let at = 0; at < bytes.length; at += pieceBytes) {
        reader.push(bytes.subarray(at, at + pieceBytes));
        found = reader.next(1 << 20);
      }
    });
    expect(found?.map(String)).toEqual(["SET", "k", value]);
    expect(copied).toBeLessThan(4 * bytes.length);
  });
});

test("what is kept of an unfinished command is counted, and little more than has come of it", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 5_000 }),
      fc.integer({ min: 1, max: 600 }),
      (length, cut) => {
        const bytes = commandBytes([Buffer.from("SET"), Buffer.alloc(length)]);
        const reader = new RespReader();
        expect(reader.keptBytes).toBe(0);
        for (let at = 0; at < bytes.length; at += cut) {
          const piece = bytes.subarray(at, at + cut);
          reader.push(piece);
          const isWhole = reader.next(BYTES_MAX * 2) !== undefined;
          const come = at + piece.length;
          if (isWhole) expect(reader.keptBytes).toBe(0);
          else expect(reader.keptBytes).toBeGreaterThan(0);
          expect(reader.keptBytes).toBeLessThanOrEqual(3 * come + 1_024);
        }
      },
    ),
  );
});
