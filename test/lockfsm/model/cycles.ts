/**
 * Deadlocks by brute force (semantics.md, 7): the waits of everybody, all tasks of the table, and a
 * reduction over all of them. Nothing is searched from one task and nothing is skipped.
 */
import type { CycleMember } from "../../../src/protocol/index.js";
import { conflicts, holdsIn, isAdmitted, queueOf, requestsAhead } from "./claims.js";
import {
  isBefore,
  isSameTask,
  itemIn,
  type ModelItem,
  type ModelRequest,
  type ModelTask,
  type NamedCycle,
} from "./records.js";
import { may } from "./rights.js";
import type { Model } from "./state.js";

/** One key in which a request waits. */
interface ModelWait {
  readonly request: ModelRequest;
  readonly item: ModelItem;
  readonly holders: readonly (ModelTask & { readonly permits: number })[];
  readonly ahead: readonly ModelTask[];
}

/**
 * Who waits for whom. A request waits for all who hold the key, not just for those with whom it
 * conflicts, and for the listed requests ahead up to the last one that conflicts. The one that is
 * asked about counts as listed. Nobody waits for the hold of an owner, a cooldown or what is due: they end
 * by themselves.
 */
export function waitsOf(model: Model, asked?: ModelRequest): ModelWait[] {
  const inArrivalOrder = [...model.requests].sort((left, right) => left.number - right.number);
  return inArrivalOrder
    .filter((request) => !model.isOver(request))
    .flatMap((request) =>
      request.items
        .filter((item) => isKeptBack(model, request, item))
        .map((item) => waitIn(model, request, item, asked)),
    );
}

/** By what is held, cooldowns and holds of owners too, or by somebody ahead who will not go by itself. */
function isKeptBack(model: Model, request: ModelRequest, item: ModelItem): boolean {
  if (!isAdmitted(model, item, request.upgrades)) return true;
  const before = staying(model, request, item.key);
  return before.some((other) => conflicts(item, itemIn(other, item.key) as ModelItem));
}

function waitIn(
  model: Model,
  request: ModelRequest,
  item: ModelItem,
  asked: ModelRequest | undefined,
): ModelWait {
  const holders = holdsIn(model, item.key).flatMap((hold) => {
    const { session, task } = hold;
    if (hold === request.upgrades || session === undefined || model.isOver(hold)) return [];
    return [{ session, task, permits: itemIn(hold, item.key)?.permits ?? 0 }];
  });
  const before = staying(model, request, item.key);
  const isInTheWay = before.map((other) => conflicts(item, itemIn(other, item.key) as ModelItem));
  const ahead = before
    .slice(0, isInTheWay.lastIndexOf(true) + 1)
    .filter((other) => other === asked || isListed(model, other))
    .map(({ session, task, take }) => ({ session, task, take }));
  return { request, item, holders, ahead };
}

/** Who is ahead and will not go by itself. */
function staying(model: Model, request: ModelRequest, key: string): ModelRequest[] {
  return requestsAhead(model, request, key).filter((other) => !model.isOver(other));
}

/** Its task holds something or has another request, or it has several keys. */
function isListed(model: Model, request: ModelRequest): boolean {
  if (request.items.length > 1) return true;
  if (request.take !== undefined) return false;
  const others = [...model.holds, ...model.requests.filter(({ take }) => take === undefined)];
  return others.some(
    (claim) =>
      claim !== request && claim.session === request.session && claim.task === request.task,
  );
}

/**
 * The waits that nothing will ever end: tasks that could go on are taken out, again and again. A
 * task goes as a whole, when nothing that it asked for is blocked any more.
 */
function deadWaits(model: Model, asked?: ModelRequest): ModelWait[] {
  const waits = waitsOf(model, asked);
  let stuck: ModelTask[] = waits.map(({ request }) => request);
  for (;;) {
    const isStuck = (task: ModelTask) => stuck.some((other) => isSameTask(other, task));
    const blocked = waits.filter((wait) => isBlocked(model, wait, isStuck));
    const left = stuck.filter((task) => blocked.some(({ request }) => isSameTask(request, task)));
    if (left.length === stuck.length) {
      return blocked.map((wait) => ({
        ...wait,
        holders: isShort(model, wait, isStuck) ? wait.holders.filter(isStuck) : [],
        ahead: wait.ahead.filter(isStuck),
      }));
    }
    stuck = left;
  }
}

/** Whether it goes on waiting when everybody who is not stuck has gone. */
function isBlocked(model: Model, wait: ModelWait, isStuck: (task: ModelTask) => boolean) {
  return wait.ahead.some(isStuck) || isShort(model, wait, isStuck);
}

/** Whether it waits for holders: of permits, only when too few come back. */
function isShort(
  model: Model,
  { request, item, holders }: ModelWait,
  isStuck: (task: ModelTask) => boolean,
): boolean {
  if (item.mode !== "permits") return holders.some(isStuck);
  const held = holders.filter(isStuck).reduce((sum, { permits }) => sum + permits, 0);
  // All who wait before it have to be served first.
  const before = staying(model, request, item.key);
  const wanted = before.map((other) => itemIn(other, item.key)?.permits ?? 0);
  const limit = model.semaphoreOf(item.key)?.limit ?? 0;
  return held + Math.max(item.permits, ...wanted) > limit;
}

/** Whether a task can be reached from itself. */
export function isOnCycle(model: Model, start: ModelTask, asked?: ModelRequest): boolean {
  return reaches(deadWaits(model, asked), start);
}

/** The same through requests alone that may be refused. */
export function isOnWillingCycle(model: Model, start: ModelTask, asked: ModelRequest): boolean {
  return reaches(
    deadWaits(model, asked).filter(({ request }) => request.detects),
    start,
  );
}

function reaches(waits: readonly ModelWait[], start: ModelTask): boolean {
  const found: ModelTask[] = [];
  const line = [start];
  for (const task of line) {
    for (const { request, holders, ahead } of waits) {
      if (!isSameTask(request, task)) continue;
      for (const next of [...holders, ...ahead]) {
        if (found.some((other) => isSameTask(other, next))) continue;
        found.push(next);
        line.push(next);
      }
    }
  }
  return found.some((task) => isSameTask(task, start));
}

/**
 * Any of several cycles may be named. So the model takes the table's word for which, after it has
 * found that there is one, and sees for itself that this is one: through `start`, each waiting for the
 * next among those that wait forever.
 */
export function isCycle(
  model: Model,
  named: NamedCycle,
  start: ModelTask,
  asked: ModelRequest,
): boolean {
  const waits = deadWaits(model, asked);
  return meantBy(model, named, waits).some(
    (cycle) =>
      cycle.some((member) => isMember(member, start)) &&
      cycle.every((member, at) => {
        const next = cycle[(at + 1) % cycle.length] as CycleMember;
        return waitsAs(waits, member).some(({ holders, ahead }) =>
          [...holders, ...ahead].some((task) => isMember(next, task)),
        );
      }),
  );
}

/**
 * The cycles that may be meant: of a member in a key that the reader may not observe, only the
 * mode is named. Of all others everything is.
 */
function meantBy(
  model: Model,
  { session: told, cycle }: NamedCycle,
  waits: readonly ModelWait[],
): CycleMember[][] {
  const identity = model.sessions.find(({ id }) => id === told)?.identity;
  const maySee = (key: string) => identity !== undefined && may(identity, "observe", key);
  let meant: CycleMember[][] = [[]];
  for (const member of cycle) {
    const hidden = waits
      .filter(({ item }) => item.mode === member.mode && !maySee(item.key))
      .map(({ request, item: { key, mode } }) => ({ ...shown(request), key, mode }));
    const isNoSession = member.session === 0 && member.sessionName === "" && member.task === 0;
    const isBlank = isNoSession && member.identity === "";
    const possible = isBlank && member.key === "" ? hidden : maySee(member.key) ? [member] : [];
    meant = meant.flatMap((before) => possible.map((one) => [...before, one]));
  }
  return meant;
}

/** Whether, of those in the cycle that may be refused, this one is the last in the total order. */
export function isVictim(model: Model, named: NamedCycle, refused: ModelRequest): boolean {
  const waits = deadWaits(model, refused);
  const isPossible = ({ request }: ModelWait) =>
    request === refused || !request.detects || isBefore(request, refused);
  const isLast = (member: CycleMember) => waitsAs(waits, member).some(isPossible);
  return refused.detects && meantBy(model, named, waits).some((cycle) => cycle.every(isLast));
}

/** A take that waits is shown by its own name. */
function shown({ session, task, take }: ModelTask) {
  const { name: sessionName, identity } = take ?? session;
  return { session: session.id, sessionName, identity: identity.name, task };
}

function isMember(member: CycleMember, asked: ModelTask): boolean {
  const { session, sessionName, identity, task } = shown(asked);
  const isOfSession = member.session === session && member.sessionName === sessionName;
  return isOfSession && member.identity === identity && member.task === task;
}

function waitsAs(waits: readonly ModelWait[], member: CycleMember): ModelWait[] {
  return waits.filter(
    ({ request, item }) =>
      isMember(member, request) && item.key === member.key && item.mode === member.mode,
  );
}

/** Who is looked at after a limit fell: the listed requests of the key, in order. */
export function listedIn(model: Model, key: string): ModelRequest[] {
  return queueOf(model, key).filter((request) => isListed(model, request));
}
