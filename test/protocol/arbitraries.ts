/**
 * Random requests for the properties of this room, made from the schema: every operation, numbers at
 * the edge of every width, names in any script. Only items are put together by hand.
 */
import fc from "fast-check";
import {
  type FieldKind,
  type Form,
  STEP_KINDS,
  valueBytesOf,
} from "../../src/protocol/codec/kinds.js";
import {
  type RequestSchema as Declared,
  ITEM_KINDS,
  OPTION_KINDS,
  REQUEST_SCHEMAS,
} from "../../src/protocol/codec/schema.js";
import {
  ACQUIRE_DEFAULTS,
  ACT_VALUES_BYTES_MAX,
  type AcquireTerms,
  type ActStep,
  type ClientRequest,
  type Command,
  type Item,
  isCommandOp,
  isOperationOp,
  isQueryOp,
  isValidKey,
  isValidSessionName,
  keyOfLockName,
  LIMIT_MAX,
  OP,
  type Operation,
  PERMITS_MAX,
  type Query,
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

/** Addresses of members, of every form. */
const anyAddress = fc
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
const anyLockKey = fc
  .string({ unit: "binary", maxLength: 20 })
  .map((name) => keyOfLockName(name) ?? "k");
/** Texts of every sort, among which every rule allows some. */
const anyText = fc.oneof(
  fc.string({ unit: "grapheme-ascii", maxLength: 60 }),
  fc.string({ unit: "binary", maxLength: 300 }),
  fc.constantFrom(0, 1, 31, 32, 64, 255, 256, 512, 1_024).map((length) => "k".repeat(length)),
  fc.stringMatching(/^[A-Za-z]{1,64}$/),
  anyLockKey,
  anyAddress,
);
const textUnder = (rule: (text: string) => string | undefined): fc.Arbitrary<string> =>
  anyText.filter((text) => rule(text) === undefined);

/** Mostly such as applications choose, now and then an escaped name. */
export const anyKey = fc.oneof(
  { weight: 4, arbitrary: textUnder(isValidKey) },
  { weight: 1, arbitrary: anyLockKey },
);
export const anyName = textUnder(isValidSessionName);

/** Whether only values are wanted that are allowed, or any that can be written. */
export type Sort = "allowed" | "any";

/** @param near numbers that came before, which a rule may compare it with */
function anyUint(least: number, most: number, near: readonly number[]): fc.Arbitrary<number> {
  const upTo = (end: number): fc.Arbitrary<number> =>
    fc.integer({ min: least, max: Math.max(least, Math.min(end, most)) });
  return fc.oneof(anyNumber(least, most), ...near.flatMap((end) => [upTo(end), upTo(end - 1)]));
}

function valueIn(form: Form, sort: Sort, near: readonly number[] = []): fc.Arbitrary<unknown> {
  const isAny = sort === "any";
  switch (form.type) {
    case "number":
      return isAny
        ? anyUint(0, Number.MAX_SAFE_INTEGER, near)
        : anyUint(form.least, form.most, near);
    case "boolean":
      return fc.boolean();
    case "text":
      return isAny ? anyText : textUnder(form.rule);
    case "digits":
      return fc
        .uint8Array({ minLength: form.bytes, maxLength: form.bytes })
        .map((bytes) => Buffer.from(bytes).toString("hex"));
    case "numbers":
      return fc.array(anyNumber(), { maxLength: 20 });
    case "choice":
      return fc.constantFrom(...form.names);
    case "optional":
      return fc.option(valueIn(form.of, sort), { nil: form.absent });
    case "revision":
      return fc.option(
        fc.oneof(
          fc.record({ index: anyNumber(1), number: anyNumber(0, form.numberMax) }),
          fc.constant({ index: 0, number: form.numberMax }),
        ),
        { nil: undefined },
      );
    case "keys":
      return keysOf(form.countMax, sort);
    case "items":
      return isAny ? itemsOf(sort) : itemsOf(sort).filter(areAllowed);
    case "options":
      return anyOptions(sort);
    case "steps":
      return stepsOf(form.countMax, sort);
  }
}

const valueOfKind = <T>({ form }: FieldKind<T>, sort: Sort): fc.Arbitrary<T> =>
  valueIn(form, sort) as fc.Arbitrary<T>;

/** One key as a rule; too many, or one twice, where any are wanted. */
function keysOf(most: number, sort: Sort): fc.Arbitrary<readonly string[]> {
  const key = valueOfKind(ITEM_KINDS.key, sort);
  return fc.oneof(
    fc.tuple(key),
    fc.uniqueArray(key, { minLength: 1, maxLength: most }),
    ...(sort === "any" ? [fc.array(key, { maxLength: most + 2 })] : []),
  );
}

/** Each has a time where it makes a lease, and none where it makes none; or any of it. */
function stepsOf(most: number, sort: Sort): fc.Arbitrary<readonly ActStep[]> {
  const any: fc.Arbitrary<ActStep> = fc.record({
    owner: valueOfKind(STEP_KINDS.owner, sort),
    key: valueOfKind(STEP_KINDS.key, sort),
    before: valueOfKind(STEP_KINDS.before, sort),
    after: valueOfKind(STEP_KINDS.after, sort),
    ttlMs: valueOfKind(STEP_KINDS.ttlMs, sort),
  });
  const step = sort === "any" ? any : any.map(withTime);
  const all = fc.oneof(
    fc.tuple(step),
    fc.uniqueArray(step, { minLength: 1, maxLength: most, selector: ({ key }) => key }),
    ...(sort === "any" ? [fc.array(step, { maxLength: most + 2 })] : []),
  );
  return sort === "any" ? all : all.filter((some) => valueBytesOf(some) <= ACT_VALUES_BYTES_MAX);
}

function withTime(step: ActStep): ActStep {
  if (step.after === undefined) return { ...step, ttlMs: undefined };
  return step.before === undefined ? { ...step, ttlMs: step.ttlMs ?? 1 } : step;
}

/** All items are small, so that many of them are not too many permits; or there is a large one. */
function itemsOf(sort: Sort): fc.Arbitrary<readonly Item[]> {
  const key = valueOfKind(ITEM_KINDS.key, sort);
  const limit = valueOfKind(ITEM_KINDS.limit, sort);
  const mode = fc.constant("permits" as const);
  const lock = fc.record({ key, mode: fc.constantFrom("exclusive" as const, "shared" as const) });
  const few = fc.record({
    key,
    mode,
    permits: fc.integer({ min: 1, max: PERMITS_MAX / 16 }),
    limit,
  });
  const many = fc.record({ key, mode, permits: valueOfKind(ITEM_KINDS.permits, sort), limit });
  const most = fc.record({
    key,
    mode,
    permits: fc.constant(PERMITS_MAX),
    limit: fc.constant(LIMIT_MAX),
  });
  const item: fc.Arbitrary<Item> = fc.oneof({ weight: 2, arbitrary: lock }, few);
  return fc.oneof(
    fc.uniqueArray(item, { minLength: 1, maxLength: 16, selector: (one) => one.key }),
    fc.tuple(fc.oneof(many, most)),
    ...(sort === "any" ? [fc.array(fc.oneof(item, many), { maxLength: 18 })] : []),
  );
}

const areAllowed = (items: readonly Item[]): boolean =>
  items.every((item) => item.mode !== "permits" || item.permits <= (item.limit ?? LIMIT_MAX));

/** `undefined` where all have their defaults, as they are read. */
const anyOptions = (sort: Sort): fc.Arbitrary<AcquireTerms | undefined> =>
  fc
    .record(
      Object.fromEntries(
        Object.entries(OPTION_KINDS).map(([name, { kind }]) => [name, valueIn(kind.form, sort)]),
      ),
      { requiredKeys: [] },
    )
    .map((some) => {
      const options = { ...ACQUIRE_DEFAULTS, ...some };
      const names = Object.keys(ACQUIRE_DEFAULTS) as (keyof AcquireTerms)[];
      const isDefault = names.every((name) => options[name] === ACQUIRE_DEFAULTS[name]);
      return isDefault ? undefined : options;
    });

/** Requests of one operation. */
export function requestsOf(
  { op, fields }: Declared,
  sort: Sort = "allowed",
): fc.Arbitrary<ClientRequest> {
  const record = (ofRuled: boolean, near: readonly number[]) =>
    fc.record(
      Object.fromEntries(
        fields
          .filter(({ rule }) => (rule !== undefined) === ofRuled)
          .map(({ name, form }) => [name, valueIn(form, sort, near)]),
      ),
    );
  const all = record(false, []).chain((free) => {
    const near = Object.values(free).filter((value) => typeof value === "number");
    return record(true, near).map((ruled): Record<string, unknown> => {
      const values: Record<string, unknown> = { ...free, ...ruled };
      return Object.fromEntries([["op", op], ...fields.map(({ name }) => [name, values[name]])]);
    });
  });
  const allowed = (request: Record<string, unknown>): boolean =>
    fields.every(({ name, rule }) => rule?.(request[name], request) === undefined);
  return (sort === "any" ? all : all.filter(allowed)) as unknown as fc.Arbitrary<ClientRequest>;
}

/** Requests of some operations, more acquires than others. */
const requestsWith = (isWanted: (op: number) => boolean): fc.Arbitrary<ClientRequest> =>
  fc.oneof(
    ...REQUEST_SCHEMAS.filter(({ op }) => isWanted(op)).map((operation) => {
      return { weight: operation.op === OP.acquire ? 4 : 1, arbitrary: requestsOf(operation) };
    }),
  );

export const anyCommand = requestsWith(isCommandOp) as fc.Arbitrary<Command>;
export const anyQuery = requestsWith(isQueryOp) as fc.Arbitrary<Query>;
export const anyOperation = requestsWith(isOperationOp) as fc.Arbitrary<Operation>;
