/**
 * Commands with a value that is not allowed: what is refused, why, and the very same just inside
 * the limit.
 */
import {
  ACKNOWLEDGED_MAX,
  ACQUIRE_DEFAULTS,
  type AcquireTerms,
  type ActStep,
  ATTEMPT_MAX,
  type ClientRequest,
  GRACE_MS_MAX,
  IDENTITY_NAME_BYTES_MAX,
  ITEMS_MAX,
  LABEL_BYTES_MAX,
  LEASE_TTL_MS_MAX,
  LIMIT_MAX,
  LOCK_DELAY_MS_MAX,
  MAX_HOLD_MS_MIN,
  OP,
  PERMITS_MAX,
  PRIORITY_MAX,
  REASON_BYTES_MAX,
  SETTING_NAME_BYTES_MAX,
  TOKEN_MIN,
  VALUE_BYTES_MAX,
  WAIT_MS_MAX,
  WALL_MS_MAX,
} from "../../src/protocol/index.js";

const nonce = "f0".repeat(16);
const head = { sequence: 5, mark: 3, acknowledged: [] };
const open = { op: OP.open, nonce, attempt: 7, ttlMs: 15_000, name: "n", metadata: "m" };
const resume = { op: OP.resume, session: 1, nonce, attempt: 7 };
const acquire = {
  ...{ op: OP.acquire, ...head, task: 1, waitMs: 0 },
  items: [{ key: "k", mode: "exclusive" as const }],
};
const withKey = (key: string) => ({ ...acquire, items: [{ key, mode: "shared" as const }] });
const identity = { op: OP.putIdentity, ...head, name: "ci" };
const certificate = {
  ...{ op: OP.putCredential, ...head, name: "ci", label: "a", kind: "certificate" as const },
  ...{ digest: undefined as string | undefined, expiresWallMs: 0 },
};
const grant = {
  ...{ op: OP.setGrant, ...head, name: "ci", key: "k", isPrefix: false },
  level: "observe" as const,
};
const keys = (count: number) =>
  Array.from({ length: count }, (_, i) => ({ key: `k${i}`, mode: "shared" as const }));

const withOptions = (options: Partial<AcquireTerms>) => ({
  ...{ ...acquire, options: { ...ACQUIRE_DEFAULTS, ...options } },
});
const permits = (count: number, limit?: number, key = "s") => ({
  ...acquire,
  items: [{ key, mode: "permits" as const, permits: count, limit }],
});
const upgrade = { op: OP.upgrade, ...head, target: 1, key: "k", waitMs: 0, detect: true };
const force = { graceMs: 0, now: false, reason: "" };
const revoke = { op: OP.revoke, ...head, key: "k" as string | undefined, token: 0, ...force };
const endSession = { op: OP.endSession, ...head, session: 1, ...force };
const setLimit = { op: OP.setLimit, ...head, key: "s", limit: 1 as number | undefined };
const handOver = {
  ...{ op: OP.handOver, ...head, target: 1, to: nonce, isBearer: true, ttlMs: LEASE_TTL_MS_MAX },
};
const adopt = { op: OP.adopt, ...head, key: "k", secret: nonce, task: 1 };
const setting = { op: OP.changeSetting, ...head, name: "waitersMax", value: 1 };
const end = { op: OP.end, ...head, target: 1 };
const downgrade = { op: OP.downgrade, ...head, target: 1, key: "k" as string | undefined };
const update = { op: OP.update, ...head, target: 1, value: "" };

const take = {
  ...{ op: OP.take, ...head, owner: nonce, request: nonce, name: "n", ttlMs: 1_000 },
  ...{ isSplit: false, items: keys(1), waitMs: 5 },
};
const extend = {
  ...{ op: OP.extend, ...head, owner: nonce, keys: ["k"] as readonly string[], ttlMs: 1 },
  mode: "add" as const,
};
const stepOf = (key: string): ActStep => {
  return { owner: nonce, key, before: "", after: "", ttlMs: 1 };
};
const large = { before: "v".repeat(512), after: "w".repeat(512) };
const act = { op: OP.act, ...head, steps: ["k"].map(stepOf) };
const giveBack = {
  ...{ op: OP.giveBack, ...head, owner: nonce, keys: ["k"] as readonly string[], taken: 0 },
};
const exclusive = [{ key: "k", mode: "exclusive" as const }];
const keyNames = (count: number) => keys(count).map(({ key }) => key);

type Refused = readonly [ClientRequest, string, ClientRequest];
export const REFUSED_COMMANDS: readonly Refused[] = [
  [{ ...open, attempt: 0 }, "attempt 0 not in 1..4294967295", { ...open, attempt: 1 }],
  [
    { ...open, attempt: ATTEMPT_MAX + 1 },
    "attempt 4294967296 not in 1..4294967295",
    { ...open, attempt: ATTEMPT_MAX },
  ],
  [{ ...open, ttlMs: 999 }, "ttlMs 999 not in 1000..600000", { ...open, ttlMs: 1_000 }],
  [{ ...open, ttlMs: 600_001 }, "ttlMs 600001 not in 1000..600000", { ...open, ttlMs: 600_000 }],
  [
    { ...open, name: "é".repeat(129) },
    "name exceeds 256 bytes",
    { ...open, name: "é".repeat(128) },
  ],
  [
    { ...open, name: "\u001b[31m" },
    "name holds a control character",
    { ...open, metadata: "\u001b[31m\n" },
  ],
  [
    { ...open, metadata: "x".repeat(1_025) },
    "metadata exceeds 1024 bytes",
    { ...open, metadata: "x".repeat(1_024) },
  ],
  [{ ...resume, session: 0 }, "session 0", resume],
  [{ ...resume, attempt: 0 }, "attempt 0 not in 1..4294967295", resume],
  [
    { ...acquire, sequence: 0, mark: 0 },
    "sequence 0 not in 1..2199023255551",
    { ...acquire, sequence: 1, mark: 0 },
  ],
  [
    { ...acquire, sequence: TOKEN_MIN },
    "sequence 2199023255552 not in 1..2199023255551",
    { ...acquire, sequence: TOKEN_MIN - 1 },
  ],
  [{ ...acquire, mark: 6 }, "mark 6 above sequence 5", { ...acquire, mark: 5 }],
  [
    { ...acquire, acknowledged: new Array(ACKNOWLEDGED_MAX + 1).fill(1) },
    "1025 acknowledged, at most 1024",
    { ...acquire, acknowledged: new Array(ACKNOWLEDGED_MAX).fill(1) },
  ],
  [
    { ...acquire, waitMs: WAIT_MS_MAX + 1 },
    "waitMs 4294967296 not in 0..4294967295",
    { ...acquire, waitMs: WAIT_MS_MAX },
  ],
  [{ ...acquire, items: [] }, "no items", acquire],
  [
    { ...acquire, items: keys(ITEMS_MAX + 1) },
    "17 items, at most 16",
    { ...acquire, items: keys(ITEMS_MAX) },
  ],
  [{ ...acquire, items: [...keys(3), ...keys(1)] }, "a key occurs twice", acquire],
  [permits(0, 10), "permits 0 not in 1..1024", permits(1, 10)],
  [permits(PERMITS_MAX + 1), "permits 1025 not in 1..1024", permits(PERMITS_MAX)],
  [permits(1, 0), "limit 0 not in 1..1000000", permits(1, 1)],
  [permits(1, LIMIT_MAX + 1), "limit 1000001 not in 1..1000000", permits(1, LIMIT_MAX)],
  [permits(3, 2), "3 permits of 2", permits(2, 2)],
  [
    { ...acquire, items: [...permits(PERMITS_MAX).items, ...permits(1, 9, "s2").items] },
    "1025 permits, at most 1024",
    { ...acquire, items: [...permits(PERMITS_MAX - 1).items, ...permits(1, 9, "s2").items] },
  ],
  [
    { ...acquire, items: [...permits(1).items, { key: "s", mode: "shared" }] },
    "a key occurs twice",
    { ...acquire, items: [...permits(1).items, { key: "t", mode: "shared" }] },
  ],
  [
    withOptions({ priority: PRIORITY_MAX + 1 }),
    "priority 61 not in 0..60",
    withOptions({ priority: PRIORITY_MAX }),
  ],
  [
    withOptions({ maxHoldMs: MAX_HOLD_MS_MIN - 1 }),
    "maxHoldMs 999 not in 1000..4294967295",
    withOptions({ maxHoldMs: MAX_HOLD_MS_MIN }),
  ],
  [
    withOptions({ maxHoldMs: WAIT_MS_MAX + 1 }),
    "maxHoldMs 4294967296 not in 1000..4294967295",
    withOptions({ maxHoldMs: WAIT_MS_MAX }),
  ],
  [
    withOptions({ minHoldMs: WAIT_MS_MAX + 1 }),
    "minHoldMs 4294967296 not in 0..4294967295",
    withOptions({ minHoldMs: WAIT_MS_MAX }),
  ],
  [
    withOptions({ minHoldMs: 2_001, maxHoldMs: 2_000 }),
    "minHoldMs above maxHoldMs",
    withOptions({ minHoldMs: 2_000, maxHoldMs: 2_000 }),
  ],
  [
    withOptions({ lockDelayMs: LOCK_DELAY_MS_MAX + 1 }),
    "lockDelayMs 60001 not in 0..60000",
    withOptions({ lockDelayMs: LOCK_DELAY_MS_MAX }),
  ],
  [
    withOptions({ value: "é".repeat(VALUE_BYTES_MAX / 2 + 1) }),
    "value exceeds 1024 bytes",
    withOptions({ value: "é".repeat(VALUE_BYTES_MAX / 2) }),
  ],
  [
    { ...withOptions({ steal: true }), items: keys(1) },
    "only exclusive items can be stolen",
    { ...withOptions({ steal: false, detect: false }), items: keys(1) },
  ],
  [
    { ...withOptions({ steal: true }), items: permits(1).items },
    "only exclusive items can be stolen",
    { ...withOptions({ priority: 1 }), items: permits(1).items },
  ],
  [withKey(""), "key is empty", withKey(" ")],
  [withKey("k".repeat(513)), "key exceeds 512 bytes", withKey("k".repeat(512))],
  [withKey("Ж".repeat(257)), "key exceeds 512 bytes", withKey("Ж".repeat(256))],
  [withKey("a\u0000b"), "key holds a control character", withKey("a b")],
  [withKey("a\nb"), "key holds a control character", withKey("a/b")],
  [withKey("\u007f"), "key holds a control character", withKey("\u00a0")],
  [withKey("é\u0085"), "key holds a control character", withKey("é\u00ad")],
  [withKey("~a"), "keys under ~ are reserved", withKey("a~")],
  [withKey("~é"), "keys under ~ are reserved", withKey("é~")],
  [
    { ...end, sequence: 0, mark: 0 },
    "sequence 0 not in 1..2199023255551",
    { ...end, sequence: 2, mark: 0 },
  ],
  [{ ...end, target: 0 }, "target 0 not below sequence", end],
  ...[end, upgrade, downgrade, update, handOver].map(
    (command): Refused => [
      { ...command, target: 5 },
      "target 5 not below sequence",
      { ...command, target: 4 },
    ],
  ),
  [{ op: OP.close, ...head, mark: 6 }, "mark 6 above sequence 5", { op: OP.close, ...head }],
  [{ ...upgrade, key: "" }, "key is empty", upgrade],
  [
    { ...upgrade, waitMs: WAIT_MS_MAX + 1 },
    "waitMs 4294967296 not in 0..4294967295",
    { ...upgrade, waitMs: WAIT_MS_MAX },
  ],
  [{ ...downgrade, key: "~k" }, "keys under ~ are reserved", { ...downgrade, key: undefined }],
  [
    { ...update, value: "v".repeat(VALUE_BYTES_MAX + 1) },
    "value exceeds 1024 bytes",
    { ...update, value: "v".repeat(VALUE_BYTES_MAX) },
  ],
  [{ ...update, mark: 6 }, "mark 6 above sequence 5", { ...update, value: "\u0000" }],
  [
    { ...revoke, key: undefined },
    "neither a key nor a token",
    { ...revoke, key: undefined, token: 1 },
  ],
  [{ ...revoke, key: "\u0000" }, "key holds a control character", { ...revoke, key: " " }],
  [
    { ...revoke, graceMs: GRACE_MS_MAX + 1 },
    "graceMs 3600001 not in 0..3600000",
    { ...revoke, graceMs: GRACE_MS_MAX },
  ],
  [
    { ...revoke, reason: "r".repeat(REASON_BYTES_MAX + 1) },
    "reason exceeds 256 bytes",
    { ...revoke, reason: "r".repeat(REASON_BYTES_MAX) },
  ],
  [{ ...revoke, reason: "a\nb" }, "reason holds a control character", { ...revoke, reason: "" }],
  [{ ...endSession, session: 0 }, "session 0", endSession],
  [
    { ...endSession, graceMs: GRACE_MS_MAX + 1 },
    "graceMs 3600001 not in 0..3600000",
    { ...endSession, graceMs: GRACE_MS_MAX },
  ],
  [{ ...setLimit, limit: 0 }, "limit 0 not in 1..1000000", { ...setLimit, limit: 1 }],
  [
    { ...setLimit, limit: LIMIT_MAX + 1 },
    "limit 1000001 not in 1..1000000",
    { ...setLimit, limit: LIMIT_MAX },
  ],
  [{ ...setLimit, key: "" }, "key is empty", { ...setLimit, limit: undefined }],
  [
    { ...handOver, ttlMs: LEASE_TTL_MS_MAX + 1 },
    "ttlMs 610848001 not in 0..610848000",
    { ...handOver, ttlMs: 0 },
  ],
  [{ ...adopt, key: "" }, "key is empty", adopt],
  [{ ...setting, name: "" }, "a setting's name is made of letters", setting],
  [{ ...setting, name: "waiters.max" }, "a setting's name is made of letters", setting],
  [
    { ...setting, name: "n".repeat(SETTING_NAME_BYTES_MAX + 1) },
    "name exceeds 64 bytes",
    { ...setting, name: "n".repeat(SETTING_NAME_BYTES_MAX) },
  ],
  ...[" a", "", "-a", "\u00e4", "a\n"].map(
    (name): readonly [ClientRequest, string, ClientRequest] => [
      { ...identity, name },
      "an identity's name is made of letters, digits and ._-@/+: and begins with one of the former",
      { ...identity, name: "0._-@/+:Zz" },
    ],
  ),
  [
    { ...identity, name: "n".repeat(IDENTITY_NAME_BYTES_MAX + 1) },
    "name exceeds 128 bytes",
    { ...identity, name: "n".repeat(IDENTITY_NAME_BYTES_MAX) },
  ],
  [{ ...certificate, label: "" }, "label is empty", certificate],
  [
    { ...certificate, label: "l".repeat(LABEL_BYTES_MAX + 1) },
    "label exceeds 64 bytes",
    { ...certificate, label: "l".repeat(LABEL_BYTES_MAX) },
  ],
  [
    { ...certificate, kind: "token" },
    "a digest is of a token",
    { ...certificate, kind: "token", digest: "0f".repeat(32) },
  ],
  [{ ...certificate, digest: "0f".repeat(32) }, "a digest is of a token", certificate],
  [
    { ...certificate, expiresWallMs: WALL_MS_MAX + 1 },
    "expiresWallMs 8640000000000001 not in 0..8640000000000000",
    { ...certificate, expiresWallMs: WALL_MS_MAX },
  ],
  [{ ...grant, key: "" }, "key is empty", { ...grant, key: "", isPrefix: true }],
  [
    { ...grant, key: "~x", isPrefix: false },
    "keys under ~ are reserved",
    { ...grant, key: "~locks/x" },
  ],
  [
    { ...take, ttlMs: LEASE_TTL_MS_MAX + 1 },
    "ttlMs 610848001 not in 0..610848000",
    { ...take, ttlMs: LEASE_TTL_MS_MAX },
  ],
  [{ ...take, name: "a\n" }, "name holds a control character", { ...take, name: "" }],
  [{ ...take, items: [] }, "no items", take],
  [{ ...take, isSplit: true }, "a split take cannot wait", { ...take, isSplit: true, waitMs: 0 }],
  [
    { ...take, items: exclusive, options: { ...ACQUIRE_DEFAULTS, steal: true } },
    "a take cannot steal",
    { ...take, items: exclusive, options: { ...ACQUIRE_DEFAULTS, detect: false } },
  ],
  [
    { ...take, options: { ...ACQUIRE_DEFAULTS, minHoldMs: 2_001, maxHoldMs: 2_000 } },
    "minHoldMs above maxHoldMs",
    { ...take, options: { ...ACQUIRE_DEFAULTS, minHoldMs: 2_000, maxHoldMs: 2_000 } },
  ],
  [{ ...extend, ttlMs: 0 }, "an extension by nothing", extend],
  ...[extend, giveBack].flatMap((command): Refused[] => [
    [{ ...command, keys: [] }, "no keys", command],
    [
      { ...command, keys: keyNames(ITEMS_MAX + 1) },
      "17 keys, at most 16",
      { ...command, keys: keyNames(ITEMS_MAX) },
    ],
    [{ ...command, keys: ["k", "l", "k"] }, "a key occurs twice", { ...command, keys: ["k", "l"] }],
    [{ ...command, keys: ["~k"] }, "keys under ~ are reserved", { ...command, keys: ["k~"] }],
    [{ ...command, keys: ["k", ""] }, "key is empty", { ...command, keys: ["k", " "] }],
  ]),
  [{ ...act, steps: [] }, "no steps", act],
  [
    { ...act, steps: keyNames(9).map((key) => ({ ...stepOf(key), ...large })) },
    "values of 9216 bytes, at most 8192",
    { ...act, steps: keyNames(8).map((key) => ({ ...stepOf(key), ...large })) },
  ],
  [
    { ...act, steps: keyNames(ITEMS_MAX + 1).map(stepOf) },
    "17 steps, at most 16",
    { ...act, steps: keyNames(ITEMS_MAX).map(stepOf) },
  ],
  [{ ...act, steps: ["k", "l", "k"].map(stepOf) }, "a key occurs twice", act],
  [
    { ...act, steps: [{ ...stepOf("k"), before: undefined, ttlMs: undefined }] },
    "a lease without a time",
    { ...act, steps: [{ ...stepOf("k"), ttlMs: undefined }] },
  ],
  [
    { ...act, steps: [{ ...stepOf("k"), after: undefined }] },
    "a time of what is not held",
    { ...act, steps: [{ ...stepOf("k"), after: undefined, ttlMs: undefined }] },
  ],
  [{ ...giveBack, taken: 5 }, "taken 5 not below sequence", { ...giveBack, taken: 4 }],
];
