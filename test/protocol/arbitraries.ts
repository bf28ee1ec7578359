/**
 * Random requests for the properties of this room: every operation, numbers at the edge of every
 * width, names in any script.
 */
import fc from "fast-check";
import {
  ATTEMPT_MAX,
  type Command,
  isValidKey,
  isValidMetadata,
  isValidPrefix,
  isValidSessionName,
  type LockItem,
  NODE_ID_MAX,
  OP,
  type Operation,
  QUERY_PAGE_MAX,
  type Query,
  TTL_MS_MAX,
  TTL_MS_MIN,
  WAIT_FOREVER,
  WAIT_MS_MAX,
} from "../../src/protocol/index.js";

/** The last number of each width, and the first of the next. */
export const WIDTH_EDGES: readonly number[] = [
  0,
  1,
  127,
  128,
  255,
  256,
  65_535,
  65_536,
  2 ** 31,
  2 ** 32 - 1,
  2 ** 32,
  2 ** 53 - 1,
];

export const anyNumber = (least = 0, most = Number.MAX_SAFE_INTEGER): fc.Arbitrary<number> =>
  fc.oneof(
    fc.constantFrom(...WIDTH_EDGES.filter((edge) => edge >= least && edge <= most), most),
    fc.integer({ min: least, max: most }),
  );

const text = (maxLength: number, rule: (text: string) => string | undefined) =>
  fc
    .oneof(
      fc.string({ unit: "grapheme-ascii", maxLength }),
      fc.string({ unit: "binary", maxLength }),
      fc.constantFrom(0, 1, 31, 32, 255, 256, 512).map((length) => "k".repeat(length)),
    )
    .filter((candidate) => rule(candidate) === undefined);

export const anyKey = text(40, isValidKey);
export const anyName = text(40, isValidSessionName);
const anyItem: fc.Arbitrary<LockItem> = fc.record({
  key: anyKey,
  mode: fc.constantFrom("exclusive", "shared"),
});
const numbers = (maxLength: number) => fc.array(anyNumber(), { maxLength });
const nonce = fc
  .uint8Array({ minLength: 16, maxLength: 16 })
  .map((bytes) => Buffer.from(bytes).toString("hex"));

/** A sequence with a mark not above it. */
const numbered = anyNumber(1).chain((sequence) =>
  fc.record({
    sequence: fc.constant(sequence),
    mark: anyNumber(0, sequence),
    acknowledged: numbers(20),
  }),
);
const unnumbered = fc.record({ number: anyNumber(), mark: anyNumber(), acknowledged: numbers(20) });

export const anyCommand: fc.Arbitrary<Command> = fc.oneof(
  fc.record({
    op: fc.constant(OP.open),
    nonce,
    attempt: anyNumber(1, ATTEMPT_MAX),
    ttlMs: anyNumber(TTL_MS_MIN, TTL_MS_MAX),
    name: anyName,
    metadata: text(300, isValidMetadata),
  }),
  fc.record({
    op: fc.constant(OP.resume),
    session: anyNumber(1),
    nonce,
    attempt: anyNumber(1, ATTEMPT_MAX),
  }),
  unnumbered.map((head) => ({ op: OP.keepalive, ...head })),
  fc
    .record({
      head: numbered,
      owner: anyNumber(),
      items: fc.uniqueArray(anyItem, { minLength: 1, maxLength: 16, selector: (item) => item.key }),
      waitMs: fc.oneof(fc.constant(WAIT_FOREVER), anyNumber(0, WAIT_MS_MAX)),
    })
    .map(({ head, ...rest }) => ({ op: OP.acquire, ...head, ...rest })),
  fc.tuple(numbered, anyNumber()).map(([head, token]) => ({ op: OP.release, ...head, token })),
  numbered
    .filter(({ sequence }) => sequence > 1)
    .chain((head) =>
      anyNumber(1, head.sequence - 1).map((target) => ({ op: OP.cancel, ...head, target })),
    ),
  fc
    .tuple(unnumbered, numbers(40), numbers(40))
    .map(([head, sequences, tokens]) => ({ op: OP.recall, ...head, sequences, tokens })),
  numbered.map((head) => ({ op: OP.close, ...head })),
);

export const anyQuery: fc.Arbitrary<Query> = fc.oneof(
  fc.record({ op: fc.constant(OP.inspect), id: anyNumber(), key: anyKey }),
  fc.record({
    op: fc.constant(OP.query),
    id: anyNumber(),
    prefix: text(40, isValidPrefix),
    after: fc.option(text(40, isValidPrefix), { nil: undefined }),
    limit: anyNumber(1, QUERY_PAGE_MAX),
  }),
);

/** Addresses of members that are allowed, of every form. */
const anyAddress: fc.Arbitrary<string> = fc
  .tuple(
    fc.oneof(
      fc.stringMatching(/^[A-Za-z0-9._-]{1,60}$/),
      fc.ipV4(),
      fc.ipV6().map((host) => `[${host}]`),
      fc.constant("h".repeat(249)),
    ),
    anyNumber(1, 65_535),
  )
  .map(([host, port]) => `${host}:${port}`);

const change = {
  op: fc.constant(OP.changeMember),
  id: anyNumber(),
  node: anyNumber(1, NODE_ID_MAX),
};
export const anyOperation: fc.Arbitrary<Operation> = fc.oneof(
  fc.record({ op: fc.constant(OP.members), id: anyNumber() }),
  fc.record({ ...change, action: fc.constant("add"), address: anyAddress }),
  fc.record({
    ...change,
    action: fc.constantFrom("promote", "demote", "remove"),
    address: fc.constant(undefined),
  }),
  fc.record({ op: fc.constant(OP.transfer), id: anyNumber(), node: anyNumber(0, NODE_ID_MAX) }),
);
