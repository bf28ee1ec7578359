/**
 * What happens in one run: what applications ask for, what operators do, and what fails. A plan
 * refers to processes and locks by numbers, taken modulo their count, so that any part of a plan is
 * a plan too. It never says what to expect.
 */
import fc from "fast-check";

export const LOCK_KEYS = ["a", "b", "c"] as const;
/** A semaphore of `LIMIT` permits. */
export const SEMAPHORE_KEY = "s";
export const LIMIT = 2;
const PROCESSES = 3;
export const TASKS = 2;
export const PLAN_MS = 8_000;
/** No fault lasts longer. */
export const FAULT_MS_MAX = 3_000;

/** Plans get smaller by whole steps; to look for smaller numbers takes long and says little. */
const between = (min: number, max: number) => fc.noShrink(fc.integer({ min, max }));
const number = between(0, 1_000);
const faultMs = between(1, FAULT_MS_MAX);
const mode = fc.constantFrom("exclusive" as const, "shared" as const);
const key = fc.constantFrom(...LOCK_KEYS);
const waitMs = fc.option(between(0, 3_000), { nil: undefined });
const abortMs = fc.option(between(0, 1_500), { nil: undefined });

const items = fc.oneof(
  { weight: 8, arbitrary: fc.tuple(fc.record({ key, mode })) },
  {
    weight: 1,
    arbitrary: fc.uniqueArray(fc.record({ key, mode }), {
      minLength: 2,
      maxLength: 2,
      selector: (item) => item.key,
    }),
  },
  {
    weight: 1,
    arbitrary: fc.tuple(
      fc.record({
        key: fc.constant(SEMAPHORE_KEY),
        permits: between(1, LIMIT),
        limit: fc.constant(LIMIT),
      }),
    ),
  },
);

const acquire = fc.record({
  type: fc.constant("acquire" as const),
  process: number,
  items,
  /** One of those that are named by several acquires; `undefined`: a task of its own. */
  task: fc.option(between(0, TASKS - 1), { nil: undefined, freq: 2 }),
  waitMs,
  abortMs,
  /** After which it is released; `undefined`: not before the end of the plan. */
  holdMs: fc.option(between(0, 4_000), { nil: undefined, freq: 4 }),
  maxHoldMs: fc.option(between(1_000, 2_500), { nil: undefined, freq: 8 }),
});

/** What is done with a lock that is held. */
const change = fc.record({
  type: fc.constant("change" as const),
  lock: number,
  what: fc.constantFrom(
    "upgrade" as const,
    "upgrade" as const,
    "downgrade" as const,
    "nest" as const,
    "update" as const,
    "release" as const,
    "handOver" as const,
  ),
  /** The mode of a nested acquire. */
  mode,
  waitMs,
  abortMs,
  /** Another change of the same lock in the same turn. */
  next: fc.option(
    fc.constantFrom(
      "upgrade" as const,
      "downgrade" as const,
      "nest" as const,
      "release" as const,
      "handOver" as const,
      "depart" as const,
    ),
    { nil: undefined, freq: 2 },
  ),
});

/** It takes what others left, too. */
const rest = fc.noShrink(fc.constantFrom(false, false, true));
/** Another process, which begins in order to adopt. */
const heir = fc.record({
  delayMs: between(0, 1_500),
  rest,
  /** It ends after so long, without a word. */
  livesMs: fc.option(between(0, 1_000), { nil: undefined, freq: 2 }),
});
/** A process hands over everything. */
const depart = fc.record({
  type: fc.constant("depart" as const),
  process: number,
  heirs: fc.array(heir, { maxLength: 3 }),
});

const process = number;
const fault = fc.oneof(
  fc.record({ type: fc.constant("cut" as const), process }),
  fc.record({ type: fc.constant("blackhole" as const), process }),
  /** The process with the next command loses its connection before, or after, it was executed. */
  fc.record({ type: fc.constant("lose" as const), before: fc.boolean() }),
  fc.record({
    type: fc.constant("stop" as const),
    process,
    isAsleep: fc.boolean(),
    forMs: faultMs,
  }),
  fc.record({
    type: fc.constant("busy" as const),
    what: fc.constantFrom("strong" as const, "commands" as const, "everything" as const),
    forMs: faultMs,
  }),
  fc.record({ type: fc.constant("refuse for good" as const) }),
  fc.record({ type: fc.constant("leaderless" as const), forMs: faultMs }),
  fc.record({
    type: fc.constant("node down" as const),
    node: between(1, 3),
    forMs: faultMs,
  }),
  fc.record({ type: fc.constant("slow" as const), forMs: faultMs }),
  fc.record({
    type: fc.constant("wall clock" as const),
    process,
    byMs: between(-5_000, 5_000),
  }),
);

const order = fc.oneof(
  fc.record({
    type: fc.constant("revoke" as const),
    key,
    graceMs: between(0, 1_500),
    now: fc.boolean(),
  }),
  fc.record({ type: fc.constant("steal" as const), key, holdMs: between(0, 500) }),
  fc.record({
    type: fc.constant("end session" as const),
    process,
    graceMs: between(0, 1_500),
    now: fc.boolean(),
  }),
);

const step = fc.oneof(
  { weight: 8, arbitrary: acquire },
  { weight: 8, arbitrary: change },
  {
    weight: 3,
    arbitrary: fc.record({ type: fc.constant("adopt" as const), process, left: number, rest }),
  },
  { weight: 2, arbitrary: depart },
  { weight: 6, arbitrary: fault },
  { weight: 1, arbitrary: order },
);

export const plan = fc.record({
  seed: fc.noShrink(fc.nat()),
  ttlMs: fc.constantFrom(1_000, 2_000, 4_000),
  /** How fast the clock of each process runs. */
  rates: fc.array(fc.constantFrom(0.96, 1, 1.04), { minLength: PROCESSES, maxLength: PROCESSES }),
  duplicates: fc.constantFrom(0, 0.3),
  losses: fc.constantFrom(0, 0.1),
  refusals: fc.constantFrom(0, 0, 0.3),
  hardRefusals: fc.constantFrom(0, 0, 0.1),
  isSlow: fc.boolean(),
  steps: fc.array(fc.record({ atMs: between(0, PLAN_MS), step }), {
    minLength: 5,
    maxLength: 80,
    size: "max",
  }),
});

export type Plan = typeof plan extends fc.Arbitrary<infer T> ? T : never;
export type Step = Plan["steps"][number]["step"];
export type StepOf<Type extends Step["type"]> = Extract<Step, { type: Type }>;
export type Fault = typeof fault extends fc.Arbitrary<infer T> ? T : never;
