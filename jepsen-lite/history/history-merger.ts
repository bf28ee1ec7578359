/**
 * Merges the events of many client processes into one order by time. Each client reports its own
 * events in order, so an event can be passed on when every client has reported something later, or
 * is gone. The number of waiting events is limited by how long a client can be stopped. Nothing is
 * ever dropped.
 */
import type { HistoryEvent } from "./history-event.js";

interface Source {
  /** Reported, not passed on; in order. */
  readonly waiting: HistoryEvent[];
  /** Everything up to here was reported. */
  toldUntil: number;
}

export class HistoryMerger {
  readonly #sources = new Map<string, Source>();
  readonly #pass: (event: HistoryEvent) => void;

  constructor(pass: (event: HistoryEvent) => void) {
    this.#pass = pass;
  }

  /** Events that wait until a client reports more. */
  get waitingCount(): number {
    let count = 0;
    for (const { waiting } of this.#sources.values()) count += waiting.length;
    return count;
  }

  /**
   * From now on nothing later than `time` is passed on before this source has reported something
   * later.
   */
  open(source: string, time: number): void {
    this.#sources.set(source, { waiting: [], toldUntil: time });
  }

  tell(source: string, event: HistoryEvent): void {
    const known = this.#source(source);
    // A clock is read before a line is written, but two lines of one source never swap.
    const last = known.waiting.at(-1);
    if (last !== undefined && last.time > event.time) {
      throw new RangeError(`${source} reports ${event.time} after ${last.time}`);
    }
    known.waiting.push(event);
    known.toldUntil = event.time;
    this.#flush();
  }

  mark(source: string, time: number): void {
    this.#source(source).toldUntil = time;
    this.#flush();
  }

  /** The source reports nothing more. */
  close(source: string): void {
    this.#source(source).toldUntil = Number.POSITIVE_INFINITY;
    this.#flush();
  }

  #flush(): void {
    let horizon = Number.POSITIVE_INFINITY;
    for (const { toldUntil } of this.#sources.values()) horizon = Math.min(horizon, toldUntil);
    const ready: HistoryEvent[] = [];
    for (const [name, source] of this.#sources) {
      const next = source.waiting.findIndex(({ time }) => time > horizon);
      const count = next === -1 ? source.waiting.length : next;
      if (count > 0) ready.push(...source.waiting.splice(0, count));
      const isOver = source.toldUntil === Number.POSITIVE_INFINITY && source.waiting.length === 0;
      if (isOver) this.#sources.delete(name);
    }
    if (ready.length === 0) return;
    ready.sort(byTime);
    for (const event of ready) this.#pass(event);
  }

  #source(name: string): Source {
    const source = this.#sources.get(name);
    if (source === undefined) throw new RangeError(`${name} was not opened, or is closed`);
    return source;
  }
}

/** At equal times an invocation comes first, which makes operations overlap rather than follow. */
function byTime(one: HistoryEvent, other: HistoryEvent): number {
  if (one.time !== other.time) return one.time - other.time;
  return Number(other.type === "invoke") - Number(one.type === "invoke");
}
