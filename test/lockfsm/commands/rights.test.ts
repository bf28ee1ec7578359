/**
 * Every command under every right: what is allowed is said here once more, as a level and the keys
 * on which it is needed, and compared with what the table does.
 */
import { describe, expect, test } from "vitest";
import { ERROR_NUMBERS } from "../../../src/errors/index.js";
import {
  ACCESS_LEVEL,
  ACQUIRE_DEFAULTS,
  type AccessLevel,
  LOCAL_CREDENTIAL,
  OP,
  type OrderCommand,
  type SequencedCommand,
  TOKEN_MIN,
  WAIT_FOREVER,
} from "../../../src/protocol/index.js";
import { AccessLog, type GivenGrant } from "../plans/access-log.js";
import { type Client, resultOf, shared, type Taken } from "../plans/cluster-log.js";

const SECRET = "5e".repeat(16);
const KEY = "orders/1";
/** Begins like others, and is none of them. */
const OTHER = "orders-secret";
const ALL = Symbol("every key");

/** A table in which there is something for every command to do. */
interface Scene {
  readonly log: AccessLog;
  readonly asker: Client;
  readonly other: Client;
  /** Holds of the asker: `KEY` shared, and both keys. */
  readonly own: Taken;
  readonly both: Taken;
  /** Holds of another one: a hold of `KEY` and `OTHER`. A bearer has one of them as well. */
  readonly foreign: Taken;
  readonly sibling: Client;
}

/** A command without its numbers. */
type Wish = object;
type Need = readonly [AccessLevel, readonly (string | typeof ALL)[]];

const force = { graceMs: 0, now: true, reason: "" };
const acquireOf = (...keys: string[]) => {
  const items = keys.map((key) => ({ key, mode: "shared" as const }));
  return { op: OP.acquire, task: 7, items, waitMs: WAIT_FOREVER, options: undefined };
};
const takeOf = (...keys: string[]) => {
  const { items, waitMs, options } = acquireOf(...keys);
  const who = { owner: SECRET, request: SECRET, name: "owner", ttlMs: 9_000, isSplit: false };
  return { op: OP.take, ...who, items, waitMs, options };
};
const handingOver = (target: number, isBearer: boolean) => {
  return { op: OP.handOver, target, to: "5f".repeat(16), isBearer, ttlMs: 9_000 };
};
const stealing = { ...ACQUIRE_DEFAULTS, steal: true };

const COMMANDS: Readonly<Record<string, readonly [Need, (scene: Scene) => Wish]>> = {
  acquire: [["acquire", [KEY]], () => acquireOf(KEY)],
  "acquire of two keys": [["acquire", [KEY, OTHER]], () => acquireOf(KEY, OTHER)],
  "acquire of a free key": [["acquire", ["orders/free"]], () => acquireOf("orders/free")],
  take: [["acquire", [KEY, OTHER]], () => takeOf(KEY, OTHER)],
  extend: [
    ["none", []],
    () => ({ op: OP.extend, owner: SECRET, keys: [KEY], ttlMs: 1_000, mode: "add" }),
  ],
  giveBack: [
    ["none", []],
    () => ({ op: OP.giveBack, owner: SECRET, keys: [KEY, OTHER], taken: 0 }),
  ],
  "act that takes, rewrites and asks": [
    ["acquire", [KEY, OTHER, "orders/free"]],
    () => ({
      op: OP.act,
      steps: [
        { owner: SECRET, key: KEY, before: undefined, after: "", ttlMs: 1_000 },
        { owner: SECRET, key: OTHER, before: "a", after: "b", ttlMs: undefined },
        {
          owner: SECRET,
          key: "orders/free",
          before: undefined,
          after: undefined,
          ttlMs: undefined,
        },
      ],
    }),
  ],
  "act that extends and ends": [
    ["none", []],
    () => ({
      op: OP.act,
      steps: [
        { owner: SECRET, key: KEY, before: "a", after: "a", ttlMs: 1_000 },
        { owner: SECRET, key: OTHER, before: "a", after: undefined, ttlMs: undefined },
      ],
    }),
  ],
  steal: [["operate", [KEY, OTHER]], () => ({ ...acquireOf(KEY), waitMs: 0, options: stealing })],
  "steal of a free key": [
    ["operate", ["orders/free"]],
    () => ({ ...acquireOf("orders/free"), waitMs: 0, options: stealing }),
  ],
  end: [["none", []], ({ own }) => ({ op: OP.end, target: own.sequence })],
  "end of a hold of both": [["none", []], ({ both }) => ({ op: OP.end, target: both.sequence })],
  downgrade: [
    ["none", []],
    ({ both }) => ({ op: OP.downgrade, target: both.sequence, key: undefined }),
  ],
  close: [["none", []], () => ({ op: OP.close })],
  upgrade: [
    ["acquire", [KEY]],
    ({ own }) => ({
      ...{ op: OP.upgrade, target: own.sequence, key: KEY, waitMs: WAIT_FOREVER, detect: true },
    }),
  ],
  update: [
    ["acquire", [KEY, OTHER]],
    ({ both }) => ({ op: OP.update, target: both.sequence, value: "v" }),
  ],
  "update of what is not held": [["none", []], () => ({ op: OP.update, target: 99, value: "v" })],
  handOver: [["acquire", [KEY, OTHER]], ({ both }) => handingOver(both.sequence, true)],
  "handOver to an owner": [
    ["acquire", [KEY, OTHER]],
    ({ both }) => handingOver(both.sequence, false),
  ],
  "handOver of what is not held": [["none", []], () => handingOver(99, true)],
  adopt: [["acquire", [KEY, OTHER]], () => ({ op: OP.adopt, key: KEY, secret: SECRET, task: 1 })],
  "revoke of a key": [
    ["operate", [KEY, OTHER]],
    () => ({ op: OP.revoke, key: KEY, token: 0, ...force }),
  ],
  "revoke of a token": [
    ["operate", [KEY, OTHER]],
    ({ foreign }) => ({ op: OP.revoke, key: undefined, token: foreign.token, ...force }),
  ],
  "end of a session": [
    ["operate", [ALL]],
    ({ other }) => ({ op: OP.endSession, session: other.session, ...force }),
  ],
  "end of a session that is none": [
    ["operate", [ALL]],
    () => ({ op: OP.endSession, session: 999, ...force }),
  ],
  "end of a session of one's own": [
    ["none", []],
    ({ sibling }) => ({ op: OP.endSession, session: sibling.session, ...force }),
  ],
  setLimit: [["operate", ["orders/s"]], () => ({ op: OP.setLimit, key: "orders/s", limit: 2 })],
  changeSetting: [["admin", [ALL]], () => ({ op: OP.changeSetting, name: "waitersMax", value: 9 })],
  putIdentity: [["admin", [ALL]], () => ({ op: OP.putIdentity, name: "new" })],
  removeIdentity: [["admin", [ALL]], () => ({ op: OP.removeIdentity, name: "second" })],
  putCredential: [
    ["admin", [ALL]],
    () => ({
      ...{ op: OP.putCredential, name: "second", label: "l", kind: "certificate" },
      ...{ digest: undefined, expiresWallMs: 0 },
    }),
  ],
  removeCredential: [
    ["admin", [ALL]],
    () => ({ op: OP.removeCredential, name: "second", label: "main" }),
  ],
  setGrant: [
    ["admin", [ALL]],
    () => ({ op: OP.setGrant, name: "asker", key: "", isPrefix: true, level: "admin" }),
  ],
};

const RANGES: readonly (readonly [string, boolean])[] = [
  ["", true],
  [KEY, false],
  [KEY, true],
  ["orders/", true],
  ["orders", true],
  ["orders", false],
  ["orders-", true],
  [OTHER, false],
];

/** Each range under each level, and two that cover both keys together. */
const GRANTS: readonly (readonly GivenGrant[])[] = [
  [],
  ...RANGES.flatMap(([key, isPrefix]) =>
    (["observe", "acquire", "operate"] as const).map((level) => [[key, isPrefix, level] as const]),
  ),
  [["", true, "admin"]],
  [
    ["orders/", true, "operate"],
    [OTHER, false, "operate"],
  ],
  [
    [KEY, false, "acquire"],
    ["orders/free", false, "operate"],
    ["orders-", true, "acquire"],
  ],
  [
    ["", true, "observe"],
    [KEY, true, "operate"],
  ],
  [
    ["", true, "acquire"],
    [KEY, false, "operate"],
  ],
];

function sceneUnder(grants: readonly GivenGrant[]): Scene {
  const log = new AccessLog();
  const credential = log.identity("asker", ["", true, "acquire"]);
  log.identity("second", ["", true, "admin"]);
  const asker = log.openAs(credential, "asker");
  const sibling = log.openAs(credential, "sibling");
  const other = log.openAs(LOCAL_CREDENTIAL, "other");
  other.handOver(other.take(shared(KEY, OTHER), { task: 2 }), SECRET);
  const foreign = other.take(shared(KEY, OTHER));
  const own = asker.take(shared(KEY));
  const both = asker.take(shared(KEY, OTHER), { task: 2 });
  log.grant("asker", ["", true, "none"], ...grants);
  return { log, asker, other, own, both, foreign, sibling };
}

function isCovered(
  grants: readonly GivenGrant[],
  level: AccessLevel,
  asked: string | typeof ALL,
): boolean {
  return grants.some(([key, isPrefix, granted]) => {
    if (ACCESS_LEVEL[granted] < ACCESS_LEVEL[level]) return false;
    if (asked === ALL) return isPrefix && key === "";
    return isPrefix ? asked.startsWith(key) : asked === key;
  });
}

const shown = ({ log }: Scene) =>
  [KEY, OTHER, "orders/free", "orders/s"].map((key) => log.table.inspect(key));

/**
 * What is found first: to a client that has the level where it asks, what it may not have does not
 * exist.
 */
function refusalOf(name: string, grants: readonly GivenGrant[], level: AccessLevel): number {
  const isSomewhere = grants.some(([, , granted]) => ACCESS_LEVEL[granted] >= ACCESS_LEVEL[level]);
  const isFound: Readonly<Record<string, boolean>> = {
    adopt: isCovered(grants, level, KEY),
    "revoke of a token": isSomewhere,
  };
  return isFound[name] === true ? ERROR_NUMBERS.NOT_HELD : ERROR_NUMBERS.FORBIDDEN;
}

describe.each(Object.entries(COMMANDS))("%s", (name, [[level, keys], wishOf]) => {
  test("is executed if the rights at its position allow it, and else refused without an effect", () => {
    for (const grants of GRANTS) {
      const scene = sceneUnder(grants);
      const { log, asker } = scene;
      const before = shown(scene);
      const access = log.table.listIdentities(undefined, 9);
      asker.sequence += 1;
      const numbers = { sequence: asker.sequence, mark: 1, acknowledged: [] };
      const told = asker.send({ ...numbers, ...wishOf(scene) } as unknown as SequencedCommand);
      const isAllowed = level === "none" || keys.every((key) => isCovered(grants, level, key));
      const refusal = refusalOf(name, grants, level);
      const { status } = resultOf(told) ?? {};
      expect(status === refusal, JSON.stringify(grants)).toBe(!isAllowed);
      if (isAllowed) continue;
      expect(resultOf(told)).toEqual({ status: refusal });
      expect(told).toHaveLength(1);
      expect(shown(scene)).toEqual(before);
      expect(log.table.listIdentities(undefined, 9)).toEqual(access);
      expect(asker.recallOne(asker.sequence)).toMatchObject({
        result: { status: refusal },
      });
      expect(log.table.accessCounts().refused[level]).toBe(1);
    }
  });
});

test("to who may not have it, what exists answers like what does not", () => {
  /** For an asker that may do both in another key. */
  const answersTo = (secret: string, tokenOf: (scene: Scene) => number) => {
    const scene = sceneUnder([["orders/other", false, "operate"]]);
    const { log, asker } = scene;
    const revoked = tokenOf(scene);
    const unattached = { sequence: 1, mark: 1, acknowledged: [], key: undefined, token: revoked };
    return [
      asker.adopt(KEY, secret),
      asker.revokeToken(revoked, { now: true }),
      log.order({ op: OP.revoke, ...unattached, ...force }, 1),
    ];
  };
  const known = answersTo(SECRET, ({ foreign }) => foreign.token);
  expect(known).toEqual(answersTo("00".repeat(16), () => TOKEN_MIN + 901));
  const [forbidden, notHeld] = [ERROR_NUMBERS.FORBIDDEN, ERROR_NUMBERS.NOT_HELD];
  expect(known[0]).toEqual({ status: forbidden });
  expect(known[1]).toMatchObject([{ result: { status: notHeld } }]);
});

describe("without a session", () => {
  const orders = Object.entries(COMMANDS).filter(
    ([name]) =>
      /^(revoke|end of|setLimit|change|put|remove|setGrant)/.test(name) && !/hold/.test(name),
  );

  test.each(orders)("%s is judged by the credential of its connection", (name, [need, wishOf]) => {
    const [level, keys] = need;
    for (const grants of GRANTS) {
      const scene = sceneUnder(grants);
      const numbers = { sequence: 1, mark: 1, acknowledged: [] };
      const order = { ...numbers, ...wishOf(scene) } as unknown as OrderCommand;
      const isAllowed = level === "none" || keys.every((key) => isCovered(grants, level, key));
      const before = shown(scene);
      const result = scene.log.order(order, 1);
      const isRefused = result?.status === refusalOf(name, grants, level);
      expect(isRefused, JSON.stringify(grants)).toBe(!isAllowed);
      if (!isAllowed) expect(shown(scene)).toEqual(before);
    }
  });

  test.each(orders)("%s is refused to a credential that is gone, or to nobody", (_, [, wishOf]) => {
    const scene = sceneUnder([]);
    scene.log.grant("anonymous", ["", true, "none"]);
    const before = shown(scene);
    const numbers = { sequence: 1, mark: 1, acknowledged: [] };
    const order = { ...numbers, ...wishOf(scene) } as unknown as OrderCommand;
    const refused = { status: ERROR_NUMBERS.UNAUTHENTICATED };
    expect(scene.log.order(order, 0)).toEqual(refused);
    expect(scene.log.order(order, 77)).toEqual(refused);
    scene.log.change({ op: OP.removeCredential, name: "asker", label: "main" });
    expect(scene.log.order(order, 1)).toEqual(refused);
    expect(shown(scene)).toEqual(before);
  });
});
