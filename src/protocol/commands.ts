/**
 * Requests of clients. A request is a msgpack array `[op, …]` in canonical form (`codec/reader.ts`),
 * with the values that `codec/schema.ts` declares. Ops below 64 are commands, whose bytes are
 * replicated unchanged. 64 – 69 and those from 80 on are reads: the node they reach answers them,
 * and they never enter the log. 70 – 79 are operations on the cluster itself: they need no session
 * and are forwarded to the leader, except those that any node can carry out by itself.
 *
 * `sequence`   numbers the executed commands of a session, from 1 and without gaps: the table
 *              executes the next one and no other. If a command was refused, or a resume finds
 *              that it was not executed, its number is used again. The number of an acquire or
 *              adopt identifies the hold that it gets.
 * `mark`       the lowest sequence whose reply the client still needs; replies below are dropped.
 *              `sequence` is below `mark` + `IN_FLIGHT_MAX`. For a state order without a session:
 *              the order count that its client knows.
 * `acknowledged` sequences whose end the client has read: waits that ended without a grant,
 *              upgrades that were granted after a wait, holds that ended by themselves.
 * `target`     the sequence of an earlier acquire or adopt, which identifies a hold or a wait.
 * `number`     of keepalive and recall: repeated by the reply, not part of the sequence; the reply
 *              is not stored, and the command is never sent again under the same number.
 */

export const OP = {
  open: 1,
  resume: 2,
  keepalive: 3,
  acquire: 4,
  end: 5,
  recall: 7,
  close: 8,
  downgrade: 9,
  upgrade: 10,
  update: 11,
  revoke: 12,
  endSession: 13,
  setLimit: 14,
  handOver: 15,
  adopt: 16,
  changeSetting: 17,
  putIdentity: 18,
  removeIdentity: 19,
  putCredential: 20,
  removeCredential: 21,
  setGrant: 22,
  take: 23,
  extend: 24,
  giveBack: 25,
  act: 26,
  /** Reads. */
  inspect: 64,
  query: 65,
  explain: 66,
  waitGraph: 67,
  verify: 68,
  settings: 69,
  /** Requests of operators that the leader answers, whichever node they reach. */
  members: 70,
  changeMember: 71,
  transfer: 72,
  /** Requests of operators that the node they reach carries out. */
  saveSnapshot: 73,
  readSnapshot: 74,
  logLevel: 75,
  /** More reads. */
  history: 80,
  sessions: 81,
  watch: 82,
  unwatch: 83,
  access: 84,
  checkAccess: 85,
  whoAmI: 86,
  /** Answered by the node that it reaches, before anything else of the connection. */
  signIn: 87,
  /** Answered by the node that it reaches from what it knows of itself, also without a leader. */
  vitals: 88,
  /** Answered by the node that it reaches, at once. */
  readOnly: 89,
  /** Answered by the node that it reaches from its own audit. */
  audit: 90,
  /** Answered by the node that it reaches, at once and with nothing. */
  ping: 91,
} as const;

/** Whether the operation enters the log. */
export function isCommandOp(op: number): boolean {
  return op < OP.inspect;
}

/** Whether the operation concerns the cluster itself and is meant for operators. */
export function isOperationOp(op: number): boolean {
  return op >= OP.members && op < OP.history;
}

/** Whether the operation is a read, which the node that it reaches answers from its own table. */
export function isQueryOp(op: number): boolean {
  return !isCommandOp(op) && !isOperationOp(op);
}

/** Whether the request attaches a connection to a session instead of belonging to one. */
export function isAttachCommand(request: { readonly op: number }): request is AttachCommand {
  const { op } = request;
  return op === OP.open || op === OP.resume;
}

/**
 * Whether the request is an order, which operators give and which needs no session (semantics.md,
 * 11.1).
 */
export function isOrder(request: { readonly op: number }): request is OrderCommand {
  return ORDER_OPS.has(request.op);
}

/**
 * Whether the order names a state, which a later one may contradict. Given without a session, it is
 * executed only at the order count that it names, so that no late copy of it undoes a later order.
 */
export function isStateOrder(request: { readonly op: number }): request is StateOrder {
  return isOrder(request) && request.op !== OP.revoke && request.op !== OP.endSession;
}

/** Whether the operation is an order that changes who may do what. */
export function isAccessOp(op: number): boolean {
  return op >= OP.putIdentity && op <= OP.setGrant;
}

const ORDER_OPS: ReadonlySet<number> = new Set([
  OP.revoke,
  OP.endSession,
  OP.setLimit,
  OP.changeSetting,
  OP.putIdentity,
  OP.removeIdentity,
  OP.putCredential,
  OP.removeCredential,
  OP.setGrant,
]);

const STRONG_OPS: ReadonlySet<number> = new Set([
  OP.acquire,
  OP.take,
  OP.upgrade,
  OP.adopt,
  OP.update,
  OP.handOver,
  OP.setLimit,
  OP.changeSetting,
  OP.putIdentity,
  OP.putCredential,
]);

/**
 * Whether a command can create or enlarge something. Such commands are refused as soon as a node
 * has little room; the others, which free something, only when it has none.
 */
export function isStrong(command: { readonly op: number }): boolean {
  return STRONG_OPS.has(command.op) || isTakingAct(command);
}

/** Whether the command is an act of which a step takes or rewrites something. */
export function isTakingAct(command: { readonly op: number }): boolean {
  return command.op === OP.act && (command as ActCommand).steps.some(needsAcquire);
}

/** Whether a step needs the right to acquire its key: it takes it, rewrites it, or asks whether it is free. */
export function needsAcquire({ before, after }: ActStep): boolean {
  return before === undefined || (after !== undefined && after !== before);
}

/** The modes of locks that are not semaphores. */
export const LOCK_MODES = ["exclusive", "shared"] as const;
/** How a lock is held: by one task alone, or together with others in this mode. */
export type LockMode = (typeof LOCK_MODES)[number];
export const isLockMode = (mode: unknown): mode is LockMode =>
  LOCK_MODES.some((one) => one === mode);
/** The modes of claims; the last one is for semaphores only. On the wire the index here. */
export const CLAIM_MODES = [...LOCK_MODES, "permits"] as const;
/** The mode of a lock, or "permits" for a semaphore. */
export type ClaimMode = (typeof CLAIM_MODES)[number];

/** On the wire `[key, 0]` or `[key, 1]`. */
export interface LockItem {
  readonly key: string;
  readonly mode: LockMode;
}

/** Permits of a semaphore. On the wire `[key, 2, permits, limit | nil]`. */
export interface PermitItem {
  readonly key: string;
  readonly mode: "permits";
  /** 1 … `PERMITS_MAX`, in total over all items of an acquire. */
  readonly permits: number;
  /** 1 … `LIMIT_MAX`; `undefined` means the limit that the key has, which must then be in use. */
  readonly limit: number | undefined;
}

export type Item = LockItem | PermitItem;

/** The options of an acquire; their defaults are in `ACQUIRE_DEFAULTS`. */
export interface AcquireTerms {
  /** Head start in the queue, in steps of a setting (seconds by default), 0 … `PRIORITY_MAX`. */
  readonly priority: number;
  /** The hold ends this long after its grant, `MAX_HOLD_MS_MIN` … `WAIT_MS_MAX`; 0 means never. */
  readonly maxHoldMs: number;
  /**
   * Its keys stay closed at least this long after the grant, however early it ends, 0 …
   * `WAIT_MS_MAX`.
   */
  readonly minHoldMs: number;
  /**
   * Its keys stay closed this long if it ends in any way other than by its client, 0 …
   * `LOCK_DELAY_MS_MAX`.
   */
  readonly lockDelayMs: number;
  /** A text that others see with the hold, at most `VALUE_BYTES_MAX` bytes of UTF-8. */
  readonly value: string;
  /** Whether it ends the holds of its keys. Only for exclusive items. */
  readonly steal: boolean;
  /** Whether it may be refused if it, or another request because of it, would wait forever. */
  readonly detect: boolean;
}

export const ACQUIRE_DEFAULTS: AcquireTerms = Object.freeze({
  priority: 0,
  maxHoldMs: 0,
  minHoldMs: 0,
  lockDelayMs: 0,
  value: "",
  steal: false,
  detect: true,
});

/**
 * The numbers of the options in their map on the wire: ascending, and only those that are not the
 * default.
 */
export const ACQUIRE_OPTION = {
  priority: 1,
  maxHoldMs: 2,
  minHoldMs: 3,
  lockDelayMs: 4,
  value: 5,
  steal: 6,
  detect: 7,
} as const satisfies Readonly<Record<keyof AcquireTerms, number>>;

export interface OpenCommand {
  readonly op: typeof OP.open;
  /** 32 lower-case hex digits; 16 bytes on the wire. */
  readonly nonce: string;
  /**
   * Raised by the client with every transmission of an open or resume of this session. Begins at 1.
   */
  readonly attempt: number;
  readonly ttlMs: number;
  readonly name: string;
  readonly metadata: string;
}

/** Attaches another connection to the session. */
export interface ResumeCommand {
  readonly op: typeof OP.resume;
  readonly session: number;
  readonly nonce: string;
  readonly attempt: number;
}

export interface KeepaliveCommand {
  readonly op: typeof OP.keepalive;
  readonly number: number;
  readonly mark: number;
  readonly acknowledged: readonly number[];
}

/** The fields with which every command with a sequence begins. */
interface SequencedHead {
  readonly sequence: number;
  readonly mark: number;
  readonly acknowledged: readonly number[];
}

/** `waitMs` of an acquire that waits without a deadline; nil on the wire. */
export const WAIT_FOREVER = -1;

export interface AcquireCommand extends SequencedHead {
  readonly op: typeof OP.acquire;
  /** A task inside the session, numbered by the client. */
  readonly task: number;
  readonly items: readonly Item[];
  /** 0 means try. `WAIT_FOREVER` means until granted or cancelled, or until the session ends. */
  readonly waitMs: number;
  /** `undefined` means the defaults. */
  readonly options?: AcquireTerms | undefined;
}

/**
 * Release and cancel in one: ends the hold, the wait or the unread end of `target`, whichever there
 * is.
 */
export interface EndCommand extends SequencedHead {
  readonly op: typeof OP.end;
  readonly target: number;
}

export interface RecallCommand {
  readonly op: typeof OP.recall;
  readonly number: number;
  readonly mark: number;
  readonly acknowledged: readonly number[];
  readonly sequences: readonly number[];
}

/** Ends the session with all its holds and waits. */
export interface CloseCommand extends SequencedHead {
  readonly op: typeof OP.close;
}

/** Exclusive becomes shared, in place. A waiting upgrade of that key ends with `CANCELLED`. */
export interface DowngradeCommand extends SequencedHead {
  readonly op: typeof OP.downgrade;
  readonly target: number;
  /** `undefined` means all of its keys. */
  readonly key: string | undefined;
}

/**
 * Shared becomes exclusive, ahead of the queue and with a new token; until then the hold does not
 * change. A hold has at most one waiting upgrade. If it is already exclusive, the answer is the
 * present token.
 */
export interface UpgradeCommand extends SequencedHead {
  readonly op: typeof OP.upgrade;
  readonly target: number;
  readonly key: string;
  readonly waitMs: number;
  readonly detect: boolean;
}

export interface UpdateCommand extends SequencedHead {
  readonly op: typeof OP.update;
  readonly target: number;
  readonly value: string;
}

/**
 * With a key: ends all its holds, or, with a token too, those whose token is not newer. Without a
 * key: ends the hold with that token, in any session.
 */
export interface RevokeCommand extends SequencedHead {
  readonly op: typeof OP.revoke;
  readonly key: string | undefined;
  readonly token: number;
  readonly graceMs: number;
  /** Whether to end it at once, even if others are granted before the holder hears of it. */
  readonly now: boolean;
  /** A text for the holder; at most `REASON_BYTES_MAX` bytes of UTF-8. */
  readonly reason: string;
}

export interface EndSessionCommand extends SequencedHead {
  readonly op: typeof OP.endSession;
  readonly session: number;
  readonly graceMs: number;
  readonly now: boolean;
  readonly reason: string;
}

export interface SetLimitCommand extends SequencedHead {
  readonly op: typeof OP.setLimit;
  readonly key: string;
  /** `undefined` means that the key forgets its limit. */
  readonly limit: number | undefined;
}

/** Gives the hold of `target`, as a whole and under a new token, to an owner. */
export interface HandOverCommand extends SequencedHead {
  readonly op: typeof OP.handOver;
  readonly target: number;
  /** 32 lower-case hex digits; 16 bytes on the wire. */
  readonly to: string;
  /** To a bearer, from whom a session of any identity can adopt it; otherwise to an owner of this identity. */
  readonly isBearer: boolean;
  /**
   * How long the owner has it: a bearer `TTL_MS_MIN` … `TTL_MS_MAX`, a named owner as in a take.
   */
  readonly ttlMs: number;
}

/** Makes the hold that a bearer has in the key a hold of this session, under a new token. */
export interface AdoptCommand extends SequencedHead {
  readonly op: typeof OP.adopt;
  /** One of the keys of the hold. */
  readonly key: string;
  /** What names the bearer: 32 lower-case hex digits; 16 bytes on the wire. */
  readonly secret: string;
  /** The task that has it from now on. */
  readonly task: number;
}

export interface ChangeSettingCommand extends SequencedHead {
  readonly op: typeof OP.changeSetting;
  readonly name: string;
  /** `undefined` means the default. */
  readonly value: number | undefined;
}

/** An identity of that name exists from now on. */
export interface PutIdentityCommand extends SequencedHead {
  readonly op: typeof OP.putIdentity;
  readonly name: string;
}

/** It exists no more, nor what belongs to it: credentials, grants, sessions with their holds. */
export interface RemoveIdentityCommand extends SequencedHead {
  readonly op: typeof OP.removeIdentity;
  readonly name: string;
}

/** What proves an identity. On the wire the number. */
export const CREDENTIAL_KIND = { token: 0, certificate: 1 } as const;
/** What proves an identity: an access token, or a client certificate that names it. */
export type CredentialKind = keyof typeof CREDENTIAL_KIND;

/** Replaces the identity's credential of that label, unless it is the same. */
export interface PutCredentialCommand extends SequencedHead {
  readonly op: typeof OP.putCredential;
  readonly name: string;
  /** What the credential is called; of one identity no two have the same label. */
  readonly label: string;
  readonly kind: CredentialKind;
  /**
   * The SHA-256 of a token: 64 lower-case hex digits; 32 bytes on the wire. Only tokens have one.
   */
  readonly digest: string | undefined;
  /** From when on no connection is let in by it, in milliseconds of wall time; 0: never. */
  readonly expiresWallMs: number;
}

export interface RemoveCredentialCommand extends SequencedHead {
  readonly op: typeof OP.removeCredential;
  readonly name: string;
  readonly label: string;
}

/** What a grant allows; each level includes those before it. On the wire the number. */
export const ACCESS_LEVEL = { none: 0, observe: 1, acquire: 2, operate: 3, admin: 4 } as const;
export type AccessLevel = keyof typeof ACCESS_LEVEL;

/** What an identity may do with a key, or with all keys that begin so. `none` takes it away. */
export interface SetGrantCommand extends SequencedHead {
  readonly op: typeof OP.setGrant;
  readonly name: string;
  /** A key; or how keys begin, if `isPrefix`: be it with nothing, which is every key. */
  readonly key: string;
  readonly isPrefix: boolean;
  readonly level: AccessLevel;
}

/**
 * Requests a lease: a hold that belongs to a named owner and to no session, and that has a time of
 * its own. The session of this command only has its wait. A repeat, which has the same owner,
 * identity and `request`, gets the hold or the place in the queue that the first one got.
 */
export interface TakeCommand extends SequencedHead {
  readonly op: typeof OP.take;
  /** Names the owner, and proves it. 32 lower-case hex digits; 16 bytes on the wire. */
  readonly owner: string;
  /** Names this request of the owner: equal in a repeat. 32 lower-case hex digits. */
  readonly request: string;
  /** What others see in place of the owner. */
  readonly name: string;
  /** How long the lease lasts, 1 … `LEASE_TTL_MS_MAX`; 0 means without end. */
  readonly ttlMs: number;
  /** Whether each item becomes a lease of its own: all at once or none, and only as a try. */
  readonly isSplit: boolean;
  readonly items: readonly Item[];
  /** 0 means try. `WAIT_FOREVER` means until granted or cancelled, or until the session ends. */
  readonly waitMs: number;
  /** `undefined` means the defaults. `steal` is not allowed. */
  readonly options?: AcquireTerms | undefined;
}

/** How an extension finds the new end of a lease. On the wire the number. */
export const EXTEND_MODE = {
  /** `ttlMs` from now, but never earlier than it was. */
  atLeast: 0,
  /** `ttlMs` from now, even if that is earlier. */
  exactly: 1,
  /** `ttlMs` after the current end. */
  add: 2,
} as const;
export type ExtendMode = keyof typeof EXTEND_MODE;

/** Extends the leases of an owner in all of the keys, or none if it does not hold one of them. */
export interface ExtendCommand extends SequencedHead {
  readonly op: typeof OP.extend;
  readonly owner: string;
  /** 1 … `ITEMS_MAX`, none twice. */
  readonly keys: readonly string[];
  /** 1 … `LEASE_TTL_MS_MAX`. */
  readonly ttlMs: number;
  readonly mode: ExtendMode;
}

/** Ends the leases, and the waits for leases, that an owner has in the keys: each as a whole. */
export interface GiveBackCommand extends SequencedHead {
  readonly op: typeof OP.giveBack;
  readonly owner: string;
  /** 1 … `ITEMS_MAX`, none twice. */
  readonly keys: readonly string[];
  /**
   * 0: whatever the owner has. Otherwise the sequence of a take of this session, and only what no
   * other take has repeated ends.
   */
  readonly taken: number;
}

/**
 * One key of an act: what it must be like, and what becomes of it. On the wire
 * `[owner, key, before | nil, after | nil, ttlMs | nil]`.
 */
export interface ActStep {
  /** 32 lower-case hex digits; 16 bytes on the wire. */
  readonly owner: string;
  readonly key: string;
  /** The value of the lease that the owner has in this key alone; `undefined`: nobody holds the key. */
  readonly before: string | undefined;
  /** The value of the owner's lease from now on; `undefined`: it has none. */
  readonly after: string | undefined;
  /**
   * How long the lease lasts from now on, as in a take; `undefined`: as long as before, or there is none.
   */
  readonly ttlMs: number | undefined;
}

/** Compare and act: if each key is as its step says, all steps are done, otherwise none. */
export interface ActCommand extends SequencedHead {
  readonly op: typeof OP.act;
  /** 1 … `ITEMS_MAX`, of different keys. */
  readonly steps: readonly ActStep[];
}

/** Who may do what: only an `admin` may change it. */
export type AccessCommand =
  | PutIdentityCommand
  | RemoveIdentityCommand
  | PutCredentialCommand
  | RemoveCredentialCommand
  | SetGrantCommand;

/** Commands that attach a connection to a session; they belong to no session themselves. */
export type AttachCommand = OpenCommand | ResumeCommand;

/**
 * Commands with a sequence that can also be given without a session. The sequence is then a random
 * number of the client, and mark and acknowledged mean nothing.
 */
export type OrderCommand =
  | RevokeCommand
  | EndSessionCommand
  | SetLimitCommand
  | ChangeSettingCommand
  | AccessCommand;

/** Orders that name a state. The others name holds or a session, which never come back. */
export type StateOrder = Exclude<OrderCommand, RevokeCommand | EndSessionCommand>;

/** Commands with a sequence: executed exactly once, in the order of their sequences. */
export type SequencedCommand =
  | AcquireCommand
  | EndCommand
  | CloseCommand
  | DowngradeCommand
  | UpgradeCommand
  | UpdateCommand
  | RevokeCommand
  | EndSessionCommand
  | SetLimitCommand
  | HandOverCommand
  | AdoptCommand
  | ChangeSettingCommand
  | AccessCommand
  | TakeCommand
  | ExtendCommand
  | GiveBackCommand
  | ActCommand;

export type SessionCommand = SequencedCommand | KeepaliveCommand | RecallCommand;
export type Command = AttachCommand | SessionCommand;

/**
 * Identifies an attach from the connection that asked to the answer.
 */
export function attachKeyOf(command: AttachCommand): string {
  const { nonce, attempt } = command;
  const session = command.op === OP.open ? "" : command.session;
  return `${nonce}/${session}/${attempt}`;
}
