/**
 * Histories for the tests of the checker: written by hand as lines, drawn at random from schedules,
 * or made by a real object so that they are valid whatever their length.
 */
import fc from "fast-check";
import { type HistoryEvent, toEvent } from "../../../jepsen-lite/checker/index.js";
import { seededStream } from "../../../jepsen-lite/harness/seeded-stream.js";
import type { RandomStream } from "../../../lab/random-stream.js";

export type Line = readonly [
  process: number | string,
  type: "invoke" | "ok" | "fail" | "info",
  f: string,
  value?: unknown,
  more?: Readonly<Record<string, unknown>>,
];

/** `[process, type, f, value, { key, time, … }]` for each line. */
export function historyOf(lines: readonly Line[]): HistoryEvent[] {
  return lines.map(([process, type, f, value, more], position) =>
    toEvent({ process, type, f, value, ...more }, position + 1, position),
  );
}

interface Call {
  readonly f: string;
  readonly key?: string;
  readonly argument?: unknown;
  readonly result?: unknown;
}

/** What a process does next: which call, how it ends, and who moves in between. */
interface Move {
  readonly process: number;
  readonly call: Call;
  readonly end: "ok" | "fail" | "info" | "open";
}

const small = fc.integer({ min: 0, max: 2 });

const CALLS: Readonly<Record<string, fc.Arbitrary<Call>>> = {
  register: fc.oneof(
    small.map((value) => ({ f: "write", argument: value, result: value })),
    fc.option(small, { nil: null }).map((value) => ({ f: "read", result: value })),
  ),
  "cas-register": fc.oneof(
    small.map((value) => ({ f: "write", argument: value, result: value })),
    fc.option(small, { nil: null }).map((value) => ({ f: "read", result: value })),
    fc.tuple(small, small).map((pair) => ({ f: "cas", argument: pair, result: pair })),
  ),
  mutex: fc.constantFrom({ f: "acquire" }, { f: "release" }),
  kv: fc
    .record({ key: fc.constantFrom("x", "y"), text: fc.constantFrom("", "a", "b", "ab") })
    .chain(({ key, text }) =>
      fc.constantFrom<Call>(
        { f: "get", key, result: text },
        { f: "put", key, argument: text, result: text },
        { f: "append", key, argument: text, result: text },
      ),
    ),
};

const MOSTLY_ANSWERED: readonly Move["end"][] = ["ok", "ok", "ok", "ok", "fail", "info", "open"];
export const MOSTLY_UNKNOWN: readonly Move["end"][] = ["ok", "ok", "ok", "info", "info", "open"];

export interface ScheduleOptions {
  readonly movesMax: number;
  readonly processes?: number;
  /** How calls end, as often as each is listed. */
  readonly ends?: readonly Move["end"][];
}

/**
 * Any schedule of a few processes: each move begins a call, or ends the one that its process has
 * open. Answers are drawn, not computed, so that valid and invalid histories are both common.
 */
export function randomHistory(
  model: string,
  { movesMax, processes = 4, ends = MOSTLY_ANSWERED }: ScheduleOptions,
): fc.Arbitrary<HistoryEvent[]> {
  const call = CALLS[model];
  if (call === undefined) throw new RangeError(`no calls for ${model}`);
  const end = fc.constantFrom(...ends);
  const move = fc.record({ process: fc.nat({ max: processes - 1 }), call, end });
  return fc.array(move, { minLength: 1, maxLength: movesMax }).map(playMoves);
}

function playMoves(moves: readonly Move[]): HistoryEvent[] {
  const lines: Line[] = [];
  const open = new Map<number, Move>();
  const processes = new Map<number, number>();
  const finish = (slot: number, { call, end }: Move) => {
    const process = processes.get(slot) ?? slot;
    if (end === "open") processes.set(slot, process + 10);
    else lines.push([process, end, call.f, call.result, keyed(call)]);
    open.delete(slot);
  };
  for (const move of moves) {
    const running = open.get(move.process);
    if (running !== undefined) {
      finish(move.process, running);
      continue;
    }
    const process = processes.get(move.process) ?? move.process;
    lines.push([process, "invoke", move.call.f, move.call.argument, keyed(move.call)]);
    open.set(move.process, move);
  }
  for (const [slot, move] of open) finish(slot, move);
  return historyOf(lines);
}

function keyed({ key }: Call): { key?: string } {
  return key === undefined ? {} : { key };
}

/** Acquires and releases of one or two keys with drawn tokens, and losses of drawn tokens. */
export function randomLockHistory(movesMax: number): fc.Arbitrary<HistoryEvent[]> {
  const move = fc.record({
    process: fc.integer({ min: 0, max: 3 }),
    key: fc.constantFrom("a", "a", "b"),
    token: fc.integer({ min: 1, max: 4 }),
    f: fc.constantFrom("acquire", "acquire", "release", "lose"),
    released: fc.constantFrom(true, true, true, false),
    end: fc.constantFrom<"ok" | "info">("ok", "ok", "ok", "ok", "ok", "info"),
  });
  return fc.array(move, { minLength: 1, maxLength: movesMax }).map((moves) => {
    const lines: Line[] = [];
    const open = new Map<number, (typeof moves)[number]>();
    const keyOf = new Map<number, "a" | "b">();
    const told = new Set<number>();
    const finish = (running: (typeof moves)[number]) => {
      const { process, f, key, token, released, end } = running;
      const result = f === "acquire" ? { token } : { released };
      lines.push([process, end, f, end === "ok" ? result : undefined, { key }]);
      if (f === "acquire" && end === "ok") told.add(token);
      open.delete(process);
    };
    for (const next of moves) {
      const running = open.get(next.process);
      if (running !== undefined) {
        finish(running);
        continue;
      }
      const { process, f, token } = next;
      // A token lies on the key it was first seen with.
      const isFresh = f === "acquire" && next.end === "ok" && !keyOf.has(token);
      if (isFresh) keyOf.set(token, next.key);
      const key = keyOf.get(token) ?? next.key;
      if (f === "acquire" && next.end === "ok" && !isFresh) continue;
      // Nobody can use a token before anybody has received it.
      if (f !== "acquire" && !told.has(token)) continue;
      if (f === "lose") {
        lines.push([process, "info", "lost", { token }, { key }]);
        continue;
      }
      lines.push([process, "invoke", f, f === "acquire" ? {} : { token }, { key }]);
      open.set(process, { ...next, key });
    }
    for (const running of open.values()) finish(running);
    return historyOf(lines);
  });
}

export interface ValidHistoryOptions {
  readonly operations: number;
  readonly keys: number;
  readonly processes: number;
  readonly seed: number;
  /** Share of operations whose answer is lost. */
  readonly unknownShare: number;
}

/** A history of `kv`, `cas-register` or `register` over keys, valid because an object made it. */
export function validHistory(
  model: "kv" | "cas-register" | "register",
  options: ValidHistoryOptions,
): string[] {
  const random = seededStream(options.seed, model);
  const values = new Map<string, unknown>();
  const lines: string[] = [];
  const open: { process: number; finish: () => void }[] = [];
  const names = Array.from({ length: options.processes }, (_, process) => process);
  const free = [...names];
  let begun = 0;
  while (begun < options.operations || open.length > 0) {
    const isFull = free.length === 0 || begun === options.operations;
    if (isFull || (open.length > 0 && random.chance(0.5))) {
      const [done] = open.splice(random.below(open.length), 1);
      done?.finish();
      continue;
    }
    begun += 1;
    const slot = free.splice(random.below(free.length), 1)[0] as number;
    const process = names[slot] as number;
    const key = `key-${random.below(options.keys)}`;
    const call = drawCall(model, random, begun);
    lines.push(
      JSON.stringify({ process, type: "invoke", key, ...call, time: lines.length * 1000 }),
    );
    // It takes effect now or when it is answered: both are inside its interval.
    let answer = random.chance(0.5) ? perform(values, key, call) : undefined;
    const isUnknown = random.chance(options.unknownShare);
    open.push({
      process,
      finish: () => {
        if (isUnknown) {
          names[slot] = process + options.processes;
          lines.push(JSON.stringify({ process, type: "info", key, f: call.f, error: "lost" }));
        } else {
          answer ??= perform(values, key, call);
          const line = { process, key, f: call.f, ...answer, time: lines.length * 1000 };
          lines.push(JSON.stringify(line));
        }
        free.push(slot);
      },
    });
  }
  return lines;
}

function drawCall(
  model: string,
  random: RandomStream,
  number: number,
): { f: string; value?: unknown } {
  if (model === "kv") {
    const f = random.pick(["get", "get", "put", "append"]);
    return f === "get" ? { f, value: null } : { f, value: `${number};` };
  }
  const f = random.pick(model === "register" ? ["read", "write"] : ["read", "write", "cas"]);
  if (f === "read") return { f, value: null };
  return { f, value: f === "write" ? random.below(5) : [random.below(5), random.below(5)] };
}

function perform(
  values: Map<string, unknown>,
  key: string,
  { f, value }: { f: string; value?: unknown },
): { type: "ok" | "fail"; value?: unknown } {
  const old = values.get(key);
  if (f === "read") return { type: "ok", value: old ?? null };
  if (f === "get") return { type: "ok", value: old ?? "" };
  if (f === "cas") {
    const [from, to] = value as [unknown, unknown];
    if (old !== from) return { type: "fail", value };
    values.set(key, to);
    return { type: "ok", value };
  }
  values.set(key, f === "append" ? String(old ?? "") + String(value) : value);
  return { type: "ok", value };
}

/** Locks with a fair queue per key, made by a real table, with lost answers and dead holders. */
export function validLockHistory(options: ValidHistoryOptions): string[] {
  const random = seededStream(options.seed, "lock");
  const lines: string[] = [];
  const note = (line: object) => lines.push(JSON.stringify({ ...line, time: lines.length * 1000 }));
  const holders = new Map<string, { process: number; token: number }>();
  const queues = new Map<string, number[]>();
  const waitingFor = new Map<number, string>();
  const holding = new Map<number, { key: string; token: number }>();
  const idle = Array.from({ length: options.processes }, (_, process) => process);
  let token = 0;
  let begun = 0;
  let nextProcess = options.processes;
  const grantNext = (key: string) => {
    const process = queues.get(key)?.shift();
    if (process === undefined) return;
    token += 1 + random.below(3);
    holders.set(key, { process, token });
    waitingFor.delete(process);
    holding.set(process, { key, token });
    note({ process, type: "ok", f: "acquire", key, value: { token } });
  };
  const end = (process: number, key: string) => {
    holding.delete(process);
    holders.delete(key);
    grantNext(key);
  };
  while (begun < options.operations || holding.size > 0) {
    const mayBegin = begun < options.operations && idle.length > 0;
    if (mayBegin && (holding.size === 0 || random.chance(0.5))) {
      begun += 1;
      const process = idle.splice(random.below(idle.length), 1)[0] as number;
      const key = `key-${random.below(options.keys)}`;
      note({ process, type: "invoke", f: "acquire", key, value: {} });
      queues.set(key, [...(queues.get(key) ?? []), process]);
      waitingFor.set(process, key);
      if (holders.has(key)) note({ process, type: "info", f: "queued" });
      else grantNext(key);
      continue;
    }
    const [process, { key, token: held }] = random.pick([...holding.entries()]);
    if (random.chance(options.unknownShare)) {
      note({ process, type: "info", f: "lost", value: { token: held, reason: "expired" } });
      idle.push(nextProcess);
      nextProcess += 1;
      end(process, key);
      continue;
    }
    begun += 1;
    note({ process, type: "invoke", f: "release", key, value: { token: held } });
    end(process, key);
    note({ process, type: "ok", f: "release", key, value: { released: true } });
    idle.push(process);
  }
  return lines;
}
