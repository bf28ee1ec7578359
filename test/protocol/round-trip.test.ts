/** One request, one encoding: what makes bytes in the log as good as the command itself. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  ACKNOWLEDGED_MAX,
  ACQUIRE_DEFAULTS,
  ACT_VALUES_BYTES_MAX,
  ATTEMPT_MAX,
  CLIENT_FRAME_BYTES_MAX,
  type ClientRequest,
  decodeOperation,
  GRACE_MS_MAX,
  ITEMS_MAX,
  KEY_BYTES_MAX,
  LEASE_TTL_MS_MAX,
  LIMIT_MAX,
  LOCK_DELAY_MS_MAX,
  METADATA_BYTES_MAX,
  OP,
  OPERATION_BYTES_MAX,
  PERMITS_MAX,
  PRIORITY_MAX,
  ProtocolError,
  QUERY_PAGE_MAX,
  REASON_BYTES_MAX,
  RECALL_MAX,
  REQUEST_BYTES_MAX,
  SECRET_BYTES,
  SEQUENCE_MAX,
  SESSION_NAME_BYTES_MAX,
  TTL_MS_MAX,
  VALUE_BYTES_MAX,
  WAIT_FOREVER,
  WAIT_MS_MAX,
} from "../../src/protocol/index.js";
import { runsOf, strideOf } from "../runs.js";
import { anyCommand, anyOperation, anyQuery, WIDTH_EDGES } from "./arbitraries.js";
import { decodeCommand, encodeCommand } from "./command-bytes.js";
import { encodeRequest, frameOf, hex, read, type Told, wrap } from "./frames.js";

/** Values of a byte that are left out in `npm test`; each byte tries others. */
const STRIDE = strideOf(5);

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
    const head = { sequence: 1, mark: 1 };
    const force = { graceMs: 0, now: false, reason: "" };
    for (const token of WIDTH_EDGES) {
      const command = { op: OP.revoke, ...head, acknowledged: [token], key: "k", token, ...force };
      expect(decodeCommand(encodeCommand(command))).toEqual(command);
    }
  });

  test("with any bytes changed is refused or another request's only encoding", () => {
    const change = fc.tuple(fc.nat(), fc.nat(255));
    const changes = fc.array(change, { minLength: 1, maxLength: 3 });
    fc.assert(
      fc.property(anyRequest, changes, (request, all) => {
        const changed = encodeRequest(request);
        for (const [seed, value] of all) changed[seed % changed.length] = value;
        const told = tell(changed);
        if (told !== undefined && "request" in told) {
          expect(hex(encodeRequest(told.request))).toBe(hex(changed));
        }
      }),
      { numRuns: runsOf(300) },
    );
  });

  test("with each byte changed to each value never has a second encoding", () => {
    const items = [{ key: "kä", mode: "shared" as const }];
    const task = 2 ** 33;
    const head = { sequence: 300, mark: 200, acknowledged: [9] };
    const options = {
      ...ACQUIRE_DEFAULTS,
      priority: 9,
      maxHoldMs: 2_000,
      value: "é",
      detect: false,
    };
    const force = { graceMs: 300, now: false, reason: "é" };
    const requests: ClientRequest[] = [
      { op: OP.acquire, ...head, task, items, waitMs: 9, options },
      {
        ...{ op: OP.acquire, ...head, task, waitMs: WAIT_FOREVER },
        items: [
          { key: "s", mode: "permits", permits: 2, limit: 300 },
          { key: "t", mode: "permits", permits: 2, limit: undefined },
        ],
      },
      { op: OP.upgrade, ...head, target: 299, key: "k", waitMs: 9, detect: true },
      { op: OP.end, ...head, target: 299 },
      { op: OP.downgrade, ...head, target: 299, key: undefined },
      { op: OP.revoke, ...head, key: "k", token: 0, ...force },
      { op: OP.revoke, ...head, key: undefined, token: 2 ** 41, ...force },
      { op: OP.endSession, ...head, session: 300, ...force },
      { op: OP.setLimit, ...head, key: "s", limit: 300 },
      { op: OP.handOver, ...head, target: 9, to: "a0".repeat(16), isBearer: true, ttlMs: 2_000 },
      { op: OP.adopt, ...head, key: "k", secret: "a0".repeat(16), task },
      { op: OP.changeSetting, ...head, name: "waitersMax", value: 300 },
      { op: OP.explain, id: 300, key: "k", session: 9, sequence: 300 },
      { op: OP.watch, id: 300, key: "k", isPrefix: true, after: { index: 300, number: 2 } },
      { op: OP.resume, session: 300, nonce: "a0".repeat(16), attempt: 9 },
      { op: OP.open, nonce: "a0".repeat(16), attempt: 1, ttlMs: 2_000, name: "n", metadata: "é" },
    ];
    for (const encoded of requests.map(encodeRequest)) {
      for (let at = 0; at < encoded.length; at++) {
        for (let value = at % STRIDE; value < 256; value += STRIDE) {
          const changed = encoded.slice();
          changed[at] = value;
          const told = tell(changed);
          if (told !== undefined && "request" in told) {
            expect(hex(encodeRequest(told.request))).toBe(hex(changed));
          }
        }
      }
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
      { numRuns: runsOf(300) },
    );
  });

  test("cut off anywhere, or with a byte behind it, is not a command", () => {
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

describe("the largest requests", () => {
  const most = Number.MAX_SAFE_INTEGER;
  const head = {
    ...{ sequence: SEQUENCE_MAX, mark: SEQUENCE_MAX },
    acknowledged: new Array<number>(ACKNOWLEDGED_MAX).fill(most),
  };
  const keys = Array.from({ length: ITEMS_MAX }, (_, i) =>
    String.fromCharCode(97 + i).repeat(KEY_BYTES_MAX),
  );
  const share = PERMITS_MAX / ITEMS_MAX;
  const options = {
    ...{ priority: PRIORITY_MAX, maxHoldMs: WAIT_MS_MAX, minHoldMs: WAIT_MS_MAX },
    ...{ lockDelayMs: LOCK_DELAY_MS_MAX, value: "v".repeat(VALUE_BYTES_MAX), detect: false },
  };
  const acquire = { op: OP.acquire, ...head, task: most, waitMs: WAIT_MS_MAX };
  const secret = "f".repeat(2 * SECRET_BYTES);
  const force = { graceMs: GRACE_MS_MAX, now: true, reason: "r".repeat(REASON_BYTES_MAX) };
  const [key = ""] = keys;
  const target = SEQUENCE_MAX - 1;
  const LARGEST: readonly ClientRequest[] = [
    {
      ...acquire,
      items: keys.map((name) => {
        return { key: name, mode: "permits", permits: share, limit: LIMIT_MAX };
      }),
      options: { ...ACQUIRE_DEFAULTS, ...options },
    },
    {
      ...acquire,
      items: keys.map((name) => ({ key: name, mode: "exclusive" })),
      options: { ...ACQUIRE_DEFAULTS, ...options, steal: true },
    },
    {
      ...{ op: OP.take, ...head, owner: secret, request: secret, ttlMs: LEASE_TTL_MS_MAX },
      ...{ name: "n".repeat(SESSION_NAME_BYTES_MAX), isSplit: false, waitMs: WAIT_MS_MAX },
      items: keys.map((name) => {
        return { key: name, mode: "permits", permits: share, limit: LIMIT_MAX };
      }),
      options: { ...ACQUIRE_DEFAULTS, ...options },
    },
    { op: OP.extend, ...head, owner: secret, keys, ttlMs: LEASE_TTL_MS_MAX, mode: "add" },
    { op: OP.giveBack, ...head, owner: secret, keys, taken: target },
    {
      ...{ op: OP.act, ...head },
      steps: keys.map((key) => {
        const after = "v".repeat(ACT_VALUES_BYTES_MAX / (2 * ITEMS_MAX));
        return { owner: secret, key, before: after, after, ttlMs: LEASE_TTL_MS_MAX };
      }),
    },
    {
      ...{ op: OP.recall, number: most, mark: most, acknowledged: head.acknowledged },
      sequences: new Array<number>(RECALL_MAX).fill(most),
    },
    { op: OP.keepalive, number: most, mark: most, acknowledged: head.acknowledged },
    { op: OP.upgrade, ...head, target, key, waitMs: WAIT_MS_MAX, detect: false },
    { op: OP.update, ...head, target, value: options.value },
    { op: OP.revoke, ...head, key, token: 0, ...force },
    { op: OP.handOver, ...head, target, to: secret, isBearer: false, ttlMs: LEASE_TTL_MS_MAX },
    { op: OP.adopt, ...head, key, secret, task: most },
    {
      ...{ op: OP.open, nonce: secret, attempt: ATTEMPT_MAX, ttlMs: TTL_MS_MAX },
      ...{ name: "n".repeat(SESSION_NAME_BYTES_MAX), metadata: "m".repeat(METADATA_BYTES_MAX) },
    },
    {
      ...{ op: OP.query, id: most, prefix: key, after: key, limit: QUERY_PAGE_MAX },
    },
  ];

  test.each(LARGEST)("$op passes, and is smaller than what clients leave room for", (request) => {
    const encoded = encodeRequest(request);
    expect(read(wrap(encoded))).toEqual([{ request, bytes: encoded }]);
    expect(encoded.length).toBeLessThanOrEqual(REQUEST_BYTES_MAX);
  });

  test("leave little of that room unused", () => {
    const sizes = LARGEST.map((request) => encodeRequest(request).length);
    expect(Math.max(...sizes)).toBeGreaterThan(0.9 * REQUEST_BYTES_MAX);
  });

  test("fill a client's frame one behind the other", () => {
    const [largest] = LARGEST as [ClientRequest];
    const count = Math.floor(CLIENT_FRAME_BYTES_MAX / (encodeRequest(largest).length + 1));
    const frame = frameOf(new Array<ClientRequest>(count).fill(largest));
    expect(frame.length).toBeLessThanOrEqual(CLIENT_FRAME_BYTES_MAX);
    expect(read(frame)).toHaveLength(count);
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
      { numRuns: runsOf(300) },
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
    ...[0x09, 0x0a, 0x0b, 0x0c, 0x0d, 0x0e, 0x0f, 0x10, 0x11, 0x12, 0x81, 0x82, 0xc2, 0xc3],
    ...[0x42, 0x43, 0x44, 0x45, 0x46, 0x47, 0x48, 0x50, 0x51, 0x52, 0x53, 0x93, 0x97, 0x99],
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
        const isOperation = request !== undefined && request.op >= 70 && request.op < 80;
        expect(decodeCommand(b)).toEqual(isCommand ? request : undefined);
        expect(decodeOperation(b)).toEqual(isOperation ? request : undefined);
      }),
      { numRuns: runsOf(600) },
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
      { numRuns: runsOf(600) },
    );
  });
});
