/**
 * The vitals of a member as the text that it sends to another one. A member may be of another version
 * or broken, so a text counts only if each field has its type and its bounds; what is not a field of
 * the view is dropped. Must never let a value through to clients that this file does not name. Pure.
 */
import {
  AUDIT_STATES,
  NODE_ROLES,
  VITALS_EVENT_CHARACTERS_MAX,
  VITALS_EVENTS_MAX,
  VITALS_POINTS_MAX,
  VITALS_TEXT_BYTES_MAX,
  type VitalsEvent,
  type VitalsPeer,
  type VitalsPoint,
  type VitalsView,
  WALL_MS_MAX,
} from "../../protocol/index.js";

const PEERS_MAX = 64;
const WORD_CHARACTERS_MAX = 64;
const ENDPOINT_CHARACTERS_MAX = 2_048;

/** The value that counts; `undefined`: it is not one. */
type Reader = (value: unknown) => unknown;
type Shape<T> = { readonly [Field in keyof T]: Reader };

const count: Reader = (value) => (isNumber(value) && Number.isInteger(value) ? value : undefined);
const number: Reader = (value) => (isNumber(value) ? value : undefined);
const numberOrNull: Reader = (value) => (value === null ? null : number(value));
const wallMs: Reader = (value) => (isNumber(value) && value <= WALL_MS_MAX ? value : undefined);
const wallMsOrNull: Reader = (value) => (value === null ? null : wallMs(value));
const flag: Reader = (value) => (typeof value === "boolean" ? value : undefined);

const POINT: Shape<VitalsPoint> = {
  wallMs,
  grants: count,
  waits: count,
  failures: count,
  lost: count,
  commitP50Ms: numberOrNull,
  commitP99Ms: numberOrNull,
  waitP50Ms: numberOrNull,
  waitP99Ms: numberOrNull,
  loopDelayMaxMs: number,
};

const EVENT: Shape<VitalsEvent> = {
  wallMs,
  kind: text(WORD_CHARACTERS_MAX),
  text: text(VITALS_EVENT_CHARACTERS_MAX),
};

const PEER: Shape<VitalsPeer> = {
  node: count,
  endpoint: text(ENDPOINT_CHARACTERS_MAX),
  isVoter: flag,
  isConnected: flag,
  heardWallMs: wallMsOrNull,
  roundTripMs: numberOrNull,
  matchIndex: numberOrNull,
};

const VIEW: Shape<VitalsView> = {
  node: count,
  version: text(WORD_CHARACTERS_MAX),
  modelVersion: count,
  startedWallMs: wallMs,
  wallMs,
  role: oneOf(NODE_ROLES),
  term: count,
  leader: count,
  commitIndex: count,
  appliedIndex: count,
  hasQuorumContact: flag,
  isDiskFull: flag,
  isMemoryScarce: flag,
  isDraining: flag,
  isOpen: flag,
  loopDelayMaxMs: number,
  logSyncP99Ms: numberOrNull,
  connections: count,
  watches: count,
  sessions: count,
  keys: count,
  holds: count,
  waiters: count,
  deadlocks: count,
  possibleDeadlocks: count,
  auditState: oneOf(AUDIT_STATES),
  certificateEndsWallMs: wallMsOrNull,
  peers: listOf(PEER, PEERS_MAX),
  points: listOf(POINT, VITALS_POINTS_MAX),
  events: listOf(EVENT, VITALS_EVENTS_MAX),
};

/** Whatever the node measured, it fits the message. */
export function vitalsText(view: VitalsView): string {
  const text = JSON.stringify(view);
  if (Buffer.byteLength(text) <= VITALS_TEXT_BYTES_MAX) return text;
  return JSON.stringify({ ...view, points: [], events: [] });
}

/** `undefined` if the text is not the vitals of that node. */
export function vitalsIn(text: string, node: number): VitalsView | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  const view = read(VIEW, value);
  return view?.node === node ? view : undefined;
}

function read<T>(shape: Shape<T>, value: unknown): T | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const result: Record<string, unknown> = {};
  for (const [field, reader] of Object.entries<Reader>(shape)) {
    const own = Object.hasOwn(value, field) ? (value as Record<string, unknown>)[field] : undefined;
    result[field] = reader(own);
    if (result[field] === undefined) return undefined;
  }
  return result as T;
}

function isNumber(value: unknown): value is number {
  return (
    typeof value === "number" &&
    Number.isFinite(value) &&
    value >= 0 &&
    value <= Number.MAX_SAFE_INTEGER
  );
}

function text(charactersMax: number): Reader {
  return (value) =>
    typeof value === "string" && value.length <= charactersMax ? value : undefined;
}

function oneOf(words: readonly string[]): Reader {
  return (value) => (words.includes(value as string) ? value : undefined);
}

function listOf<T>(shape: Shape<T>, max: number): Reader {
  return (value) => {
    if (!Array.isArray(value) || value.length > max) return undefined;
    const items = value.map((item) => read(shape, item));
    return items.includes(undefined) ? undefined : items;
  };
}
