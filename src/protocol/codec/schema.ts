/**
 * Declares every request once: its fields in the order of the wire, the values of each, and a few
 * words for `docs/protocol.md`, whose tables are made from this (`npm run docs:protocol`). Its
 * number is in `OP`, and its type explains its fields.
 *
 * `schema-codec.ts` reads and writes by it. The three most frequent requests (acquire, end,
 * keepalive) are read and written by hand, and a test compares that with these declarations.
 *
 * All of this is replicated behaviour: see `text-rules.ts`.
 */
import {
  ACCESS_LEVEL,
  type AcquireTerms,
  CREDENTIAL_KIND,
  EXTEND_MODE,
  type Item,
  OP,
} from "../commands.js";
import {
  ACCESS_TOKEN_BYTES_MAX,
  ACKNOWLEDGED_MAX,
  ADDRESS_BYTES_MAX,
  ATTEMPT_MAX,
  AUDIT_NUMBER_MAX,
  AUDIT_PAGE_MAX,
  CHECKSUM_BYTES,
  CHUNK_MAX,
  GRACE_MS_MAX,
  HISTORY_PAGE_MAX,
  IDENTITY_NAME_BYTES_MAX,
  KEY_BYTES_MAX,
  LABEL_BYTES_MAX,
  LEASE_TTL_MS_MAX,
  LIMIT_MAX,
  LOCK_DELAY_MS_MAX,
  LOG_LEVEL_MS_MAX,
  MAX_HOLD_MS_MIN,
  METADATA_BYTES_MAX,
  NODE_ID_MAX,
  NONCE_BYTES,
  OWNER_BYTES,
  PERMITS_MAX,
  PRIORITY_MAX,
  QUERY_PAGE_MAX,
  REASON_BYTES_MAX,
  RECALL_MAX,
  REQUEST_ID_BYTES,
  SECRET_BYTES,
  SEQUENCE_MAX,
  SESSION_NAME_BYTES_MAX,
  SETTING_NAME_BYTES_MAX,
  TOKEN_DIGEST_BYTES,
  TTL_MS_MAX,
  TTL_MS_MIN,
  VALUE_BYTES_MAX,
  WAIT_GRAPH_EDGES_MAX,
  WAIT_MS_MAX,
  WALL_MS_MAX,
} from "../limits.js";
import { LOG_LEVEL } from "../log-level.js";
import { AUDIT_KIND, type ClientRequest, MEMBER_ACTION } from "../questions.js";
import {
  isValidAccessToken,
  isValidAddress,
  isValidIdentityName,
  isValidLabel,
  isValidMetadata,
  isValidPrefix,
  isValidReason,
  isValidSessionName,
  isValidSettingName,
  isValidTableKey,
  isValidValue,
} from "../text-rules.js";
import {
  boolean,
  choice,
  digits,
  type FieldKind,
  items,
  key,
  keys,
  numbers,
  optional,
  options,
  revision,
  steps,
  text,
  uint,
  wait,
} from "./kinds.js";

/** A value of type `T` in a request of type `R`. */
interface Field<T, R> extends FieldKind<T> {
  /**
   * Why the value is not allowed after those before it; `undefined` if it is allowed.
   * @param before the request as far as it has been read: the fields before this one
   */
  rule?(value: T, before: R): string | undefined;
}

interface Declaration<R> {
  /** What the request does, for the document. */
  readonly words: string;
  /** In the order of the wire. */
  readonly fields: { readonly [F in Exclude<keyof R, "op">]-?: Field<R[F], R> };
}

type OperationName = keyof typeof OP;
type RequestOf<N extends OperationName> = Extract<ClientRequest, { readonly op: (typeof OP)[N] }>;

function where<T, R>(
  kind: FieldKind<T>,
  rule: (value: T, before: R) => string | undefined,
): Field<T, R> {
  return { ...kind, rule };
}

const acknowledged = numbers(ACKNOWLEDGED_MAX, "acknowledged");
/** The fields with which every command with a sequence begins. */
const sequenced = {
  sequence: uint(1, SEQUENCE_MAX),
  mark: where(uint(), (mark: number, { sequence }: { readonly sequence: number }) =>
    mark > sequence ? `mark ${mark} above sequence ${sequence}` : undefined,
  ),
  acknowledged,
};
const unsequenced = { number: uint(), mark: uint(), acknowledged };
/** An earlier command of the session. */
const target = where(uint(), (value: number, { sequence }: { readonly sequence: number }) =>
  value === 0 || value >= sequence ? `target ${value} not below sequence` : undefined,
);
const liveSession = where(uint(), (session: number) => (session === 0 ? "session 0" : undefined));
const value = text(VALUE_BYTES_MAX, isValidValue);
const prefix = text(KEY_BYTES_MAX, isValidPrefix);
/** Whether `key` before it is how keys begin; else it is a key that the table may have. */
const prefixFlag = where(boolean, (isPrefix: boolean, before: { readonly key: string }) =>
  isPrefix ? undefined : isValidTableKey(before.key),
);
const identity = text(IDENTITY_NAME_BYTES_MAX, isValidIdentityName);
const label = text(LABEL_BYTES_MAX, isValidLabel);
const nonce = digits(NONCE_BYTES);
const secret = digits(SECRET_BYTES);
const attempt = uint(1, ATTEMPT_MAX);
const ttlMs = uint(TTL_MS_MIN, TTL_MS_MAX);
const leaseTtlMs = uint(0, LEASE_TTL_MS_MAX);
const force = {
  graceMs: uint(0, GRACE_MS_MAX),
  now: boolean,
  reason: text(REASON_BYTES_MAX, isValidReason),
};
const owner = digits(OWNER_BYTES);
const limit = uint(1, LIMIT_MAX);
const page = uint(1, QUERY_PAGE_MAX);
const id = uint();

const SCHEMA: { readonly [N in OperationName]: Declaration<RequestOf<N>> } = {
  open: {
    words: "opens a session",
    fields: {
      nonce,
      attempt,
      ttlMs,
      name: text(SESSION_NAME_BYTES_MAX, isValidSessionName),
      metadata: text(METADATA_BYTES_MAX, isValidMetadata),
    },
  },
  resume: {
    words: "attaches another connection to a session",
    fields: { session: liveSession, nonce, attempt },
  },
  keepalive: { words: "renews the lease", fields: unsequenced },
  acquire: {
    words: "requests locks, or permits of semaphores",
    fields: {
      ...sequenced,
      task: uint(),
      items,
      waitMs: wait,
      options: where(options, (all, request) => optionsProblem(all, request.items)),
    },
  },
  end: {
    words: "releases a hold, or cancels a wait",
    fields: { ...sequenced, target },
  },
  recall: {
    words: "asks what became of earlier commands",
    fields: { ...unsequenced, sequences: numbers(RECALL_MAX, "recalled") },
  },
  close: { words: "ends the session", fields: sequenced },
  downgrade: {
    words: "makes exclusive locks shared",
    fields: { ...sequenced, target, key: optional(key) },
  },
  upgrade: {
    words: "makes a shared lock exclusive",
    fields: { ...sequenced, target, key, waitMs: wait, detect: boolean },
  },
  update: {
    words: "changes the value of a hold",
    fields: { ...sequenced, target, value },
  },
  revoke: {
    words: "ends the holds of a key, or the hold of a token",
    fields: {
      ...sequenced,
      key: optional(key),
      token: where(uint(), (token, before) =>
        before.key === undefined && token === 0 ? "neither a key nor a token" : undefined,
      ),
      ...force,
    },
  },
  endSession: {
    words: "ends a session by its number",
    fields: { ...sequenced, session: liveSession, ...force },
  },
  setLimit: {
    words: "sets the limit of a semaphore",
    fields: { ...sequenced, key, limit: optional(limit) },
  },
  handOver: {
    words: "gives a hold to an owner",
    fields: { ...sequenced, target, to: secret, isBearer: boolean, ttlMs: leaseTtlMs },
  },
  adopt: {
    words: "makes the hold of a bearer one of its own",
    fields: { ...sequenced, key, secret, task: uint() },
  },
  changeSetting: {
    words: "changes a limit of the whole cluster",
    fields: {
      ...sequenced,
      name: text(SETTING_NAME_BYTES_MAX, isValidSettingName),
      value: optional(uint()),
    },
  },
  putIdentity: {
    words: "makes an identity",
    fields: { ...sequenced, name: identity },
  },
  removeIdentity: {
    words: "removes an identity, its grants, credentials and sessions",
    fields: { ...sequenced, name: identity },
  },
  putCredential: {
    words: "gives an identity a credential",
    fields: {
      ...sequenced,
      name: identity,
      label,
      kind: choice(CREDENTIAL_KIND),
      digest: where(optional(digits(TOKEN_DIGEST_BYTES)), (digest, { kind }) =>
        (kind === "token") === (digest !== undefined) ? undefined : "a digest is of a token",
      ),
      expiresWallMs: uint(0, WALL_MS_MAX),
    },
  },
  removeCredential: {
    words: "takes a credential away",
    fields: { ...sequenced, name: identity, label },
  },
  setGrant: {
    words: "sets what an identity may do with a key, or with keys that begin so",
    fields: {
      ...sequenced,
      name: identity,
      key: prefix,
      isPrefix: prefixFlag,
      level: choice(ACCESS_LEVEL),
    },
  },
  take: {
    words: "requests a lease for a named owner",
    fields: {
      ...sequenced,
      owner,
      request: digits(REQUEST_ID_BYTES),
      name: text(SESSION_NAME_BYTES_MAX, isValidSessionName),
      ttlMs: leaseTtlMs,
      isSplit: boolean,
      items,
      waitMs: where(wait, (waitMs, { isSplit }) =>
        isSplit && waitMs !== 0 ? "a split take cannot wait" : undefined,
      ),
      options: where(options, (all, request) =>
        all?.steal === true ? "a take cannot steal" : optionsProblem(all, request.items),
      ),
    },
  },
  extend: {
    words: "extends leases",
    fields: {
      ...sequenced,
      owner,
      keys,
      ttlMs: leaseTtlMs,
      mode: where(choice(EXTEND_MODE), (mode, { ttlMs }) =>
        mode === "add" && ttlMs === 0 ? "an extension by nothing" : undefined,
      ),
    },
  },
  giveBack: {
    words: "ends leases, and waits for them",
    fields: {
      ...sequenced,
      owner,
      keys,
      taken: where(uint(), (taken: number, { sequence }: { readonly sequence: number }) =>
        taken >= sequence ? `taken ${taken} not below sequence` : undefined,
      ),
    },
  },
  act: {
    words: "compares keys, and takes, changes, extends and ends leases if they are so",
    fields: { ...sequenced, steps },
  },
  inspect: { words: "shows one key", fields: { id, key, owner: optional(owner) } },
  query: {
    words: "lists keys",
    fields: { id, prefix, after: optional(prefix), limit: page },
  },
  explain: {
    words: "explains why a request waits",
    fields: {
      id,
      key,
      session: uint(),
      sequence: where(uint(), (sequence, { session }) =>
        (session === 0) === (sequence === 0) ? undefined : "a session and a sequence, or neither",
      ),
    },
  },
  waitGraph: {
    words: "shows which task waits for which",
    fields: { id, limit: uint(1, WAIT_GRAPH_EDGES_MAX) },
  },
  verify: { words: "checks whether a token is current", fields: { id, key, token: uint() } },
  settings: { words: "lists the settings", fields: { id } },
  members: { words: "lists the members of the cluster", fields: { id } },
  changeMember: {
    words: "adds, promotes, demotes or removes a member",
    fields: {
      id,
      action: choice(MEMBER_ACTION),
      node: uint(1, NODE_ID_MAX),
      address: where(optional(text(ADDRESS_BYTES_MAX, isValidAddress)), (address, { action }) => {
        if (action === "add") return address === undefined ? "add without an address" : undefined;
        return address === undefined ? undefined : `${action} with an address`;
      }),
    },
  },
  transfer: {
    words: "hands leadership to another node",
    fields: { id, node: uint(0, NODE_ID_MAX) },
  },
  saveSnapshot: { words: "makes the node take a snapshot", fields: { id, isStale: boolean } },
  readSnapshot: {
    words: "reads a chunk of that snapshot",
    fields: { id, checksum: digits(CHECKSUM_BYTES), chunk: uint(0, CHUNK_MAX) },
  },
  logLevel: {
    words: "shows the log level of the node, or changes it for a while",
    fields: {
      id,
      node: uint(0, NODE_ID_MAX),
      level: optional(choice(LOG_LEVEL)),
      forMs: where(uint(0, LOG_LEVEL_MS_MAX), (forMs, { level }) =>
        level === undefined && forMs !== 0 ? "a time without a level" : undefined,
      ),
    },
  },
  history: {
    words: "lists the past holders of a key",
    fields: { id, key, limit: uint(1, HISTORY_PAGE_MAX) },
  },
  sessions: { words: "lists sessions", fields: { id, after: uint(), limit: page } },
  watch: {
    words: "watches for changes",
    fields: {
      id,
      key: prefix,
      isPrefix: prefixFlag,
      after: revision,
    },
  },
  unwatch: { words: "ends a watch", fields: { id, watch: uint() } },
  access: {
    words: "lists identities with their grants and credentials",
    fields: { id, after: optional(identity), limit: page },
  },
  checkAccess: {
    words: "says whether an identity may do something",
    fields: {
      id,
      name: identity,
      level: choice(ACCESS_LEVEL),
      key: prefix,
      isPrefix: prefixFlag,
    },
  },
  whoAmI: { words: "says as whom the connection speaks", fields: { id } },
  signIn: {
    words: "proves an identity, before any other request",
    fields: { id, token: text(ACCESS_TOKEN_BYTES_MAX, isValidAccessToken) },
  },
  vitals: {
    words: "shows how the node is that answers, or another member",
    fields: { id, node: uint(0, NODE_ID_MAX), after: uint(0, WALL_MS_MAX) },
  },
  readOnly: { words: "lets the connection only read from now on", fields: { id } },
  audit: {
    words: "lists the audit of the node that answers",
    fields: {
      id,
      block: uint(0, AUDIT_NUMBER_MAX),
      at: uint(0, AUDIT_NUMBER_MAX),
      limit: uint(1, AUDIT_PAGE_MAX),
      key: optional(prefix),
      isPrefix: boolean,
      identity: optional(identity),
      kind: optional(choice(AUDIT_KIND)),
      since: uint(0, WALL_MS_MAX),
      until: uint(0, WALL_MS_MAX),
    },
  },
  ping: { words: "asks whether the node still answers", fields: { id } },
};

/** The kinds of an item's values other than its mode; the last two are for semaphores. */
export const ITEM_KINDS = { key, permits: uint(1, PERMITS_MAX), limit: optional(limit) };

/** The kind of each option of an acquire; its number and its default are next to its type. */
export const OPTION_KINDS: {
  readonly [N in keyof AcquireTerms]: { readonly kind: FieldKind<AcquireTerms[N]>; words?: string };
} = {
  priority: { kind: uint(0, PRIORITY_MAX), words: "seconds of head start" },
  maxHoldMs: { kind: uint(MAX_HOLD_MS_MIN, WAIT_MS_MAX) },
  minHoldMs: { kind: uint(0, WAIT_MS_MAX), words: "not above `maxHoldMs`" },
  lockDelayMs: { kind: uint(0, LOCK_DELAY_MS_MAX) },
  value: { kind: value, words: "any text" },
  steal: { kind: boolean, words: "only with exclusive items" },
  detect: { kind: boolean },
};

/** Why options are not allowed together, or with these items; `undefined` if they are. */
export function optionsProblem(
  all: AcquireTerms | undefined,
  of: readonly Item[],
): string | undefined {
  if (all === undefined) return undefined;
  if (all.steal && of.some(({ mode }) => mode !== "exclusive")) {
    return "only exclusive items can be stolen";
  }
  const { maxHoldMs, minHoldMs } = all;
  return maxHoldMs > 0 && minHoldMs > maxHoldMs ? "minHoldMs above maxHoldMs" : undefined;
}

/** A declaration without its types, for code that treats all requests alike. */
export interface RequestSchema {
  readonly name: string;
  readonly op: number;
  readonly words: string;
  readonly fields: readonly (Field<unknown, unknown> & { readonly name: string })[];
  /** The number of its values on the wire, including its operation. */
  readonly arity: number;
}

/** All requests, in the order of their numbers. */
export const REQUEST_SCHEMAS: readonly RequestSchema[] = Object.entries(SCHEMA).map(
  ([name, declared]) => {
    const kinds = Object.entries<Field<unknown, unknown>>(declared.fields);
    const fields = kinds.map(([field, kind]) => ({ ...kind, name: field }));
    const isPair = ({ form }: FieldKind<unknown>): boolean => form.type === "revision";
    const arity = 1 + fields.length + fields.filter(isPair).length;
    return { name, op: OP[name as OperationName], words: declared.words, fields, arity };
  },
);
