/** What a snapshot says of the work queue and of deferred searches: as they were at its moment. */
import { Key } from "../records/key.js";
import type { Order } from "../records/request.js";
import type { TableState } from "../records/state.js";
import { orderOf } from "../records/waiting-queue.js";
import { KIND } from "./format.js";

export type WorkRecord =
  | {
      readonly kind: typeof KIND.workKey;
      readonly name: string;
      /** The number of the first request that was not reached; 0: all were. */
      readonly frontier: number;
      readonly evictFrom: Order | undefined;
    }
  | { readonly kind: typeof KIND.workSession; readonly session: number }
  | {
      readonly kind: typeof KIND.workRequest;
      readonly session: number;
      readonly sequence: number;
    };

/** In order. */
export function recordWork(state: TableState): WorkRecord[] {
  const records: WorkRecord[] = [];
  state.work.forEach((item) => {
    if (item instanceof Key) {
      const { name, frontier: place, semaphore } = item;
      const frontier = place === undefined ? 0 : orderOf(place).number;
      const evictFrom = semaphore?.evictFrom;
      records.push({ kind: KIND.workKey, name, frontier, evictFrom });
    } else records.push({ kind: KIND.workSession, session: item.id });
  });
  state.searches.forEach(({ session, sequence }) => {
    records.push({ kind: KIND.workRequest, session: session.id, sequence });
  });
  return records;
}
