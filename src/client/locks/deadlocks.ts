/**
 * Explains a cycle of waits, by asking the cluster after a task was refused. The refusal itself has
 * numbers and names; this adds what is held since when and under which value, and the metadata of
 * the sessions. It looks at the current state, so holds that have ended meanwhile are missing.
 */
import { HoldfastError } from "../../errors/index.js";
import type {
  ClaimMode,
  HoldView,
  KeyView,
  SessionsView,
  SessionView,
  WaiterView,
} from "../../protocol/index.js";
import { quotedKey } from "../../text/index.js";
import { taskText } from "../failures.js";
import type { DeadlockedTask } from "./call-sites.js";

/** One task of a deadlock, as far as the cluster still knows it. */
export interface DeadlockMember extends DeadlockedTask {
  /** `undefined` if the session has ended. */
  readonly metadata: string | undefined;
  /** The hold, or the place in the queue, for which the previous task waits. */
  readonly blocksBy: DeadlockBlocker | undefined;
}

/** What one task of a deadlock holds or waits for, in the way of another. */
export interface DeadlockBlocker {
  readonly key: string;
  readonly mode: ClaimMode;
  /** The fencing token; 0 if it waits too, ahead of the other. */
  readonly token: number;
  /** How long it has held or waited. Milliseconds of cluster time. */
  readonly sinceMs: number;
  /** The value of the hold; "" if it waits. */
  readonly value: string;
}

/** A cycle of waits, as `explainDeadlock` found it. */
export interface Deadlock {
  /** Each waits for the next, the last for the first, which is the one that was refused. */
  readonly members: readonly DeadlockMember[];
  /** The same as text for people and logs, one fact per line. */
  readonly text: string;
}

/** How the cluster is asked. */
export interface DeadlockQuestions {
  inspect(key: string): Promise<KeyView>;
  /** One page of sessions. It begins with the one of that number, if it lives. */
  sessionsFrom(session: number): Promise<SessionsView>;
}

export async function explainDeadlock(
  error: unknown,
  questions: DeadlockQuestions,
): Promise<Deadlock> {
  const cycle = cycleOf(error);
  const keys = new Set(cycle.map(({ key }) => key));
  const numbers = new Set(cycle.map(({ session }) => session));
  const [views, sessions] = await Promise.all([
    Promise.all([...keys].map((key) => questions.inspect(key))),
    Promise.all([...numbers].map((number) => sessionOf(number, questions))),
  ]);
  const viewOf = new Map(views.map((view) => [view.key, view]));
  const found = new Map(sessions.flatMap((each) => (each ? [[each.session, each] as const] : [])));
  const members = cycle.map((task, at): DeadlockMember => {
    const before = cycle[(at + cycle.length - 1) % cycle.length] ?? task;
    const view = viewOf.get(before.key);
    return {
      ...task,
      metadata: found.get(task.session)?.metadata,
      blocksBy: view === undefined ? undefined : blockerOf(task, view),
    };
  });
  return { members, text: textOf(members) };
}

function cycleOf(error: unknown): readonly DeadlockedTask[] {
  const isDeadlock = error instanceof HoldfastError && error.code === "DEADLOCK";
  const cycle = isDeadlock ? error.details["cycle"] : undefined;
  if (!Array.isArray(cycle)) throw new TypeError("error must be a HoldfastError DEADLOCK");
  return cycle as readonly DeadlockedTask[];
}

async function sessionOf(
  number: number,
  questions: DeadlockQuestions,
): Promise<SessionView | undefined> {
  const [first] = (await questions.sessionsFrom(number)).sessions;
  return first?.session === number ? first : undefined;
}

function blockerOf(member: DeadlockedTask, view: KeyView): DeadlockBlocker | undefined {
  const { key } = view;
  const isTheirs = ({ session, task }: HoldView | WaiterView): boolean => {
    return session === member.session && task === member.task;
  };
  const hold = view.holds.find(isTheirs);
  if (hold !== undefined) {
    const { mode, token, heldMs, value } = hold;
    return { key, mode, token, sinceMs: heldMs, value };
  }
  const waiter = view.waiters.find(isTheirs);
  if (waiter === undefined) return undefined;
  return { key, mode: waiter.mode, token: 0, sinceMs: waiter.waitingMs, value: "" };
}

function textOf(members: readonly DeadlockMember[]): string {
  const lines = [`deadlock of ${members.length} ${members.length === 1 ? "task" : "tasks"}`];
  for (const [at, member] of members.entries()) {
    const next = members[(at + 1) % members.length] ?? member;
    const { metadata, blocksBy, waitsAt, blocksAt } = member;
    const about = metadata === undefined || metadata === "" ? "" : `, ${quote(metadata)}`;
    lines.push(`- ${taskText(member)} (session ${member.session}${about})`);
    if (blocksBy !== undefined) lines.push(`  ${blockerText(blocksBy)}`, ...stackLines(blocksAt));
    lines.push(`  waits in ${quotedKey(member.key)} (${member.mode}) for ${taskText(next)}`);
    lines.push(...stackLines(waitsAt));
  }
  return lines.join("\n");
}

function blockerText({ key, mode, token, sinceMs, value }: DeadlockBlocker): string {
  const how = token === 0 ? "waits" : "holds";
  const valueText = value === "" ? "" : `, value ${quote(value)}`;
  return `${how} ${quotedKey(key)} (${mode}) for ${Math.round(sinceMs)} ms${valueText}`;
}

function stackLines(stack: string | undefined): string[] {
  return stack === undefined ? [] : stack.split("\n").map((line) => `  ${line}`);
}

function quote(text: string): string {
  return JSON.stringify(text);
}
