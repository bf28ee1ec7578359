/**
 * What clients say. A request is a msgpack array `[op, …]` in canonical form (`codec/reader.ts`) of
 * the values that `codec/schema.ts` declares. Ops below 64 are commands: their bytes are replicated as they came. 64 – 69 and those from 80 on are
 * reads: they are answered by the node they reach and never enter the log. 70 – 79 are operations
 * on the cluster itself: they need no session and are passed on to the leader, but for those that
 * any node carries out by itself.
 *
 * `sequence`   numbers the commands of a session that were executed, from 1 and without gaps: the
 *              table executes the one that comes next and no other. One that was refused, or that a
 *              resume found unexecuted, gives its number back. The number of an acquire or claim is
 *              the identity of the hold that it brings.
 * `mark`       the lowest sequence whose reply the client still needs; replies below are dropped.
 *              `sequence` is below `mark` + `IN_FLIGHT_MAX`.
 * `acknowledged` sequences of which the client has read how they ended: waits that ended without a
 *              grant, upgrades that were granted after a wait, holds that ended by themselves.
 * `target`     the sequence of an earlier acquire or claim: the hold, or the wait, that is meant.
 * `number`     of keepalive and recall: repeated by the reply, not part of the sequence; the reply
 *              is not stored and the command is never sent again under the same number.
 */

export const OP = {
  open: 1,
  resume: 2,
  keepalive: 3,
  acquire: 4,
  end: 5,
  takeOver: 6,
  recall: 7,
  close: 8,
  downgrade: 9,
  upgrade: 10,
  update: 11,
  revoke: 12,
  endSession: 13,
  setLimit: 14,
  detach: 15,
  claim: 16,
  changeSetting: 17,
  /** Reads. */
  inspect: 64,
  query: 65,
  explain: 66,
  waitGraph: 67,
  verify: 68,
  settings: 69,
  /** Operators' requests: answered by the leader, whichever node they reach. */
  members: 70,
  changeMember: 71,
  transfer: 72,
  /** Operators' requests that the node they reach carries out. */
  saveSnapshot: 73,
  readSnapshot: 74,
  /** Reads again. */
  history: 80,
  sessions: 81,
  watch: 82,
  unwatch: 83,
} as const;

/** Whether it enters the log. */
export function isCommandOp(op: number): boolean {
  return op < OP.inspect;
}

/** Whether it is about the cluster itself, and an operator's to ask for. */
export function isOperationOp(op: number): boolean {
  return op >= OP.members && op < OP.history;
}

/** Whether it is a read: the node that it reaches answers it from its own table. */
export function isQueryOp(op: number): boolean {
  return !isCommandOp(op) && !isOperationOp(op);
}

/** Whether it attaches a connection to a session, instead of belonging to one. */
export function isAttachCommand(request: { readonly op: number }): request is AttachCommand {
  const { op } = request;
  return op === OP.open || op === OP.resume || op === OP.takeOver;
}

/** Whether it needs no session: what operators take away and set (semantics.md, 11.1). */
export function isOrder(request: { readonly op: number }): request is OrderCommand {
  const { op } = request;
  return op === OP.revoke || op === OP.endSession || op === OP.setLimit || op === OP.changeSetting;
}

const STRONG_OPS: ReadonlySet<number> = new Set([
  OP.acquire,
  OP.upgrade,
  OP.claim,
  OP.update,
  OP.setLimit,
  OP.changeSetting,
]);

/**
 * Whether it may create or enlarge something. Strong commands are refused as soon as a node has little
 * room; weak ones, which give something back, only when it has none.
 */
export function isStrong({ op }: { readonly op: number }): boolean {
  return STRONG_OPS.has(op);
}

/** How a lock is held: by one alone, or together with others of this mode. */
export type LockMode = "exclusive" | "shared";
/** How a claim stands in a key; the last of semaphores only. On the wire 0, 1, 2. */
export const CLAIM_MODES = ["exclusive", "shared", "permits"] as const;
/** The mode of a lock, or "permits" of a semaphore. */
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
  /** 1 … `PERMITS_MAX`, which all items of an acquire share. */
  readonly permits: number;
  /** 1 … `LIMIT_MAX`; `undefined`: whatever the key has, which must be in use then. */
  readonly limit: number | undefined;
}

export type Item = LockItem | PermitItem;

/** What an acquire asks for beyond its items; the defaults stand in `ACQUIRE_DEFAULTS`. */
export interface AcquireOptions {
  /** Seconds of head start in the queue (steps of a setting), 0 … `PRIORITY_MAX`. */
  readonly priority: number;
  /** The hold ends so long after its grant, `MAX_HOLD_MS_MIN` … `WAIT_MS_MAX`; 0: never. */
  readonly maxHoldMs: number;
  /** Its keys stay closed at least so long after the grant, however early it ends. */
  readonly minHoldMs: number;
  /**
   * Its keys stay closed so long when it ends otherwise than by its client, 0 …
   * `LOCK_DELAY_MS_MAX`.
   */
  readonly lockDelayMs: number;
  /** What others see beside the hold, at most `VALUE_BYTES_MAX` bytes. */
  readonly value: string;
  /** Ends what is held in its keys. Of exclusive items only. */
  readonly steal: boolean;
  /** Whether it is refused, or others give way, where waiting would never end. */
  readonly detect: boolean;
}

export const ACQUIRE_DEFAULTS: AcquireOptions = Object.freeze({
  priority: 0,
  maxHoldMs: 0,
  minHoldMs: 0,
  lockDelayMs: 0,
  value: "",
  steal: false,
  detect: true,
});

/** Keys of the map of options on the wire: ascending, each only where it is not the default. */
export const ACQUIRE_OPTION = {
  priority: 1,
  maxHoldMs: 2,
  minHoldMs: 3,
  lockDelayMs: 4,
  value: 5,
  steal: 6,
  detect: 7,
} as const satisfies Readonly<Record<keyof AcquireOptions, number>>;

export interface OpenCommand {
  readonly op: typeof OP.open;
  /** 32 lower-case hex digits; 16 bytes on the wire. */
  readonly nonce: string;
  /** Raised by the client with every transmission of an open or resume of this session. From 1. */
  readonly attempt: number;
  readonly ttlMs: number;
  readonly name: string;
  readonly metadata: string;
}

/** Another connection of the process that has the session. */
export interface ResumeCommand {
  readonly op: typeof OP.resume;
  readonly session: number;
  readonly nonce: string;
  /** How often the session was taken over, as far as this process knows. */
  readonly generation: number;
  readonly attempt: number;
}

/**
 * Another process takes the session over from `generation`; every hold gets a new token. Of several
 * takers of one generation only the first gets the session. What it sends again, because the answer
 * was lost, is a resume.
 */
export interface TakeOverCommand {
  readonly op: typeof OP.takeOver;
  readonly session: number;
  readonly nonce: string;
  /** The generation that it follows: the one of the process before. */
  readonly generation: number;
  /** 32 lower-case hex digits; drawn by chance for each process, and never handed on. */
  readonly taker: string;
  readonly attempt: number;
}

export interface KeepaliveCommand {
  readonly op: typeof OP.keepalive;
  readonly number: number;
  readonly mark: number;
  readonly acknowledged: readonly number[];
}

/** What every command with a sequence begins with. */
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
  readonly owner: number;
  readonly items: readonly Item[];
  /** 0: try. `WAIT_FOREVER`: until granted, cancelled or the session ends. */
  readonly waitMs: number;
  /** `undefined`: the defaults. */
  readonly options?: AcquireOptions | undefined;
}

/**
 * Release and cancel in one. The hold, the wait or the unread end of `target`, whichever there is, is
 * no more.
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

/** Ends the session and everything it holds or waits for. */
export interface CloseCommand extends SequencedHead {
  readonly op: typeof OP.close;
}

/**
 * Exclusive becomes shared, in place, and an upgrade of that key that still waits ends with
 * `CANCELLED`.
 */
export interface DowngradeCommand extends SequencedHead {
  readonly op: typeof OP.downgrade;
  readonly target: number;
  /** `undefined`: all of its keys. */
  readonly key: string | undefined;
}

/**
 * Shared becomes exclusive, ahead of the queue and with a new token; the hold stays as it is until
 * then. A hold has at most one upgrade that waits. What is exclusive already is answered with the
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
 * With a key everybody who holds it, or with a token beside it those whose token is no newer; without
 * a key the hold of that token, whosever it is.
 */
export interface RevokeCommand extends SequencedHead {
  readonly op: typeof OP.revoke;
  readonly key: string | undefined;
  readonly token: number;
  readonly graceMs: number;
  /** At once, whether or not the holder hears of it before others are granted. */
  readonly now: boolean;
  /** For the holder; at most `REASON_BYTES_MAX` bytes. */
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
  /** `undefined`: the key remembers none. */
  readonly limit: number | undefined;
}

export interface DetachCommand extends SequencedHead {
  readonly op: typeof OP.detach;
  readonly target: number;
  /** 32 lower-case hex digits; 16 bytes on the wire. */
  readonly secret: string;
  /** How long the ticket waits to be claimed, `TTL_MS_MIN` … `TTL_MS_MAX`. */
  readonly ticketTtlMs: number;
}

export interface ClaimCommand extends SequencedHead {
  readonly op: typeof OP.claim;
  readonly token: number;
  readonly secret: string;
  readonly owner: number;
}

export interface ChangeSettingCommand extends SequencedHead {
  readonly op: typeof OP.changeSetting;
  readonly name: string;
  /** `undefined`: the default. */
  readonly value: number | undefined;
}

/** Commands that attach a connection to a session; they carry no session of their own. */
export type AttachCommand = OpenCommand | ResumeCommand | TakeOverCommand;

/**
 * Commands with a sequence that nobody's session needs to give. Without one the sequence is a number
 * that the client draws by chance, and mark and acknowledged mean nothing.
 */
export type OrderCommand =
  | RevokeCommand
  | EndSessionCommand
  | SetLimitCommand
  | ChangeSettingCommand;

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
  | DetachCommand
  | ClaimCommand
  | ChangeSettingCommand;

export type SessionCommand = SequencedCommand | KeepaliveCommand | RecallCommand;
export type Command = AttachCommand | SessionCommand;

/**
 * What an attach is known by from the connection that asked to the answer: of one session, each
 * process in each of its generations counts its attempts for itself.
 */
export function attachKeyOf(command: AttachCommand): string {
  const { nonce, attempt } = command;
  if (command.op === OP.open) return `${nonce}//${attempt}`;
  const taker = command.op === OP.takeOver ? command.taker : "";
  return `${nonce}/${command.generation}/${taker}/${attempt}`;
}
