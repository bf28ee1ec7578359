/**
 * Who held what when, as the clients themselves saw it: from the grant until they gave it back or
 * lost it, with the deadline up to which they were certain. For the ownership chart.
 */
import type { HistoryEvent } from "../history/history-event.js";
import { KeptSample } from "./kept-sample.js";

const NANOSECONDS = 1_000_000;
const HOLDS_MAX = 3_000;
/** More keys than this cannot be read off a chart. */
const KEYS_MAX = 24;

export interface DrawnHold {
  readonly key: string;
  readonly process: number;
  readonly token: number;
  readonly mode: string;
  readonly startMs: number;
  readonly endMs: number;
  /** The client's last word on how long it was certain. */
  readonly untilMs: number;
  readonly end: "released" | "lost" | "unknown" | "held";
}

interface OpenHold {
  readonly key: string;
  readonly process: number;
  readonly session: number | undefined;
  readonly token: number;
  readonly mode: string;
  readonly startMs: number;
  untilMs: number;
}

type Fields = Readonly<Record<string, unknown>>;

export class HoldChart {
  readonly #kept = new KeptSample<DrawnHold>(HOLDS_MAX, lengthOf);
  readonly #keys = new Set<string>();
  /** By token. */
  readonly #open = new Map<number, OpenHold>();
  /** What each process asked for, until it is told. */
  readonly #asked = new Map<string, HistoryEvent>();

  get keys(): readonly string[] {
    return [...this.#keys].sort();
  }

  get offered(): number {
    return this.#kept.offered;
  }

  /** With what is still held; `endMs`: the end of the run. */
  view(endMs: number): DrawnHold[] {
    const open = [...this.#open.values()].map((hold) => drawn(hold, endMs, "held"));
    return [...this.#kept.items, ...open].sort((one, other) => one.startMs - other.startMs);
  }

  event(event: HistoryEvent, timeMs: number): void {
    const value = (event.value ?? {}) as Fields;
    const asker = `${event.process} ${event.workload}`;
    switch (`${event.type} ${event.f}`) {
      case "invoke acquire":
        this.#asked.set(asker, event);
        break;
      case "ok acquire":
        this.#grant(this.#asked.get(asker), event, value, timeMs);
        break;
      case "invoke release":
        this.#end(value["token"], timeMs, "released");
        break;
      case "ok upgrade":
        this.#rename(event, value, timeMs);
        break;
      case "info lost":
        this.#end(value["token"], timeMs, "lost");
        break;
      case "info renewed":
        this.#renew(event.session, value["untilNs"]);
        break;
      case "info crash":
      case "invoke close":
        this.#endAll(event.session, timeMs);
        break;
    }
  }

  #grant(
    asked: HistoryEvent | undefined,
    event: HistoryEvent,
    value: Fields,
    timeMs: number,
  ): void {
    const { token, untilNs } = value;
    if (asked === undefined || typeof token !== "number" || this.#open.has(token)) return;
    const wish = (asked.value ?? {}) as Fields;
    const [item] = (wish["items"] ?? []) as readonly { readonly key: string }[];
    const key = asked.key ?? item?.key;
    if (key === undefined) return;
    if (!this.#keys.has(key) && this.#keys.size >= KEYS_MAX) return;
    this.#keys.add(key);
    const mode = wish["permits"] === undefined ? String(wish["mode"] ?? "exclusive") : "permits";
    const untilMs = typeof untilNs === "number" ? untilNs / NANOSECONDS : timeMs;
    const { session } = event;
    const process = Number(event.process);
    this.#open.set(token, { key, process, session, token, mode, startMs: timeMs, untilMs });
  }

  #rename(event: HistoryEvent, value: Fields, timeMs: number): void {
    const { token } = value;
    const before = [...this.#open.values()].find(
      (hold) => hold.process === event.process && hold.key === event.key,
    );
    if (before === undefined || typeof token !== "number") return;
    this.#end(before.token, timeMs, "released");
    this.#open.set(token, { ...before, token, mode: "exclusive", startMs: timeMs });
  }

  #renew(session: number | undefined, untilNs: unknown): void {
    if (typeof untilNs !== "number") return;
    for (const hold of this.#open.values()) {
      if (hold.session === session) hold.untilMs = untilNs / NANOSECONDS;
    }
  }

  #end(token: unknown, timeMs: number, end: DrawnHold["end"]): void {
    const hold = typeof token === "number" ? this.#open.get(token) : undefined;
    if (hold === undefined) return;
    this.#open.delete(hold.token);
    this.#kept.add(drawn(hold, timeMs, end));
  }

  #endAll(session: number | undefined, timeMs: number): void {
    for (const hold of this.#open.values()) {
      if (hold.session === session) this.#end(hold.token, timeMs, "unknown");
    }
  }
}

function drawn(hold: OpenHold, endMs: number, end: DrawnHold["end"]): DrawnHold {
  const { key, process, token, mode, startMs, untilMs } = hold;
  return { key, process, token, mode, startMs, endMs, untilMs, end };
}

function lengthOf({ startMs, endMs }: DrawnHold): number {
  return endMs - startMs;
}
