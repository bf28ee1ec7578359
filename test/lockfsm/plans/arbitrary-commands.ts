/**
 * Whatever a client can send, on top of the table that has something of everything: every operation
 * with every number that could mean something there, and with the numbers at which ranges end. Each
 * command goes through its bytes, so that it is one which a gateway could have passed on.
 */
import fc from "fast-check";
import type { TableCommand, TableEntry } from "../../../src/lockfsm/index.js";
import {
  ACCESS_LEVEL,
  ACQUIRE_DEFAULTS,
  type AccessLevel,
  type AcquireTerms,
  type Command,
  EXTEND_MODE,
  type ExtendMode,
  type Item,
  isAttachCommand,
  LEASE_TTL_MS_MAX,
  OP,
  SEQUENCE_MAX,
  TOKEN_MIN,
  WAIT_FOREVER,
} from "../../../src/protocol/index.js";
import { decodeCommand, encodeCommand } from "../../protocol/command-bytes.js";
import { type Client, OTHER_OWNER, OTHER_REQUEST, OWNER, REQUEST } from "./cluster-log.js";
import { type Everything, SECRET } from "./everything.js";

/** `sequence` 0 stands for the next one of the client. */
interface Sending {
  readonly client: number;
  readonly epochShift: number;
  readonly command: Command;
}

export interface ArbitraryEntry {
  readonly elapsedMs: number;
  readonly sendings: readonly Sending[];
}

const KEYS = [
  ...["lock", "again", "up", "solo", "set", "unused", "open", "closed", "ghost", "shut", "both"],
  ...["left", "given", "adopted", "revoked", "stolen", "mine", "many", "run", "e2", "new", "other"],
  ...["raised", "raising", "firm"],
  ...["leased", "lease a", "lease b", "endless"],
];
const ENDS = [0, 1, 2, 1_000, 60_000, 600_000, 2 ** 32 - 1, 2 ** 32, SEQUENCE_MAX, 2 ** 53 - 1];

const token = fc.oneof(
  { weight: 8, arbitrary: fc.nat(40).map((at) => TOKEN_MIN + at) },
  { weight: 1, arbitrary: fc.constantFrom(...ENDS) },
);
const sequence = fc.oneof(
  { weight: 4, arbitrary: fc.integer({ min: 1, max: 30 }) },
  { weight: 1, arbitrary: fc.constantFrom(...ENDS) },
);
const task = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: 1, max: 10 }) },
  { weight: 1, arbitrary: fc.constantFrom(...ENDS) },
);
const session = fc.oneof(fc.integer({ min: 3, max: 60 }), fc.constantFrom(...ENDS));
const milliseconds = fc.constantFrom(0, 0, 5, 1_000, 5_000, 60_000, 600_000, 2 ** 32 - 1);
const count = fc.oneof(fc.integer({ min: 1, max: 9 }), fc.constantFrom(...ENDS));
const key = fc.oneof(
  { weight: 20, arbitrary: fc.constantFrom(...KEYS) },
  { weight: 1, arbitrary: fc.constantFrom("", "~reserved", "\u0000", "k".repeat(513)) },
);
/** As often as not, a key with a hold that waits for its heir. */
const handedOver = fc.oneof(fc.constant("left"), key);
const keys = fc.uniqueArray(key, { minLength: 1, maxLength: 3 });
const leaseOwner = fc.constantFrom(OWNER, OWNER, OTHER_OWNER, SECRET);
const waitMs = fc.constantFrom(0, WAIT_FOREVER, WAIT_FOREVER, 1, 7_000, 2 ** 32 - 1);
const secret = fc.constantFrom(SECRET, SECRET, OTHER_OWNER, "00".repeat(16));
const name = fc.constantFrom("ci", "ci", "leaver", "anonymous", "local", "new", "-");
/** Names that no client here has: what one sends is answered. */
const unused = fc.constantFrom("leaver", "anonymous", "local", "new", "new", "-");
const label = fc.constantFrom("token", "file", "new", "");
const op = <Op extends Command["op"]>(number: Op) => fc.constant(number);

const item: fc.Arbitrary<Item> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      key,
      mode: fc.constantFrom("exclusive" as const, "shared" as const),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      key,
      mode: fc.constant("permits" as const),
      permits: count,
      limit: fc.option(count, { nil: undefined }),
    }),
  },
);

const options: fc.Arbitrary<AcquireTerms> = fc
  .record(
    {
      priority: fc.constantFrom(1, 60, 61),
      maxHoldMs: fc.constantFrom(1_000, 9_000, 2 ** 32 - 1, 999),
      minHoldMs: milliseconds,
      lockDelayMs: milliseconds,
      value: fc.constantFrom("v", "v".repeat(1_024), "v".repeat(1_025)),
      steal: fc.constant(true),
      detect: fc.constant(false),
    },
    { requiredKeys: [] },
  )
  .map((some) => ({ ...ACQUIRE_DEFAULTS, ...some }));

const head = {
  sequence: fc.oneof({ weight: 9, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: sequence }),
  mark: fc.oneof({ weight: 12, arbitrary: fc.constant(1) }, { weight: 1, arbitrary: sequence }),
  acknowledged: fc.array(sequence, { maxLength: 4 }),
};
const force = {
  graceMs: fc.constantFrom(0, 1, 5_000, 3_600_000),
  now: fc.boolean(),
  reason: fc.constantFrom("", "why", "\n"),
};
const attach = { nonce: fc.constantFrom("a-nonce", "b", SECRET), attempt: fc.nat(9) };
const target = fc.oneof(
  { weight: 3, arbitrary: fc.integer({ min: 1, max: 30 }) },
  { weight: 1, arbitrary: sequence },
);

const command: fc.Arbitrary<Command> = fc.oneof(
  {
    weight: 16,
    arbitrary: fc.record({
      ...head,
      op: op(OP.acquire),
      task,
      items: fc.oneof(
        { weight: 3, arbitrary: fc.tuple(item) },
        { weight: 2, arbitrary: fc.array(item, { minLength: 1, maxLength: 4 }) },
      ),
      waitMs,
      options: fc.option(options, { nil: undefined, freq: 1 }),
    }),
  },
  {
    weight: 8,
    arbitrary: fc
      .record({
        ...head,
        op: op(OP.take),
        owner: leaseOwner,
        request: fc.constantFrom(REQUEST, OTHER_REQUEST),
        name: fc.constantFrom("owner", "", "\u007f"),
        ttlMs: fc.constantFrom(0, 1, 5_000, 600_000, 600_001, LEASE_TTL_MS_MAX),
        isSplit: fc.boolean(),
        items: fc.oneof(
          { weight: 3, arbitrary: fc.tuple(item) },
          { weight: 2, arbitrary: fc.array(item, { minLength: 1, maxLength: 4 }) },
        ),
        waitMs,
        options: fc.option(options, { nil: undefined, freq: 1 }),
      })
      .map((take) => (take.isSplit ? { ...take, waitMs: 0 } : take)),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      ...head,
      op: op(OP.extend),
      owner: leaseOwner,
      keys,
      ttlMs: fc.constantFrom(0, 1, 5_000, 600_000, 600_001, LEASE_TTL_MS_MAX),
      mode: fc.constantFrom(...(Object.keys(EXTEND_MODE) as ExtendMode[])),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      ...head,
      op: op(OP.giveBack),
      owner: leaseOwner,
      keys,
      taken: fc.oneof(fc.constant(0), target),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      ...head,
      op: op(OP.act),
      steps: fc.array(
        fc.record({
          owner: leaseOwner,
          key: keys.map(([first = ""]) => first),
          before: fc.constantFrom(undefined, "", "v"),
          after: fc.constantFrom(undefined, "", "v"),
          ttlMs: fc.constantFrom(undefined, 0, 5_000, LEASE_TTL_MS_MAX),
        }),
        { maxLength: 4 },
      ),
    }),
  },
  { weight: 7, arbitrary: fc.record({ ...head, op: op(OP.end), target }) },
  {
    weight: 10,
    arbitrary: fc.record({
      ...head,
      op: op(OP.upgrade),
      target,
      key: fc.oneof(fc.constantFrom("up", "raised"), key),
      waitMs,
      detect: fc.boolean(),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      ...head,
      op: op(OP.downgrade),
      target,
      key: fc.option(key, { nil: undefined }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ ...head, op: op(OP.update), target, value: fc.string() }) },
  {
    weight: 2,
    arbitrary: fc.record({ ...head, ...force, op: op(OP.revoke), key, token: fc.constant(0) }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      ...head,
      ...force,
      op: op(OP.revoke),
      key: fc.constant(undefined),
      token,
    }),
  },
  { weight: 1, arbitrary: fc.record({ ...head, ...force, op: op(OP.endSession), session }) },
  {
    weight: 3,
    arbitrary: fc.record({
      ...head,
      op: op(OP.setLimit),
      key,
      limit: fc.option(count, { nil: undefined }),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      ...head,
      op: op(OP.handOver),
      target,
      to: secret,
      isBearer: fc.boolean(),
      ttlMs: fc.constantFrom(0, 999, 1_000, 9_000, 600_000, 600_001, LEASE_TTL_MS_MAX),
    }),
  },
  { weight: 3, arbitrary: fc.record({ ...head, op: op(OP.adopt), key: handedOver, secret, task }) },
  {
    weight: 2,
    arbitrary: fc.record({
      ...head,
      op: op(OP.changeSetting),
      name: fc.constantFrom(
        ...["grantsPerStepMax", "unitsPerEntryMax", "holdsPerStepMax"],
        ...[
          "endlessLeases",
          "leaseTtlMsMax",
          "inFlightMax",
          "waitersMax",
          "priorityStepMs",
          "holdsPerSessionMax",
          "noSuchSetting",
        ],
      ),
      value: fc.option(fc.oneof(count, fc.constant(100)), { nil: undefined }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ ...head, op: op(OP.putIdentity), name }) },
  { weight: 1, arbitrary: fc.record({ ...head, op: op(OP.removeIdentity), name: unused }) },
  {
    weight: 1,
    arbitrary: fc.record({
      ...head,
      op: op(OP.putCredential),
      name: unused,
      label,
      kind: fc.constantFrom("token" as const, "certificate" as const),
      digest: fc.constantFrom("ab".repeat(32), "cd".repeat(32), undefined),
      expiresWallMs: count,
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ ...head, op: op(OP.removeCredential), name: unused, label }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      ...head,
      op: op(OP.setGrant),
      name,
      key,
      isPrefix: fc.boolean(),
      level: fc.constantFrom(...(Object.keys(ACCESS_LEVEL) as AccessLevel[])),
    }),
  },
  { weight: 1, arbitrary: fc.record({ ...head, op: op(OP.close) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      op: op(OP.keepalive),
      number: sequence,
      mark: head.mark,
      acknowledged: head.acknowledged,
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      op: op(OP.recall),
      number: sequence,
      mark: fc.constant(1),
      acknowledged: head.acknowledged,
      sequences: fc.array(sequence, { maxLength: 9 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      ...attach,
      op: op(OP.open),
      ttlMs: fc.constantFrom(999, 1_000, 600_000, 600_001),
      // It does not go through its bytes, which would refuse another name.
      name: fc.constantFrom("", "name"),
      metadata: fc.string(),
    }),
  },
  { weight: 1, arbitrary: fc.record({ ...attach, op: op(OP.resume), session }) },
);

export const arbitraryEntries: fc.Arbitrary<readonly ArbitraryEntry[]> = fc.array(
  fc.record({
    elapsedMs: fc.constantFrom(0, 0, 0, 0, 0, 0, 1, 500, 9_000, 60_000),
    sendings: fc.array(
      fc.record({
        client: fc.oneof(
          { weight: 30, arbitrary: fc.nat(4) },
          { weight: 1, arbitrary: fc.constant(5) },
        ),
        epochShift: fc.constantFrom(0, 0, 0, 0, 0, 0, 0, 1),
        command,
      }),
      { maxLength: 6, size: "max" },
    ),
  }),
  { minLength: 1, maxLength: 14, size: "max" },
);

/** What comes after the log of `before`. */
export function entriesFor(before: Everything, entries: readonly ArbitraryEntry[]): TableEntry[] {
  const { log, a, b, c, d, ended, operator } = before;
  const clients = [a, b, c, d, operator, ended];
  let { index, stamp } = log;
  return entries.map(({ elapsedMs, sendings }) => {
    index += 1;
    stamp += elapsedMs;
    const commands = sendings.map((sending) => sent(clients[sending.client] as Client, sending));
    return { index, stamp, wallMs: log.wallMs, commands };
  });
}

/** `from` has used the number before, if that is executed. */
export function sent(
  from: Pick<Client, "session" | "epoch" | "sequence">,
  { command, epochShift }: Sending,
): TableCommand {
  // Sessions of these tests are known by nonces that have no bytes.
  if (isAttachCommand(command)) return { session: 0, epoch: 0, command };
  let whole = command;
  if ("sequence" in command && command.sequence === 0) {
    from.sequence += 1;
    whole = { ...command, sequence: from.sequence };
  }
  const { session, epoch } = from;
  return { session, epoch: epoch + epochShift, command: decodeCommand(encodeCommand(whole)) };
}
