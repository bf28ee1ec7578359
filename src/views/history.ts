/** Who held a lock before, and how holds end. Pure. */
import type { END_REASON, LostTenures, Tenure } from "../protocol/index.js";
import type { Columns } from "./column.js";
import { formatDuration } from "./durations.js";
import { numberText, type Phrase } from "./phrase.js";
import { whoPhrase } from "./who.js";

const END_WORDS: Readonly<Record<keyof typeof END_REASON, string>> = {
  released: "released",
  expired: "its lease ran out",
  closed: "its client closed",
  cancelled: "cancelled",
  maxHold: "held for as long as allowed",
  revoked: "revoked",
  stolen: "stolen",
  moved: "handed over",
  unknown: "for an unknown reason",
};

/** A tenure with the name of its reason; a later version may know others. */
export interface ShownTenure extends Omit<Tenure, "reason"> {
  /** `undefined` while it is held. */
  readonly reason: string | undefined;
}

/** When it was granted comes before these; each surface writes a moment in its own way. */
export const TENURE_COLUMNS = {
  who: { id: "who", title: "Held by", cell: (tenure) => whoPhrase(tenure) },
  mode: { id: "mode", title: "Mode", cell: ({ mode }) => mode },
  waited: {
    id: "waited",
    title: "Waited",
    isNumeric: true,
    cell: ({ waitedMs }) => formatDuration(waitedMs),
  },
  for: { id: "for", title: "For", isNumeric: true, cell: ({ heldMs }) => formatDuration(heldMs) },
  end: { id: "end", title: "End", cell: endPhrase },
  token: { id: "token", title: "Token", isNumeric: true, cell: ({ token }) => String(token) },
} satisfies Columns<ShownTenure>;

/** Why a hold ended. */
export function endText(reason: string): string {
  return reason in END_WORDS ? END_WORDS[reason as keyof typeof END_WORDS] : reason;
}

/** "revoked by ops": who ordered it, if anybody did; the holder may still have released it in time. */
function endPhrase({ reason, orderedBy }: ShownTenure): Phrase {
  const end = reason === undefined ? "held" : endText(reason);
  if (orderedBy === "") return [end];
  const isOrder = reason === "revoked" || reason === "stolen";
  return [end, isOrder ? " by " : ", revoked by ", { other: orderedBy }];
}

/** What is known of the history of a key, and whether it has all that were asked for. */
export interface HistoryEnd {
  readonly key: string;
  readonly count: number;
  readonly isFull: boolean;
  readonly isTruncated: boolean;
  readonly lost: readonly LostTenures[];
}

/** What stands below the tenures of a key, in clauses: whether there may be others; if not, nothing. */
export function historyEnd(end: HistoryEnd): readonly Phrase[] {
  const { key, count, isFull, isTruncated, lost } = end;
  const damages = lost.map((gap): Phrase => [damageText(gap)]);
  if (!isTruncated) return count === 0 ? [[{ key }, " was never held"]] : [];
  if (isFull) return [["there are older ones, or there may have been"], ...damages];
  const forgotten: Phrase =
    count === 0
      ? ["nothing is known about ", { key }, "; earlier records are no longer kept"]
      : ["there may have been older ones that are no longer kept"];
  // Memory is short, and after a restart it lacks everything that is in a snapshot.
  const hint = "a node that is started with --audit keeps its history, even after restarts";
  return [forgotten, ...(lost.length === 0 ? [[hint]] : damages)];
}

function damageText({ count, after, before }: LostTenures): string {
  const [from, to] = [after, before].map(({ index, number }) => `${index}.${number}`);
  const where = `between the revisions ${from} and ${to}`;
  return count === 1
    ? `damaged: 1 record, of this key or another, ${where} is lost`
    : `damaged: up to ${numberText(count)} records ${where} are lost`;
}
