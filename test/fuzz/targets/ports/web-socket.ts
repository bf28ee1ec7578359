/** WebSocket as bytes, for the targets that knock at a port: requests, frames, and changes of both. */
import { connect } from "node:net";
import type { RandomStream } from "../../../../lab/random-stream.js";
import { mutateMsgpack } from "../../engine/msgpack-mutators.js";
import { INTERESTING_NUMBERS, type Mutator, replaced, wordMutator } from "../../engine/mutators.js";
import { demand } from "../../engine/target.js";

/** A client that is neither answered nor cut off after so long is a finding. */
const PATIENCE_MS = 20_000;
const HEAD_END = "\r\n\r\n";

const CONTINUATION = 0;
export const TEXT = 1;
const BINARY = 2;
export const CLOSE = 8;
export const PING = 9;
export const PONG = 10;

export interface FrameShape {
  readonly opcode?: number;
  readonly isFinal?: boolean;
  readonly isMasked?: boolean;
  readonly reserved?: number;
}

/** RFC 6455, 5.2; the mask is zero, which changes nothing. */
export function frameOf(payload: Uint8Array | string, shape: FrameShape = {}): Uint8Array {
  const { opcode = BINARY, isFinal = true, isMasked = true, reserved = 0 } = shape;
  const bytes = Buffer.from(payload as string);
  const wide = bytes.length < 126 ? 0 : bytes.length < 65_536 ? 2 : 8;
  const length = Buffer.alloc(8);
  length.writeBigUInt64BE(BigInt(bytes.length));
  const second = (isMasked ? 0x80 : 0) | (wide === 0 ? bytes.length : wide === 2 ? 126 : 127);
  const head = [(isFinal ? 0x80 : 0) | (reserved << 4) | opcode, second];
  const mask = Buffer.alloc(isMasked ? 4 : 0);
  return Buffer.concat([Uint8Array.from(head), length.subarray(8 - wide), mask, bytes]);
}

export function requestOf(
  line: string,
  headers: Readonly<Record<string, string>>,
  ...rest: readonly Uint8Array[]
): Uint8Array {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  const head = Buffer.from(`${line} HTTP/1.1\r\n${lines.join("")}\r\n`, "latin1");
  return Uint8Array.from(Buffer.concat([head, ...rest]));
}

/** What a client of WebSocket asks with. */
export function upgradeHeaders(protocol: string): Record<string, string> {
  return {
    Host: "127.0.0.1",
    Connection: "Upgrade",
    Upgrade: "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==",
    "Sec-WebSocket-Protocol": protocol,
  };
}

/** Words of HTTP, and how strangers misuse them. */
export const mutateHttp: Mutator = wordMutator([
  ...[
    "GET ",
    "HEAD ",
    "POST ",
    "CONNECT ",
    "OPTIONS ",
    "PRI ",
    "\r\n",
    "\n",
    "\r",
    "\r\n\r\n",
    ": ",
  ],
  ...["Host: evil.example\r\n", "Host: 127.0.0.1\r\n", "Host: [::1]:1\r\n", "Host: localhost.\r\n"],
  ...["Origin: http://evil\r\n", "Origin: null\r\n", "Origin: http://a\x9b31m\r\n"],
  ...["Content-Length: 5\r\n", "Content-Length: -1\r\n", "Transfer-Encoding: chunked\r\n"],
  ...["Expect: 100-continue\r\n", "Connection: close\r\n", "Connection: Upgrade\r\n"],
  ...["Upgrade: websocket\r\n", "Upgrade: h2c\r\n", "Sec-WebSocket-Version: 8\r\n"],
  ...["Sec-WebSocket-Extensions: permessage-deflate\r\n", "HTTP/1.0", "HTTP/2.0", "/v1", "/peer"],
  ...["/status", "/metrics", "/readyz", "?", "%00", "//", "http://evil.example/", "*"],
]);

interface Frame {
  readonly start: number;
  readonly payloadAt: number;
  readonly end: number;
}

/** The frames after the first request, as far as their lengths go. */
function framesIn(input: Uint8Array): Frame[] {
  const bytes = Buffer.from(input.buffer, input.byteOffset, input.length);
  const headEnd = bytes.indexOf(HEAD_END);
  if (headEnd < 0) return [];
  const frames: Frame[] = [];
  for (let start = headEnd + HEAD_END.length; start + 2 <= bytes.length; ) {
    const second = bytes[start + 1] as number;
    const short = second & 127;
    const wide = short < 126 ? 0 : short === 126 ? 2 : 8;
    const payloadAt = start + 2 + wide + (second > 127 ? 4 : 0);
    if (payloadAt > bytes.length) break;
    const length =
      wide === 0
        ? short
        : Number(bytes.readUIntBE(start + 2 + Math.max(0, wide - 6), Math.min(6, wide)));
    const end = Math.min(bytes.length, payloadAt + length);
    frames.push({ start, payloadAt, end });
    start = end;
  }
  return frames;
}

/** Another payload, length, opcode, mask or number of one frame. */
export function frameMutator(mutatePayload: Mutator = mutateMsgpack): Mutator {
  return (input, source) => {
    const { random } = source;
    const frame = random.pickOrNone(framesIn(input));
    if (frame === undefined) return undefined;
    const { start, payloadAt, end } = frame;
    const payload = input.slice(payloadAt, end);
    const whole = input.slice(start, end);
    switch (random.below(8)) {
      case 0:
        return replaced(input, start, end, frameOf(payload, anyShape(random)));
      case 1:
        return replaced(input, end, end, frameOf(payload.slice(0, 125), anyShape(random)));
      case 2:
        return replaced(input, start, end, inFragments(payload, 1 + random.below(5)));
      case 3:
        return replaced(input, start, end, new Uint8Array(0));
      case 4: {
        const copies = new Array<Uint8Array>(1 + random.below(300)).fill(whole);
        return replaced(input, end, end, Buffer.concat(copies));
      }
      case 5: {
        const length = Buffer.alloc(8);
        length.writeBigUInt64BE(random.pick(INTERESTING_NUMBERS));
        const head = Uint8Array.from([whole[0] ?? 0x82, 0x80 | 127, ...length, 0, 0, 0, 0]);
        return replaced(input, start, payloadAt, head);
      }
      default: {
        const other = (): Uint8Array => {
          const bytes = source.other();
          const donor = random.pickOrNone(framesIn(bytes));
          return donor === undefined ? bytes : bytes.slice(donor.payloadAt, donor.end);
        };
        const changed = mutatePayload(payload, { random, other });
        return changed === undefined ? undefined : replaced(input, start, end, frameOf(changed));
      }
    }
  };
}

function anyShape(random: RandomStream): FrameShape {
  return {
    opcode: random.below(16),
    isFinal: random.chance(0.75),
    isMasked: random.chance(0.75),
    reserved: random.chance(0.75) ? 0 : random.below(8),
  };
}

function inFragments(payload: Uint8Array, count: number): Uint8Array {
  const size = Math.ceil((payload.length + 1) / count);
  const parts = Array.from({ length: count }, (_, at) => {
    const opcode = at === 0 ? BINARY : CONTINUATION;
    return frameOf(payload.slice(at * size, (at + 1) * size), {
      opcode,
      isFinal: at === count - 1,
    });
  });
  return Buffer.concat(parts);
}

/** Says `input` to a port, in pieces, and that this was all. Resolves with what was answered. */
export function knock(port: number, input: Uint8Array): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const answers: Buffer[] = [];
    const socket = connect({ host: "127.0.0.1", port });
    const patience = setTimeout(() => {
      socket.destroy();
      reject(new Error(`neither answered nor cut off within ${PATIENCE_MS} ms`));
    }, PATIENCE_MS);
    socket.on("data", (data: Buffer) => answers.push(data));
    // Reset by the other side, which is an answer too.
    socket.on("error", () => undefined);
    socket.on("close", () => {
      clearTimeout(patience);
      resolve(Buffer.concat(answers));
    });
    const half = input.length >> 1;
    socket.write(input.subarray(0, half));
    setImmediate(() => {
      if (!socket.destroyed) socket.end(input.subarray(half));
    });
  });
}

/** Statuses that one of the two ports answers with, or Node's server before it is asked. */
const STATUSES = [100, 101, 200, 400, 403, 404, 405, 408, 413, 417, 421, 426, 431, 503, 505];

/** Nothing at all, or an answer of HTTP with a status that is known. */
export function demandHttp(answer: Buffer): void {
  if (answer.length === 0) return;
  const status = /^HTTP\/1\.1 (\d{3}) /.exec(answer.toString("latin1", 0, 20))?.[1];
  demand(STATUSES.includes(Number(status)), () => answer.toString("latin1", 0, 400));
}

/** Nothing that a terminal obeys. */
export function demandPrintable(line: string): void {
  demand(!/\p{Cc}/u.test(line), () => `a line for the log: ${JSON.stringify(line)}`);
}

/** Lets the loop turn until `holds`; a finding when it does not. */
export async function soon(what: string, holds: () => boolean): Promise<void> {
  const untilMs = performance.now() + PATIENCE_MS;
  while (!holds()) {
    demand(performance.now() < untilMs, () => `not within ${PATIENCE_MS} ms: ${what}`);
    await new Promise((resolve) => setImmediate(resolve));
  }
}
