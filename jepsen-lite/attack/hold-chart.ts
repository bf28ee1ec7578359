/**
 * Who held what and when, as the clients themselves saw it: from the grant until they released or
 * lost it, with the deadline up to which they were certain. For the rows of holds in the report.
 */
import type { HistoryEvent } from "../history/history-event.js";
import { KeptSample } from "./kept-sample.js";

const NANOSECONDS = 1_000_000;
const HOLDS_MAX = 3_000;
/** More keys than this make a chart unreadable. */
const KEYS_MAX = 24;

export interface DrawnHold {
  readonly key: string;
  readonly process: number;
  readonly token: number;
  readonly mode: string;
  readonly startMs: number;
  readonly endMs: number;
  /** Until when the client was certain, by its last report. */
  readonly untilMs: number;
  readonly end: "released" | "lost" | "unknown" | "held";
}

interface OpenHold {
  readonly key: string;
  readonly process: number;
  readonly session: string;
  readonly token: number;
  readonly mode: string;
  readonly startMs: number;
  untilMs: number;
}

type Fields = Readonly<Record<string, unknown>>;

export class HoldChart {
  readonly #kept = new KeptSample<DrawnHold>(HOLDS_MAX, lengthOf);
  readonly #keys = new Set<string>();
  /** By process and token: a faulty system may have granted one token twice. */
  readonly #open = new Map<string, OpenHold>();
  /** The request of each process, until it has its answer. */
  readonly #asked = new Map<string, HistoryEvent>();

  get keys(): readonly string[] {
    return [...this.#keys].sort();
  }

  get offered(): number {
    return this.#kept.offered;
  }

  /** Including what is still held; `endMs`: the end of the run. */
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
        this.#end(event.process, value["token"], timeMs, "released");
        break;
      case "ok upgrade":
        this.#rename(event, value, timeMs);
        break;
      case "info lost":
        this.#end(event.process, value["token"], timeMs, "lost");
        break;
      case "info renewed":
        this.#renew(sessionOf(event), value["untilNs"]);
        break;
      case "info crash":
      case "invoke close":
        this.#endAll(sessionOf(event), timeMs);
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
    if (asked === undefined || typeof token !== "number") return;
    const process = Number(event.process);
    if (this.#open.has(`${process} ${token}`)) return;
    const wish = (asked.value ?? {}) as Fields;
    const [item] = (wish["items"] ?? []) as readonly { readonly key: string }[];
    const key = asked.key ?? item?.key;
    if (key === undefined) return;
    if (!this.#keys.has(key) && this.#keys.size >= KEYS_MAX) return;
    this.#keys.add(key);
    const mode = wish["permits"] === undefined ? String(wish["mode"] ?? "exclusive") : "permits";
    const untilMs = typeof untilNs === "number" ? untilNs / NANOSECONDS : timeMs;
    const session = sessionOf(event);
    const hold = { key, process, session, token, mode, startMs: timeMs, untilMs };
    this.#open.set(`${process} ${token}`, hold);
  }

  #rename(event: HistoryEvent, value: Fields, timeMs: number): void {
    const { token } = value;
    const before = [...this.#open.values()].find(
      (hold) => hold.process === event.process && hold.key === event.key,
    );
    if (before === undefined || typeof token !== "number") return;
    this.#end(before.process, before.token, timeMs, "released");
    this.#open.set(`${before.process} ${token}`, {
      ...before,
      token,
      mode: "exclusive",
      startMs: timeMs,
    });
  }

  #renew(session: string, untilNs: unknown): void {
    if (typeof untilNs !== "number") return;
    for (const hold of this.#open.values()) {
      if (hold.session === session) hold.untilMs = untilNs / NANOSECONDS;
    }
  }

  #end(
    process: HistoryEvent["process"],
    token: unknown,
    timeMs: number,
    end: DrawnHold["end"],
  ): void {
    const name = `${process} ${token}`;
    const hold = this.#open.get(name);
    if (hold === undefined) return;
    this.#open.delete(name);
    this.#kept.add(drawn(hold, timeMs, end));
  }

  #endAll(session: string, timeMs: number): void {
    for (const hold of this.#open.values()) {
      if (hold.session === session) this.#end(hold.process, hold.token, timeMs, "unknown");
    }
  }
}

/** Without sessions, each process is its own session. */
function sessionOf({ session, process }: HistoryEvent): string {
  return session === undefined ? `process ${process}` : String(session);
}

function drawn(hold: OpenHold, endMs: number, end: DrawnHold["end"]): DrawnHold {
  const { key, process, token, mode, startMs, untilMs } = hold;
  return { key, process, token, mode, startMs, endMs, untilMs, end };
}

function lengthOf({ startMs, endMs }: DrawnHold): number {
  return endMs - startMs;
}
