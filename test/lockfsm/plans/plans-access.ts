/**
 * Random histories, like the ones of `plans.ts`, in which rights come and go, the rights of two
 * identities, whose grants cover some keys and not others that begin alike, and of connections that
 * have shown nothing.
 */
import fc from "fast-check";
import {
  ACCESS_LEVEL,
  ACQUIRE_DEFAULTS,
  type AccessLevel,
  ANONYMOUS,
  LOCAL,
  LOCAL_CREDENTIAL,
  OP,
  WAIT_FOREVER,
} from "../../../src/protocol/index.js";
import {
  type AccessWish,
  type Action,
  action as anyAction,
  attaching,
  base,
  CLIENTS,
  GOOD_MANNERS,
  holding,
  kind,
  owning,
  type Turn,
  taking,
} from "./plans.js";

/** What the locks of other plans are called here. */
export const NAMES: Readonly<Record<string, string>> = {
  a: "orders",
  b: "orders/1",
  c: "orders-secret",
};

const name = fc.oneof(
  { weight: 8, arbitrary: fc.constantFrom("p", "q") },
  { weight: 4, arbitrary: fc.constant(ANONYMOUS) },
  { weight: 1, arbitrary: fc.constantFrom(LOCAL, "unknown") },
);
const label = fc.constantFrom("x", "x", "y");
const range = fc.constantFrom<readonly [string, boolean]>(
  ...([
    ["", true],
    ["", true],
    ["orders", false],
    ["orders", true],
    ["orders/", true],
    ["orders-secret", false],
    ["s", true],
    ["t", false],
  ] as const),
);
const level = fc.constantFrom(...(Object.keys(ACCESS_LEVEL) as AccessLevel[]));
const digest = fc.constantFrom("0a", "0b", "0c").map((digits) => digits.repeat(32));

const wish: fc.Arbitrary<AccessWish> = fc.oneof(
  { weight: 2, arbitrary: fc.record({ op: fc.constant(OP.putIdentity), name }) },
  { weight: 1, arbitrary: fc.record({ op: fc.constant(OP.removeIdentity), name }) },
  {
    weight: 4,
    arbitrary: fc.record({
      op: fc.constant(OP.putCredential),
      name,
      label,
      kind: kind("token"),
      digest,
      expiresWallMs: fc.constantFrom(0, 0, 9_000),
    }),
  },
  { weight: 1, arbitrary: fc.record({ op: fc.constant(OP.removeCredential), name, label }) },
  {
    weight: 8,
    arbitrary: fc.tuple(name, range, level).map(([of, [key, isPrefix], granted]): AccessWish => {
      return { op: OP.setGrant, name: of, key, isPrefix, level: granted };
    }),
  },
);

/** The first two exist from the beginning; no number is used again. */
const credential = fc.oneof(
  { weight: 6, arbitrary: fc.constant(0) },
  { weight: 12, arbitrary: fc.constantFrom(1, 2) },
  { weight: 3, arbitrary: fc.integer({ min: 3, max: 7 }) },
  { weight: 4, arbitrary: fc.constant(LOCAL_CREDENTIAL) },
);

const accessing: fc.Arbitrary<Action> = fc.record({
  ...base,
  kind: kind("access"),
  isUnattached: fc.boolean(),
  wish,
});

const action: fc.Arbitrary<Action> = fc
  .tuple(
    fc.oneof({ weight: 4, arbitrary: anyAction }, { weight: 1, arbitrary: accessing }),
    credential,
  )
  .map(([wanted, shown]) => ({ ...renamed(wanted), credential: shown }));

export function renamed(wanted: Action): Action {
  if (wanted.kind === "extend" || wanted.kind === "giveBack") {
    return { ...wanted, keys: wanted.keys?.map((key) => NAMES[key] ?? key) };
  }
  if (wanted.kind === "act") {
    const steps = wanted.steps.map((step) => ({ ...step, key: NAMES[step.key] ?? step.key }));
    return { ...wanted, steps };
  }
  if (wanted.kind === "acquire" || wanted.kind === "take") {
    const items = wanted.items.map((item) => ({ ...item, key: NAMES[item.key] ?? item.key }));
    return { ...wanted, items };
  }
  if (wanted.kind === "adopt") {
    const { elsewhere } = wanted;
    return { ...wanted, elsewhere: elsewhere && (NAMES[elsewhere] ?? elsewhere) };
  }
  if (!("key" in wanted)) return wanted;
  return { ...wanted, key: NAMES[wanted.key] ?? wanted.key } as Action;
}

const locally = (of: AccessWish): Action => {
  const how = { client: 0, manners: GOOD_MANNERS, credential: LOCAL_CREDENTIAL };
  return { ...how, kind: "access", isUnattached: true, wish: of };
};

/** Two identities with a token each, and clients of both, of the socket and of nobody. */
export const beginning: Turn = {
  elapsedMs: 0,
  actions: [
    ...["p", "q"].flatMap((of, at) => [
      locally({ op: OP.putIdentity, name: of }),
      locally({
        ...{ op: OP.putCredential, name: of, label: "x", kind: "token" },
        ...{ digest: `0${at + 1}`.repeat(32), expiresWallMs: 0 },
      }),
      locally({ op: OP.setGrant, name: of, key: "", isPrefix: true, level: "acquire" }),
    ]),
    ...Array.from({ length: CLIENTS }, (_, client): Action => {
      const how = { attemptShift: 1, isStranger: false };
      return { kind: "open", client, manners: GOOD_MANNERS, credential: client % 3, ...how };
    }),
  ],
};

export const granting: fc.Arbitrary<Action> = fc
  .tuple(
    fc.constantFrom("p", "q", ANONYMOUS),
    range,
    fc.constantFrom<AccessLevel[]>("none", "observe", "acquire", "acquire"),
  )
  .map(([of, [key, isPrefix], granted]) =>
    locally({ op: OP.setGrant, name: of, key, isPrefix, level: granted }),
  );

/** Rights go while much is waited for, and come back. */
const losing: fc.Arbitrary<Action> = fc.oneof(
  {
    weight: 16,
    arbitrary: fc.record({
      ...base,
      kind: kind("acquire"),
      task: fc.constantFrom(1, 2, 3),
      items: fc.uniqueArray(
        fc.oneof(
          fc.record({
            key: fc.constantFrom(...Object.values(NAMES)),
            mode: fc.constantFrom("exclusive" as const, "shared" as const),
          }),
          fc.record({
            key: kind("s"),
            mode: kind("permits"),
            permits: fc.constantFrom(1, 2, 3),
            limit: fc.constant(3),
          }),
        ),
        { minLength: 1, maxLength: 3, selector: ({ key }) => key },
      ),
      waitMs: fc.constantFrom(WAIT_FOREVER, WAIT_FOREVER, 500),
      options: fc.constantFrom(undefined, undefined, { ...ACQUIRE_DEFAULTS, detect: false }),
    }),
  },
  { weight: 6, arbitrary: taking.map(renamed) },
  { weight: 3, arbitrary: owning("giveBack").map(renamed) },
  { weight: 8, arbitrary: holding("end") },
  { weight: 4, arbitrary: holding("upgrade") },
  { weight: 2, arbitrary: holding("handOver") },
  { weight: 2, arbitrary: fc.record({ ...base, kind: kind("keepalive") }) },
  {
    weight: 2,
    arbitrary: fc
      .tuple(attaching("resume"), fc.constantFrom(1, 2))
      .map(([wanted, shown]) => ({ ...wanted, attemptShift: 1, credential: shown })),
  },
  { weight: 6, arbitrary: granting },
);

const losingTurns = fc.array(
  fc.record({
    elapsedMs: fc.constantFrom(0, 0, 0, 5, 300),
    actions: fc.array(
      losing.map((wanted) => ({ ...wanted, manners: GOOD_MANNERS })),
      { maxLength: 6, size: "max" },
    ),
  }),
  { minLength: 3, maxLength: 25, size: "max" },
);

/** All are there from the start. */
export const losingPlan: fc.Arbitrary<readonly Turn[]> = losingTurns.map((turns) => [
  beginning,
  ...turns,
]);

export const accessPlan: fc.Arbitrary<readonly Turn[]> = fc
  .array(
    fc.record({
      elapsedMs: fc.constantFrom(0, 0, 0, 1, 5, 50, 400, 1_500),
      actions: fc.array(action, { maxLength: 6, size: "max" }),
    }),
    { minLength: 1, maxLength: 30, size: "max" },
  )
  .map((turns) => [beginning, ...turns]);
