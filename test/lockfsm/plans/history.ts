/**
 * Random histories for properties: a plan's commands, one in each entry, so that every position of the
 * log is looked at; with what was said in it and what was shown before and after it.
 */
import fc from "fast-check";
import { LockTable, type TableEntry, type TableSettings } from "../../../src/lockfsm/index.js";
import { TableState } from "../../../src/lockfsm/records/state.js";
import {
  type HoldView,
  type KeyView,
  type Lost,
  MESSAGE,
  OP,
  type Outcome,
  type RecalledSequence,
  type Reply,
  type SessionMessage,
} from "../../../src/protocol/index.js";
import { runsOf } from "../../runs.js";
import { type Action, KEYS, plan, settings, type Turn } from "./plans.js";
import { Clients } from "./plans-clients.js";
import { Recording, type Said } from "./recording.js";

export interface Step {
  readonly entry: TableEntry;
  readonly said: readonly Said[];
  readonly before: readonly KeyView[];
  readonly after: readonly KeyView[];
}

export const NUM_RUNS = runsOf(15);

/** Runs a plan with one command per entry, so that every position of the log is looked at. */
export function run(
  limits: TableSettings,
  turns: readonly Turn[],
  nextToken = 0,
): { table: LockTable; steps: Step[] } {
  const table = LockTable.of(new TableState(limits, nextToken));
  const clients = new Clients();
  const steps: Step[] = [];
  const view = () => KEYS.map((key) => table.inspect(key));
  for (const { elapsedMs, actions } of turns) {
    const singles = actions.flatMap(apart).map((one) => ({ elapsedMs: 0, actions: [one] }));
    for (const turn of [{ elapsedMs, actions: [] }, ...singles]) {
      const entry = clients.entryOf(turn);
      const before = view();
      const outbox = new Recording(clients);
      table.apply(entry, outbox);
      steps.push({ entry, said: outbox.said, before, after: view() });
    }
  }
  return { table, steps };
}

/** Several copies are several commands. */
function apart(action: Action): Action[] {
  if (action.kind !== "copy") return [action];
  const { back, count } = action;
  const backs = Array.from({ length: Math.min(count, back + 1) }, (_, at) => back - at);
  return backs.map((one) => ({ ...action, back: one, count: 1 }));
}

export function holds(
  limits: TableSettings,
  turns: readonly Turn[],
  check: (step: Step) => void,
): void {
  for (const step of run(limits, turns).steps) check(step);
}

export function check(property: (limits: TableSettings, turns: readonly Turn[]) => void): void {
  fc.assert(fc.property(settings, plan, property), { numRuns: NUM_RUNS });
}

export const heldBy = (views: readonly KeyView[]): HoldView[] =>
  views.flatMap((view) => view.holds);

/** Whether it reports how one number went. */
export function isOfOne(message: SessionMessage): message is Reply | Outcome | Lost {
  const { kind } = message;
  return kind === MESSAGE.reply || kind === MESSAGE.outcome || kind === MESSAGE.lost;
}

/** What the table says of each number of a session up to `last`. */
export function recallAll(
  table: LockTable,
  index: number,
  session: number,
  epoch: number,
  last: number,
): readonly RecalledSequence[] {
  const sequences = Array.from({ length: last + 1 }, (_, sequence) => sequence);
  const command = { op: OP.recall, number: 1, mark: 0, acknowledged: [], sequences } as const;
  const outbox = new Recording();
  const commands = [{ session, epoch, command }];
  table.apply({ index, stamp: table.stamp, wallMs: 0, commands }, outbox);
  for (const one of outbox.said) {
    if ("message" in one && one.message.kind === MESSAGE.recalled) return one.message.sequences;
  }
  throw new Error(`session ${session} is not told`);
}
