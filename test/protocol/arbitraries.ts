/**
 * Random requests for the properties of this room: every operation, numbers at the edge of every
 * width, names in any script.
 */
import fc from "fast-check";
import {
  ACQUIRE_DEFAULTS,
  type AcquireOptions,
  ATTEMPT_MAX,
  CHECKSUM_BYTES,
  CHUNK_MAX,
  type Command,
  GENERATION_MAX,
  GRACE_MS_MAX,
  HISTORY_PAGE_MAX,
  type Item,
  isValidKey,
  isValidMetadata,
  isValidPrefix,
  isValidReason,
  isValidSessionName,
  isValidValue,
  keyOfLockName,
  LIMIT_MAX,
  LOCK_DELAY_MS_MAX,
  MAX_HOLD_MS_MIN,
  NODE_ID_MAX,
  OP,
  type Operation,
  PERMITS_MAX,
  PRIORITY_MAX,
  QUERY_PAGE_MAX,
  type Query,
  REVISION_NUMBER_MAX,
  SEQUENCE_MAX,
  TTL_MS_MAX,
  TTL_MS_MIN,
  WAIT_FOREVER,
  WAIT_GRAPH_EDGES_MAX,
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

const anyLockName = fc.string({ unit: "binary", maxLength: 20 });
/** Mostly such as applications choose, now and then an escaped name. */
export const anyKey = fc.oneof(
  { weight: 4, arbitrary: text(40, isValidKey) },
  { weight: 1, arbitrary: anyLockName.map((name) => keyOfLockName(name) ?? "k") },
);
export const anyName = text(40, isValidSessionName);
const anyLock = fc.record({ key: anyKey, mode: fc.constantFrom("exclusive", "shared") });
const anyPermits = fc
  .record({
    key: anyKey,
    permits: anyNumber(1, PERMITS_MAX / 16),
    limit: fc.option(anyNumber(PERMITS_MAX / 16, LIMIT_MAX), { nil: undefined }),
  })
  .map((item) => ({ ...item, mode: "permits" as const }));
const anyItem: fc.Arbitrary<Item> = fc.oneof({ weight: 2, arbitrary: anyLock }, anyPermits);
const anyItems = fc.oneof(
  fc.uniqueArray(anyItem, { minLength: 1, maxLength: 16, selector: ({ key }) => key }),
  anyPermits.map((item) => [{ ...item, permits: PERMITS_MAX, limit: LIMIT_MAX }]),
);

/** Those that no acquire of these items would be refused for; never all the defaults. */
const optionsFor = (items: readonly Item[]): fc.Arbitrary<AcquireOptions> =>
  fc
    .record(
      {
        priority: anyNumber(0, PRIORITY_MAX),
        maxHoldMs: fc.oneof(fc.constant(0), anyNumber(MAX_HOLD_MS_MIN, WAIT_MS_MAX)),
        minHoldMs: anyNumber(0, WAIT_MS_MAX),
        lockDelayMs: anyNumber(0, LOCK_DELAY_MS_MAX),
        value: text(300, isValidValue),
        steal: fc.boolean(),
        detect: fc.boolean(),
      },
      { requiredKeys: [] },
    )
    .map((some) => {
      const all = { ...ACQUIRE_DEFAULTS, ...some };
      const canSteal = items.every(({ mode }) => mode === "exclusive");
      const minHoldMs = all.maxHoldMs > 0 ? Math.min(all.minHoldMs, all.maxHoldMs) : all.minHoldMs;
      return { ...all, steal: all.steal && canSteal, minHoldMs };
    })
    .filter((options) =>
      Object.entries(ACQUIRE_DEFAULTS).some(([name, value]) => {
        return options[name as keyof AcquireOptions] !== value;
      }),
    );

const numbers = (maxLength: number) => fc.array(anyNumber(), { maxLength });
const nonce = fc
  .uint8Array({ minLength: 16, maxLength: 16 })
  .map((bytes) => Buffer.from(bytes).toString("hex"));
const anyWait = fc.oneof(fc.constant(WAIT_FOREVER), anyNumber(0, WAIT_MS_MAX));

/** A sequence of at least `least` with a mark not above it. */
const numberedFrom = (least: number) =>
  anyNumber(least, SEQUENCE_MAX).chain((sequence) =>
    fc.record({
      sequence: fc.constant(sequence),
      mark: anyNumber(0, sequence),
      acknowledged: numbers(20),
    }),
  );
const numbered = numberedFrom(1);
const unnumbered = fc.record({ number: anyNumber(), mark: anyNumber(), acknowledged: numbers(20) });

/** Commands with a sequence whose other values do not depend on it. */
const sequenced = <O extends number, T extends object>(op: O, rest: fc.Arbitrary<T>) =>
  fc.tuple(numbered, rest).map(([head, values]) => ({ op, ...head, ...values }));
/** Commands about the hold or wait of an earlier one. */
const targeted = <O extends number, T extends object>(op: O, rest: fc.Arbitrary<T>) =>
  numberedFrom(2).chain((head) =>
    fc
      .tuple(anyNumber(1, head.sequence - 1), rest)
      .map(([target, values]) => ({ op, ...head, target, ...values })),
  );
const force = {
  graceMs: anyNumber(0, GRACE_MS_MAX),
  now: fc.boolean(),
  reason: text(40, isValidReason),
};
const attached = { session: anyNumber(1), nonce, attempt: anyNumber(1, ATTEMPT_MAX) };

const anyAcquire: fc.Arbitrary<Command> = anyItems.chain((items) =>
  sequenced(
    OP.acquire,
    fc.record({
      owner: anyNumber(),
      items: fc.constant(items),
      waitMs: anyWait,
      options: fc.option(optionsFor(items), { nil: undefined }),
    }),
  ),
);

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
    ...attached,
    generation: anyNumber(0, GENERATION_MAX),
  }),
  fc.record({
    op: fc.constant(OP.takeOver),
    ...attached,
    generation: anyNumber(0, GENERATION_MAX - 1),
    taker: nonce,
  }),
  unnumbered.map((head) => ({ op: OP.keepalive, ...head })),
  { weight: 4, arbitrary: anyAcquire },
  targeted(OP.end, fc.constant({})),
  fc
    .tuple(unnumbered, numbers(40))
    .map(([head, sequences]) => ({ op: OP.recall, ...head, sequences })),
  numbered.map((head) => ({ op: OP.close, ...head })),
  targeted(OP.downgrade, fc.record({ key: fc.option(anyKey, { nil: undefined }) })),
  targeted(OP.upgrade, fc.record({ key: anyKey, waitMs: anyWait, detect: fc.boolean() })),
  targeted(OP.update, fc.record({ value: text(300, isValidValue) })),
  sequenced(
    OP.revoke,
    fc.oneof(
      fc.record({ key: anyKey, token: fc.constant(0), ...force }),
      fc.record({ key: fc.constant(undefined), token: anyNumber(1), ...force }),
    ),
  ),
  sequenced(OP.endSession, fc.record({ session: anyNumber(1), ...force })),
  sequenced(
    OP.setLimit,
    fc.record({ key: anyKey, limit: fc.option(anyNumber(1, LIMIT_MAX), { nil: undefined }) }),
  ),
  targeted(OP.detach, fc.record({ secret: nonce, ticketTtlMs: anyNumber(TTL_MS_MIN, TTL_MS_MAX) })),
  sequenced(OP.claim, fc.record({ token: anyNumber(), secret: nonce, owner: anyNumber() })),
  sequenced(
    OP.changeSetting,
    fc.record({
      name: fc.stringMatching(/^[A-Za-z]{1,64}$/),
      value: fc.option(anyNumber(), { nil: undefined }),
    }),
  ),
);

const id = anyNumber();
export const anyQuery: fc.Arbitrary<Query> = fc.oneof(
  fc.record({ op: fc.constant(OP.inspect), id, key: anyKey }),
  fc.record({
    op: fc.constant(OP.query),
    id,
    prefix: text(40, isValidPrefix),
    after: fc.option(text(40, isValidPrefix), { nil: undefined }),
    limit: anyNumber(1, QUERY_PAGE_MAX),
  }),
  fc
    .tuple(id, anyKey, fc.oneof(fc.constant([0, 0]), fc.tuple(anyNumber(1), anyNumber(1))))
    .map(([of, key, [session = 0, sequence = 0]]) => {
      return { op: OP.explain, id: of, key, session, sequence };
    }),
  fc.record({ op: fc.constant(OP.waitGraph), id, limit: anyNumber(1, WAIT_GRAPH_EDGES_MAX) }),
  fc.record({ op: fc.constant(OP.verify), id, key: anyKey, token: anyNumber() }),
  fc.record({ op: fc.constant(OP.settings), id }),
  fc.record({
    op: fc.constant(OP.history),
    id,
    key: anyKey,
    limit: anyNumber(1, HISTORY_PAGE_MAX),
  }),
  fc.record({
    op: fc.constant(OP.sessions),
    id,
    after: anyNumber(),
    limit: anyNumber(1, QUERY_PAGE_MAX),
  }),
  fc
    .record({
      id,
      prefix: text(40, isValidPrefix),
      key: anyKey,
      isPrefix: fc.boolean(),
      after: fc.option(
        fc.record({ index: anyNumber(1), number: anyNumber(0, REVISION_NUMBER_MAX) }),
        { nil: undefined },
      ),
    })
    .map(({ prefix, key, ...rest }) => {
      return { op: OP.watch, ...rest, key: rest.isPrefix ? prefix : key };
    }),
  fc.record({ op: fc.constant(OP.unwatch), id, watch: anyNumber() }),
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
  fc.record({ op: fc.constant(OP.saveSnapshot), id: anyNumber(), isStale: fc.boolean() }),
  fc.record({
    op: fc.constant(OP.readSnapshot),
    id: anyNumber(),
    checksum: fc
      .uint8Array({ minLength: CHECKSUM_BYTES, maxLength: CHECKSUM_BYTES })
      .map((bytes) => Buffer.from(bytes).toString("hex")),
    chunk: anyNumber(0, CHUNK_MAX),
  }),
);
