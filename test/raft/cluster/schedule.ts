/**
 * Random schedules: what can happen to a cluster, as data that can be shrunk and repeated. A
 * schedule draws its steps from one mood, so that rare events (leaders that fail in the middle of
 * their replication, one change of members after another, logs that are cut as soon as they grow)
 * happen often enough to coincide.
 */
import fc from "fast-check";

/** Weights of what happens in a mood. */
const BASIC = {
  deliver: 12,
  persist: 6,
  propose: 5,
  load: 3,
  drift: 4,
  advance: 8,
  campaign: 2,
  connect: 5,
  notice: 3,
  start: 4,
  break: 2,
  crash: 2,
  isolate: 1,
  unblock: 2,
  pause: 1,
  read: 4,
  interest: 1,
} as const;

const SNAPSHOTS = { beginSnapshot: 2, finishSnapshot: 2, deliverSnapshot: 3 } as const;

const MOODS = {
  calm: { ...BASIC, ...SNAPSHOTS, change: 1, transfer: 1 },
  /** One interrupted leadership after the other, as in figure 8 of the Raft paper. */
  reigns: { reign: 30, propose: 1, start: 1, deliver: 1, read: 1 },
  churn: { campaign: 6, reach: 4, propose: 4, start: 4, crash: 2, deliver: 2, persist: 2, read: 2 },
  members: {
    ...BASIC,
    ...SNAPSHOTS,
    change: 14,
    remake: 2,
    reach: 4,
    campaign: 4,
    reign: 1,
    transfer: 2,
  },
  snapshots: {
    ...BASIC,
    ...SNAPSHOTS,
    reach: 4,
    hold: 1,
    fallBehind: 6,
    deliverSnapshot: 8,
    giveUpSnapshot: 2,
    change: 2,
  },
  handovers: { ...BASIC, transfer: 8, read: 10, usurp: 3, campaign: 4, reach: 4, change: 2 },
  /** Messages are lost, doubled and overtaken within a connection, which no connection does. */
  wild: {
    ...BASIC,
    ...SNAPSHOTS,
    reign: 6,
    leak: 8,
    lose: 4,
    repeat: 6,
    swap: 6,
    change: 2,
    fallBehind: 1,
  },
} as const;

export type Mood = keyof typeof MOODS;
type KindsOf<M> = M extends unknown ? keyof M : never;
export type Kind = KindsOf<(typeof MOODS)[Mood]>;

export interface Step {
  readonly kind: Kind;
  readonly at: number;
  readonly amount: number;
}

export interface Schedule {
  readonly seed: number;
  readonly mood: Mood;
  readonly warmMs: number;
  readonly config: {
    readonly appendBytesMax: number;
    readonly inflightBytesMax: number;
    readonly inflightMessagesMax: number;
    readonly spareDelayMs: number;
  };
  readonly steps: readonly Step[];
}

function stepsOf(mood: Mood): fc.Arbitrary<readonly Step[]> {
  const kinds = Object.entries(MOODS[mood]).flatMap(([kind, weight]) =>
    Array<Kind>(weight).fill(kind as Kind),
  );
  const step = fc.record({
    kind: fc.constantFrom(...kinds),
    at: fc.nat({ max: 1_000 }),
    amount: fc.nat({ max: 1 << 20 }),
  });
  const maxLength = mood === "reigns" ? 40 : 250;
  return fc.array(step, { minLength: 10, maxLength, size: "max" });
}

/** Schedules of the moods named, each as often as the others. */
export function schedulesOf(...moods: readonly Mood[]): fc.Arbitrary<Schedule> {
  return fc.constantFrom(...moods).chain((mood) =>
    fc.record({
      seed: fc.nat(),
      mood: fc.constant(mood),
      warmMs: fc.constantFrom(0, 150, 400),
      config: fc.record({
        appendBytesMax: mood === "reigns" ? fc.constant(1) : fc.constantFrom(1, 64, 4096),
        inflightBytesMax: fc.constantFrom(100, 1_000),
        inflightMessagesMax: fc.constantFrom(1, 3),
        spareDelayMs: fc.constantFrom(0, 0, 5, 20),
      }),
      steps: stepsOf(mood),
    }),
  );
}
