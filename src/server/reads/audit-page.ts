/**
 * A page of the audit of a node, newest first: the records that fit a filter. The work for one page
 * is bounded, so a page may be empty although there are more. Damage is skipped and counted.
 */
import {
  type AuditEntry,
  type AuditKind,
  type AuditPage,
  type AuditPlace,
  END_REASON,
  type Tenure,
} from "../../protocol/index.js";
import type { AuditRecord, AuditStore, StoredBlock } from "../../storage/index.js";
import { decodeAction } from "./action-record.js";
import { decodeTenure } from "./tenures.js";

export interface AuditFilter {
  /** Only about this key, or about keys that begin so; `undefined`: about anything. */
  readonly key?: string | undefined;
  readonly isPrefix?: boolean | undefined;
  readonly identity?: string | undefined;
  readonly kind?: AuditKind | undefined;
  /** Wall times, both included. */
  readonly sinceWallMs?: number | undefined;
  readonly untilWallMs?: number | undefined;
}

/** Records and blocks that one page looks at. */
const LOOKS_MAX = 2_048;
/** By how much the clocks of two leaders may differ before a search by time misses something. */
const CLOCK_SLACK_MS = 60_000;

const REASON_NAMES: ReadonlyMap<number, string> = new Map(
  Object.entries(END_REASON).map(([name, reason]) => [reason, name]),
);

/** @param before where the page begins, excluded; `undefined`: with the newest */
export async function readAuditPage(
  store: AuditStore,
  filter: AuditFilter,
  limit: number,
  before: AuditPlace | undefined,
): Promise<AuditPage> {
  const { head, trimmed } = store;
  const headText = head.number === 0 ? "" : `${head.number}:${head.digest}`;
  const entries: AuditEntry[] = [];
  const from = Math.min(before?.block ?? head.number, head.number);
  let looks = 0;
  let lost = 0;
  for await (const { block } of store.blocks(from, trimmed.number + 1, -1)) {
    const { number, places } = block;
    looks += 1;
    if (isTooOld(block, filter)) break;
    let at = number === before?.block ? Math.min(before.at, places.length) : places.length;
    if (isTooNew(block, filter)) at = 0;
    for (at -= 1; at >= 0; at -= 1) {
      const place = places[at];
      const record = place === undefined ? undefined : await store.recordAt(place);
      const entry = record === undefined ? undefined : entryOf(block, at, record);
      looks += 1;
      if (entry === undefined) lost += 1;
      else if (fits(entry, filter)) entries.push(entry);
      if (entries.length === limit || looks >= LOOKS_MAX)
        return { entries, next: { block: number, at }, lost, head: headText };
    }
    if (looks >= LOOKS_MAX)
      return { entries, next: { block: number, at: 0 }, lost, head: headText };
  }
  return { entries, next: null, lost, head: headText };
}

function isTooOld(
  { newestWallMs, places }: StoredBlock["block"],
  { sinceWallMs = 0 }: AuditFilter,
): boolean {
  return places.length > 0 && newestWallMs < sinceWallMs - CLOCK_SLACK_MS;
}

function isTooNew({ oldestWallMs }: StoredBlock["block"], { untilWallMs }: AuditFilter): boolean {
  return untilWallMs !== undefined && oldestWallMs > untilWallMs;
}

function fits(entry: AuditEntry, filter: AuditFilter): boolean {
  const { key, isPrefix, identity, kind, sinceWallMs = 0 } = filter;
  const { untilWallMs = Number.POSITIVE_INFINITY } = filter;
  if (kind !== undefined && entry.kind !== kind) return false;
  if (identity !== undefined && entry.identity !== identity) return false;
  if (entry.wallMs < sinceWallMs || entry.wallMs > untilWallMs) return false;
  if (key === undefined) return true;
  return isPrefix === true ? entry.key.startsWith(key) && entry.key !== "" : entry.key === key;
}

/** `undefined` for a record that cannot be read. */
function entryOf(
  { number, firstRecord }: StoredBlock["block"],
  at: number,
  { index, endedWallMs, lockKey, body }: AuditRecord,
): AuditEntry | undefined {
  const of = { block: number, at, record: firstRecord + at, index, wallMs: endedWallMs };
  try {
    if (lockKey === "") return { ...of, ...decodeAction(body) };
    return { ...of, ...heldBy(decodeTenure(lockKey, body)) };
  } catch {
    return undefined;
  }
}

type HoldEntry = Omit<AuditEntry, "block" | "at" | "record" | "index" | "wallMs">;

function heldBy(tenure: Tenure): HoldEntry {
  const { key, identity, reason, mode, token, session, sessionName, task } = tenure;
  const { holder, grantedWallMs, heldMs, orderedBy } = tenure;
  return {
    ...{ kind: "hold", identity, credential: "", address: "", what: "held", key },
    outcome: REASON_NAMES.get(reason ?? END_REASON.unknown) ?? "unknown",
    details: { mode, token, session, sessionName, task, holder, grantedWallMs, heldMs, orderedBy },
  };
}
