/**
 * Random histories for the table. A plan is data with small numbers in it; what they mean is
 * decided while it runs (`plans-clients.ts`), from what the clients learned so far, so that a
 * shrunk plan still makes sense and hits what matters: holds that exist and such as did, numbers that
 * were used or are not yet due, copies of what was sent, processes that lost the session.
 */
import fc from "fast-check";
import type { TableSettings } from "../../../src/lockfsm/index.js";
import {
  ACQUIRE_DEFAULTS,
  type AccessCommand,
  type AcquireTerms,
  EXTEND_MODE,
  type ExtendMode,
  type Item,
  WAIT_FOREVER,
} from "../../../src/protocol/index.js";

export const CLIENTS = 4;
/** The first three are locks, the others semaphores, as a rule. */
export const KEYS = ["a", "b", "c", "s", "t"] as const;
type KeyName = (typeof KEYS)[number];
export const USUAL_LIMIT = 3;

/** How far a command deviates from what a well-behaved client would send. */
export interface Manners {
  /** Added to the epoch; 0 for the one that the client knows. */
  readonly epochShift: number;
  /** Added to the number that comes next; 0 for a command whose turn it is. */
  readonly sequenceShift: number;
  /** It takes its number, and comes only as a copy, later if at all. */
  readonly isHeldBack: boolean;
  /** How far the mark lags behind what was answered; large values keep it at 1. */
  readonly markLag: number;
  /**
   * Which of the reported ends it acknowledges; "any": any of the last numbers, reported or not.
   */
  readonly acknowledges: "none" | "oldest" | "newest" | "all" | "any";
}

export const GOOD_MANNERS: Manners = Object.freeze({
  ...{ epochShift: 0, sequenceShift: 0, isHeldBack: false, markLag: 0, acknowledges: "all" },
});

interface From {
  readonly client: number;
  readonly manners: Manners;
  /** The credential of the connection, where the record says it; by default none. */
  readonly credential?: number;
}
/** Changes who may do what: in its session, or without one. */
interface Accessing extends From {
  readonly kind: "access";
  readonly isUnattached: boolean;
  readonly wish: AccessWish;
}
/** A command without its numbers. */
export type AccessWish = AccessCommand extends infer Each
  ? Each extends AccessCommand
    ? Omit<Each, "sequence" | "mark" | "acknowledged">
    : never
  : never;
export interface Attaching extends From {
  readonly kind: "open" | "resume";
  readonly attemptShift: number;
  readonly isStranger: boolean;
}
interface Acquiring extends From {
  readonly kind: "acquire";
  readonly task: number;
  readonly items: readonly Item[];
  readonly waitMs: number;
  readonly options: AcquireTerms | undefined;
}
/** For a lease. With `again` it asks for what one of the last takes of anybody asked for. */
export interface Taking extends From {
  readonly kind: "take";
  readonly again: number | undefined;
  /** Which of a few owners, and which of a few requests; 2: the owner itself. */
  readonly leaseOwner: number;
  readonly request: number;
  readonly items: readonly Item[];
  readonly isSplit: boolean;
  readonly ttlMs: number;
  readonly waitMs: number;
  readonly options: AcquireTerms | undefined;
}
/** In the keys of one of the last takes and by its owner; with `keys` in others. */
export interface Owning extends From {
  readonly kind: "extend" | "giveBack";
  readonly pick: number;
  /** Another owner instead. */
  readonly leaseOwner: number | undefined;
  readonly keys: readonly string[] | undefined;
  readonly ttlMs: number;
  readonly mode: ExtendMode;
  /** Only what one of its own last takes got, counted from the newest. */
  readonly takenBack: number | undefined;
}
/** Steps of few owners and values, in keys of which each is taken by another act now and then. */
export interface Acting extends From {
  readonly kind: "act";
  readonly steps: readonly {
    readonly leaseOwner: number;
    readonly key: string;
    readonly before: string | undefined;
    readonly after: string | undefined;
    readonly ttlMs: number | undefined;
  }[];
}
/** `pick` counts from the newest hold that the client believes to have; without any it gets one. */
export interface Holding extends From {
  readonly kind: "end" | "downgrade" | "upgrade" | "update" | "handOver";
  readonly pick: number;
  /** Any that it ever had instead. */
  readonly isStale: boolean;
  /** Which of its keys; of a downgrade 0 means all. */
  readonly part: number;
  readonly waitMs: number;
  readonly detect: boolean;
  readonly heir: Heir;
}
/** To whom a hold is handed over: one of a few names, which bearers and takes have alike. */
export interface Heir {
  readonly at: number;
  readonly isBearer: boolean;
  readonly ttlMs: number;
}
/** For what a bearer has; where there is nothing the client hands something over to one. */
interface Adopting extends From {
  readonly kind: "adopt";
  readonly pick: number;
  /** Which of its keys. */
  readonly part: number;
  /** What was adopted already instead. */
  readonly isSpent: boolean;
  readonly task: number;
  readonly isStranger: boolean;
  /** In any key instead. */
  readonly elsewhere: string | undefined;
}
/** `revoke` of a key, or with `pick` of the token of another client; `endSession` of that client. */
export interface Forcing extends From {
  readonly kind: "revoke" | "endSession";
  readonly key: KeyName;
  readonly pick: number | undefined;
  readonly graceMs: number;
  readonly now: boolean;
}
interface Limiting extends From {
  readonly kind: "setLimit";
  readonly key: KeyName;
  readonly limit: number | undefined;
}
interface Setting extends From {
  readonly kind: "changeSetting";
  readonly name: string;
  readonly value: number | undefined;
}
/** Ends what waits or has an unread end, as far as the client knows, or with `back` any number. */
interface Withdrawing extends From {
  readonly kind: "withdraw";
  readonly pick: number;
  readonly back: number | undefined;
}
/** `recall`: of every number that there was, and some. */
interface Simple extends From {
  readonly kind: "keepalive" | "recall" | "close";
}
/** Copies of what was sent before: `count` of them, from the one `back` before the last. */
interface Copying extends From {
  readonly kind: "copy";
  readonly back: number;
  readonly count: number;
  /** As if the client had sent them in its present epoch. */
  readonly isRenewed: boolean;
}
export type Sending =
  | Attaching
  | Acquiring
  | Taking
  | Owning
  | Acting
  | Holding
  | Adopting
  | Forcing
  | Limiting
  | Setting
  | Withdrawing
  | Accessing
  | Simple;
export type Action = Sending | Copying;

export interface Turn {
  readonly elapsedMs: number;
  readonly actions: readonly Action[];
}

const rarely = <Value>(usual: Value, value: Value, weight = 12): fc.Arbitrary<Value> =>
  fc.oneof({ weight, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary: fc.constant(value) });

const manners: fc.Arbitrary<Manners> = fc.record({
  epochShift: rarely(0, -1),
  sequenceShift: fc.oneof(
    { weight: 12, arbitrary: fc.constant(0) },
    { weight: 1, arbitrary: fc.constantFrom(1, 2, -1, -3) },
  ),
  isHeldBack: rarely(false, true),
  markLag: fc.constantFrom(0, 0, 0, 2, 1_000, -2),
  acknowledges: fc.constantFrom("none", "all", "all", "oldest", "newest", "any"),
});

export const base = { client: fc.nat(CLIENTS - 1), manners };
export const kind = <K extends string>(name: K) => fc.constant(name);
/** Most tasks of a client are the same one. */
const task = fc.constantFrom(1, 1, 1, 2, 2, 3);
export const waitMs = fc.constantFrom(WAIT_FOREVER, WAIT_FOREVER, WAIT_FOREVER, 0, 5, 500);
const graceMs = fc.constantFrom(0, 300, 2_500);
const pick = fc.nat(5);

const lockItem: fc.Arbitrary<Item> = fc.record({
  key: fc.constantFrom("a", "b", "c"),
  mode: fc.constantFrom("exclusive" as const, "shared" as const, "shared" as const),
});
/** `USUAL_LIMIT` becomes the limit that the client has heard of. */
const permitItem: fc.Arbitrary<Item> = fc.record({
  key: fc.constantFrom("s", "t"),
  mode: kind("permits"),
  permits: fc.constantFrom(1, 1, 1, 2, 2, 3),
  limit: fc.constantFrom(USUAL_LIMIT, USUAL_LIMIT, USUAL_LIMIT, USUAL_LIMIT, undefined, 2),
});
const anyItem: fc.Arbitrary<Item> = fc.oneof(
  { weight: 90, arbitrary: lockItem },
  { weight: 60, arbitrary: permitItem },
  { weight: 1, arbitrary: lockItem.map((item) => ({ ...item, key: "s" })) },
  { weight: 1, arbitrary: permitItem.map((item) => ({ ...item, key: "c" })) },
);
const items = fc.oneof(
  {
    weight: 30,
    arbitrary: fc.uniqueArray(anyItem, {
      minLength: 1,
      maxLength: 3,
      selector: ({ key }) => key,
    }),
  },
  { weight: 1, arbitrary: fc.array(anyItem, { maxLength: 3 }) },
);

const options: fc.Arbitrary<AcquireTerms> = fc.record({
  priority: fc.constantFrom(0, 0, 1, 2, 60),
  maxHoldMs: fc.constantFrom(0, 0, 1_000, 2_000),
  minHoldMs: fc.constantFrom(0, 0, 300, 900),
  lockDelayMs: fc.constantFrom(0, 0, 400),
  value: fc.constantFrom("", "v"),
  steal: kind("no").map(() => false),
  detect: rarely(true, false),
});

export const acquiring: fc.Arbitrary<Acquiring> = fc.record({
  ...base,
  kind: kind("acquire"),
  task,
  items,
  waitMs,
  options: fc.oneof(
    { weight: 1, arbitrary: fc.constant(undefined) },
    { weight: 1, arbitrary: options },
  ),
});

export const stealing: fc.Arbitrary<Acquiring> = acquiring.map((wanted) => ({
  ...wanted,
  items: wanted.items.map(({ key }) => ({ key, mode: "exclusive" as const })),
  options: { ...ACQUIRE_DEFAULTS, ...wanted.options, steal: true },
}));

/** A split one is a try, as a rule. */
export const taking: fc.Arbitrary<Taking> = fc
  .record({
    ...base,
    kind: kind("take"),
    again: fc.option(fc.nat(3), { nil: undefined, freq: 2 }),
    leaseOwner: fc.nat(2),
    request: fc.constantFrom(0, 0, 0, 1, 2, 2),
    items,
    isSplit: rarely(false, true, 4),
    ttlMs: fc.oneof(
      { weight: 12, arbitrary: fc.constantFrom(1, 300, 1_000, 2_500, 2_500, 20_000) },
      { weight: 3, arbitrary: fc.constant(0) },
      { weight: 1, arbitrary: fc.constant(700_000) },
    ),
    waitMs,
    options: fc.oneof(
      { weight: 2, arbitrary: fc.constant(undefined) },
      { weight: 1, arbitrary: options },
    ),
  })
  .chain((wanted) => rarely(wanted.isSplit ? { ...wanted, waitMs: 0 } : wanted, wanted, 30));

export const owning = <K extends Owning["kind"]>(name: K): fc.Arbitrary<Owning> =>
  fc.record({
    ...base,
    kind: kind(name),
    pick: fc.nat(4),
    leaseOwner: fc.option(fc.nat(2), { nil: undefined, freq: 5 }),
    keys: fc.oneof(
      { weight: 4, arbitrary: fc.constant(undefined) },
      {
        weight: 1,
        arbitrary: fc.uniqueArray(fc.constantFrom<string>(...KEYS), { minLength: 1, maxLength: 3 }),
      },
    ),
    ttlMs: fc.constantFrom(1, 500, 1_000, 1_000, 2_500, 2_500, 20_000, 20_000, 700_000),
    mode: fc.constantFrom(...(Object.keys(EXTEND_MODE) as ExtendMode[])),
    takenBack: fc.constantFrom(undefined, undefined, 0, 0, 1, 2),
  });

export const attaching = <K extends Attaching["kind"]>(name: K): fc.Arbitrary<Attaching> =>
  fc.record({
    ...base,
    kind: kind(name),
    attemptShift: fc.constantFrom(1, 1, 1, 0, -1),
    isStranger: rarely(false, true),
  });

const heir: fc.Arbitrary<Heir> = fc.record({
  at: fc.nat(2),
  isBearer: fc.constantFrom(true, true, false),
  ttlMs: fc.constantFrom(1_000, 5_000, 5_000, 5_000, 999, 0, 600_001),
});

export const holding = <K extends Holding["kind"]>(name: K): fc.Arbitrary<Holding> =>
  fc.record({
    ...base,
    kind: kind(name),
    pick,
    isStale: rarely(false, true, 5),
    part: fc.nat(3),
    waitMs,
    detect: rarely(true, false),
    heir,
  });

export const adopting: fc.Arbitrary<Adopting> = fc.record({
  ...base,
  kind: kind("adopt"),
  pick: fc.nat(2),
  part: fc.nat(3),
  isSpent: rarely(false, true, 6),
  task,
  isStranger: rarely(false, true),
  elsewhere: fc.option(fc.constantFrom(...KEYS), { nil: undefined, freq: 9 }),
});

export const forcing = <K extends Forcing["kind"]>(name: K): fc.Arbitrary<Forcing> =>
  fc.record({
    ...base,
    kind: kind(name),
    key: fc.constantFrom(...KEYS),
    pick: fc.option(pick, { nil: undefined }),
    graceMs,
    now: fc.boolean(),
  });

export const setting: fc.Arbitrary<Setting> = fc
  .tuple(
    fc.record(base),
    fc.constantFrom(
      ["waitersMax", 3],
      ["waitersMax", undefined],
      ["grantsPerStepMax", 1],
      ["priorityStepMs", 10],
      ["holdsPerSessionMax", 2],
      ["holdsPerSessionMax", undefined],
      ["waitsPerSessionMax", 1],
      ["bytesPerSessionMax", 300],
      ["bytesPerSessionMax", undefined],
      ["tableBytesMax", 900],
      ["tableBytesMax", undefined],
      ["minHoldMsMax", 300],
      ["minHoldMsMax", undefined],
      ["lockDelayMsMax", 0],
      ["sessionsMax", 0],
      ["sessionsPerIdentityMax", 2],
      ["sessionsPerIdentityMax", undefined],
      ["claimsPerIdentityMax", 3],
      ["claimsPerIdentityMax", undefined],
      ["bytesPerIdentityMax", 500],
      ["bytesPerIdentityMax", undefined],
      ["waitersPerIdentityMax", 1],
      ["waitersPerIdentityMax", undefined],
      ["identityLimitsEnforced", 0],
      ["identityLimitsEnforced", 1],
      ["leaseTtlMsMax", 2_000],
      ["leaseTtlMsMax", undefined],
      ["endlessLeases", 0],
      ["endlessLeases", 1],
      ["noSuchSetting", 1],
    ) as fc.Arbitrary<[string, number | undefined]>,
  )
  .map(([from, [name, value]]) => ({ ...from, kind: "changeSetting", name, value }));

const valueOfAct = fc.constantFrom(undefined, undefined, "", "v", "v", "longer");

export const acting: fc.Arbitrary<Acting> = fc.record({
  ...base,
  kind: kind("act"),
  steps: fc.uniqueArray(
    fc
      .record({
        leaseOwner: fc.constantFrom(0, 0, 0, 1),
        key: fc.constantFrom<string>(...KEYS.slice(0, 4)),
        before: valueOfAct,
        after: valueOfAct,
        ttlMs: fc.constantFrom(undefined, 0, 1_000, 5_000, 600_000, 700_000_000),
      })
      .map((step) => {
        const { before, after, ttlMs } = step;
        if (after === undefined) return { ...step, ttlMs: undefined };
        return before === undefined ? { ...step, ttlMs: ttlMs ?? 2_000 } : step;
      }),
    { minLength: 1, maxLength: 3, selector: ({ key }) => key },
  ),
});

export const withdrawing: fc.Arbitrary<Withdrawing> = fc.record({
  ...base,
  kind: kind("withdraw"),
  pick: fc.nat(2),
  back: fc.constantFrom(undefined, undefined, undefined, 0, 1, 2, 5, -1, -2),
});

export const copying: fc.Arbitrary<Copying> = fc.record({
  ...base,
  kind: kind("copy"),
  back: fc.nat(5),
  count: fc.integer({ min: 1, max: 4 }),
  isRenewed: fc.boolean(),
});

export const action: fc.Arbitrary<Action> = fc.oneof(
  { weight: 24, arbitrary: acquiring },
  { weight: 9, arbitrary: taking },
  { weight: 3, arbitrary: owning("extend") },
  { weight: 3, arbitrary: owning("giveBack") },
  { weight: 4, arbitrary: acting },
  { weight: 8, arbitrary: holding("end") },
  { weight: 2, arbitrary: holding("downgrade") },
  { weight: 5, arbitrary: holding("upgrade") },
  { weight: 1, arbitrary: holding("update") },
  { weight: 3, arbitrary: holding("handOver") },
  { weight: 3, arbitrary: adopting },
  { weight: 1, arbitrary: stealing },
  { weight: 2, arbitrary: forcing("revoke") },
  { weight: 1, arbitrary: rarelyEnding() },
  {
    weight: 2,
    arbitrary: fc.record({
      ...base,
      kind: kind("setLimit"),
      key: fc.boolean().chain((isFirst) => rarely<KeyName>(isFirst ? "s" : "t", "c", 120)),
      limit: fc.constantFrom(1, 2, 3, 4, undefined, 0),
    }),
  },
  { weight: 1, arbitrary: setting },
  { weight: 4, arbitrary: withdrawing },
  { weight: 2, arbitrary: fc.record({ ...base, kind: kind("recall") }) },
  { weight: 4, arbitrary: fc.record({ ...base, kind: kind("keepalive") }) },
  { weight: 1, arbitrary: fc.record({ ...base, kind: kind("close") }) },
  { weight: 1, arbitrary: attaching("open") },
  { weight: 1, arbitrary: attaching("resume") },
  { weight: 4, arbitrary: copying },
);

/** With a grace as a rule: a session that is over is of no more use to a plan. */
function rarelyEnding(): fc.Arbitrary<Forcing> {
  return forcing("endSession").chain((wanted) =>
    rarely({ ...wanted, now: false }, { ...wanted, now: true }),
  );
}

export const plan: fc.Arbitrary<readonly Turn[]> = fc.array(
  fc.record({
    elapsedMs: fc.constantFrom(0, 0, 0, 0, 0, 1, 1, 1, 5, 5, 50, 50, 100, 100, 400, 1_500),
    actions: fc.array(action, { maxLength: 6, size: "max" }),
  }),
  { minLength: 1, maxLength: 40, size: "max" },
);

export const opening: Turn = {
  elapsedMs: 0,
  actions: Array.from({ length: CLIENTS }, (_, client) => ({
    client,
    manners: GOOD_MANNERS,
    ...{ kind: "open", attemptShift: 1, isStranger: false },
  })),
};

/** All are there from the start; then few commands, among which several things become due at once. */
export const shortPlan: fc.Arbitrary<readonly Turn[]> = fc
  .array(
    fc.record({
      elapsedMs: fc.constantFrom(0, 0, 0, 5, 300, 1_000, 2_000),
      actions: fc.array(action, { maxLength: 4, size: "max" }),
    }),
    { minLength: 1, maxLength: 14, size: "max" },
  )
  .map((turns) => [opening, ...turns]);

const common = {
  waitersMax: fc.constantFrom(50, 50, 2),
  unacknowledgedMax: fc.constantFrom(50, 50, 3),
  grantsPerStepMax: fc.constantFrom(64, 2, 1),
  holdsPerStepMax: fc.constantFrom(100, 100, 2, 1),
  priorityStepMs: fc.constantFrom(1_000, 100, 0),
  sessionsMax: rarely(100, 3),
  holdsPerSessionMax: fc.constantFrom(50, 50, 3),
  waitsPerSessionMax: fc.constantFrom(50, 50, 2),
  bytesPerSessionMax: fc.constantFrom(1_000_000, 1_000_000, 1_000_000, 400),
  tableBytesMax: fc.constantFrom(1_000_000, 1_000_000, 1_000_000, 1_200),
  minHoldMsMax: fc.constantFrom(1_000_000, 1_000_000, 1_000_000, 300, 0),
  lockDelayMsMax: fc.constantFrom(60_000, 60_000, 60_000, 399),
  sessionsPerIdentityMax: fc.constantFrom(100, 100, 2),
  claimsPerIdentityMax: fc.constantFrom(50, 50, 6, 3),
  bytesPerIdentityMax: fc.constantFrom(1_000_000, 1_000_000, 1_000_000, 600),
  waitersPerIdentityMax: fc.constantFrom(50, 50, 2, 1),
  identityLimitsEnforced: fc.constantFrom(1, 1, 0),
  leaseTtlMsMax: fc.constantFrom(600_000, 600_000, 20_000, 2_500),
  endlessLeases: fc.constantFrom(0, 1, 1),
};

/** All but the steps of search, which these lives never use up. */
export const settings: fc.Arbitrary<TableSettings> = fc.record({
  ...common,
  unitsPerEntryMax: fc.constantFrom(1_000_000, 1_000_000, 1_000_000, 100, 3, 1),
});

export const fewUnits: fc.Arbitrary<TableSettings> = fc.record({
  ...common,
  unitsPerEntryMax: fc.constantFrom(3, 2, 1),
});
