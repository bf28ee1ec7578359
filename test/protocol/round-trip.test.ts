/** One request, one encoding: what makes bytes in the log as good as the command itself. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  decodeCommand,
  decodeOperation,
  encodeCommand,
  OP,
  OPERATION_BYTES_MAX,
  ProtocolError,
  type Request,
} from "../../src/protocol/index.js";
import { anyCommand, anyOperation, anyQuery, WIDTH_EDGES } from "./arbitraries.js";
import { encodeRequest, frameOf, hex, read, type Told, wrap } from "./frames.js";

/** What reading one request out of a frame of its own says. */
function tell(request: Uint8Array): Told | undefined {
  try {
    return read(wrap(request))[0];
  } catch (error) {
    expect(error).toBeInstanceOf(ProtocolError);
    return undefined;
  }
}

const anyRequest = fc.oneof(anyCommand, anyQuery, anyOperation);

describe("a request", () => {
  test("is read back as it was written, with exactly its own bytes", () => {
    fc.assert(
      fc.property(fc.array(anyRequest, { maxLength: 20 }), (requests) => {
        const told = read(frameOf(requests));
        expect(told).toEqual(
          requests.map((request) => ({ request, bytes: encodeRequest(request) })),
        );
      }),
      { numRuns: 300 },
    );
  });

  test("is read back with a number at the edge of every width", () => {
    for (const token of WIDTH_EDGES) {
      const command = { op: OP.release, sequence: 1, mark: 1, acknowledged: [token], token };
      expect(decodeCommand(encodeCommand(command))).toEqual(command);
    }
  });
});

describe("a command", () => {
  test("is the same to the gateway and to the table", () => {
    fc.assert(
      fc.property(anyCommand, (command) => {
        expect(decodeCommand(encodeCommand(command))).toEqual(command);
      }),
      { numRuns: 500 },
    );
  });

  test("is read whether or not its bytes lie inside a larger buffer", () => {
    fc.assert(
      fc.property(anyCommand, fc.nat(40), (command, offset) => {
        const encoded = encodeCommand(command);
        const around = new Uint8Array(offset + encoded.length + 7).fill(0xc1);
        around.set(encoded, offset);
        const view = around.subarray(offset, offset + encoded.length);
        expect(decodeCommand(view)).toEqual(command);
      }),
      { numRuns: 200 },
    );
  });

  test("with any byte changed is refused or another command's only encoding", () => {
    fc.assert(
      fc.property(anyCommand, fc.nat(), fc.integer({ min: 1, max: 255 }), (command, seed, flip) => {
        const changed = encodeCommand(command);
        const at = seed % changed.length;
        changed[at] = (changed[at] as number) ^ flip;
        const decoded = decodeCommand(changed);
        if (decoded !== undefined) expect(hex(encodeCommand(decoded))).toBe(hex(changed));
      }),
      { numRuns: 3_000 },
    );
  });

  test("with each byte changed to each value never has a second encoding", () => {
    const items = [{ key: "kä", mode: "shared" as const }];
    const owner = 2 ** 33;
    const commands: Request[] = [
      {
        op: OP.acquire,
        sequence: 300,
        mark: 200,
        acknowledged: [9],
        owner,
        items,
        waitMs: 9,
      },
      { op: OP.open, nonce: "a0".repeat(16), attempt: 1, ttlMs: 2_000, name: "n", metadata: "é" },
    ];
    for (const encoded of commands.map(encodeRequest)) {
      for (let at = 0; at < encoded.length; at++) {
        for (let value = 0; value < 256; value++) {
          const changed = encoded.slice();
          changed[at] = value;
          const decoded = decodeCommand(changed);
          if (decoded !== undefined) expect(hex(encodeCommand(decoded))).toBe(hex(changed));
        }
      }
    }
  });

  test("cut off anywhere, or with a byte behind it, is no command", () => {
    fc.assert(
      fc.property(anyCommand, fc.nat(255), (command, extra) => {
        const encoded = encodeCommand(command);
        for (let length = 0; length < encoded.length; length++) {
          expect(decodeCommand(encoded.subarray(0, length))).toBeUndefined();
        }
        expect(decodeCommand(Uint8Array.of(...encoded, extra))).toBeUndefined();
      }),
      { numRuns: 100 },
    );
  });
});

describe("an operation", () => {
  test("is the same to the gateway and to the leader it is passed on to", () => {
    fc.assert(
      fc.property(anyOperation, fc.nat(40), (operation, offset) => {
        const encoded = encodeRequest(operation);
        expect(encoded.length).toBeLessThanOrEqual(OPERATION_BYTES_MAX);
        const around = new Uint8Array(offset + encoded.length + 7).fill(0xc1);
        around.set(encoded, offset);
        const view = around.subarray(offset, offset + encoded.length);
        expect(decodeOperation(view)).toEqual(operation);
      }),
      { numRuns: 500 },
    );
  });

  test("with any byte changed is refused or another operation's only encoding", () => {
    fc.assert(
      fc.property(anyOperation, fc.nat(), fc.integer({ min: 1, max: 255 }), (one, seed, flip) => {
        const changed = encodeRequest(one);
        const at = seed % changed.length;
        changed[at] = (changed[at] as number) ^ flip;
        const decoded = decodeOperation(changed);
        if (decoded !== undefined) expect(hex(encodeRequest(decoded))).toBe(hex(changed));
      }),
      { numRuns: 3_000 },
    );
  });

  test("cut off anywhere, or with a byte behind it, is none", () => {
    fc.assert(
      fc.property(anyOperation, fc.nat(255), (operation, extra) => {
        const encoded = encodeRequest(operation);
        for (let length = 0; length < encoded.length; length++) {
          expect(decodeOperation(encoded.subarray(0, length))).toBeUndefined();
        }
        expect(decodeOperation(Uint8Array.of(...encoded, extra))).toBeUndefined();
      }),
      { numRuns: 100 },
    );
  });
});

describe("bytes of any kind", () => {
  const likely = fc.constantFrom(
    ...[0x90, 0x91, 0x92, 0x94, 0x95, 0x96, 0x98, 0xa1, 0xc0, 0xc4, 0xcc, 0xcd, 0xce, 0xcf, 0xd9],
    ...[0x00, 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, 0x40, 0x41, 0x80, 0xdc, 0xd4, 0x72],
    ...[0x46, 0x47, 0x48],
  );
  const anyBytes = fc.oneof(
    fc.uint8Array({ maxLength: 60 }),
    fc.array(fc.oneof(likely, fc.nat(255)), { maxLength: 30 }).map((list) => Uint8Array.from(list)),
  );

  test("never make a decoder of single requests throw, and it agrees with decodeFrame", () => {
    fc.assert(
      fc.property(fc.oneof(anyBytes, anyRequest.map(encodeRequest)), (b) => {
        const told = tell(b);
        const request = told !== undefined && "request" in told ? told.request : undefined;
        const isCommand = request !== undefined && request.op < 64;
        const isOperation = request !== undefined && request.op >= 70;
        expect(decodeCommand(b)).toEqual(isCommand ? request : undefined);
        expect(decodeOperation(b)).toEqual(isOperation ? request : undefined);
      }),
      { numRuns: 5_000 },
    );
  });

  test("as a frame are read or refused with a short reason, and nothing else is thrown", () => {
    fc.assert(
      fc.property(anyBytes, (frame) => {
        try {
          for (const entry of read(frame))
            if ("bytes" in entry) expect(entry.bytes.length).toBeGreaterThan(0);
        } catch (error) {
          expect(error).toBeInstanceOf(ProtocolError);
          expect((error as Error).message).toMatch(/^[\x20-\x7e]{1,110} at offset \d+$/);
        }
      }),
      { numRuns: 5_000 },
    );
  });
});
