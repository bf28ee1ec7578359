/**
 * Who waits forever, found by playing the table's future out: everybody who waits for nothing gives
 * up all it holds, a task that is first in all of its keys is granted, again and again; what is
 * left then can never move. Knows the rules of granting as the description of the table states them
 * and sees a table only by `inspect`. A task is taken as a whole: it gives nothing up before it
 * has all it asked for, and who queued behind what it asked for waits until then. Slow on purpose:
 * arrays, no index, no shortcut. Must not import anything of the table's own search for cycles.
 */
import type { LockTable } from "../../../src/lockfsm/index.js";
import type { ClaimMode, CycleMember } from "../../../src/protocol/index.js";

interface Part {
  readonly key: string;
  mode: ClaimMode;
  readonly permits: number;
  /** For waits: whose conflicting requests were ahead when the scene began. */
  readonly behind: readonly string[];
}

export interface Held {
  readonly token: number;
  readonly task: string;
  readonly parts: Part[];
}

export interface Waiting {
  /** `session/sequence` */
  readonly id: string;
  readonly task: string;
  readonly parts: Part[];
  /** The token of the hold that it is to strengthen; 0 for an acquire. */
  readonly upgrades: number;
}

/** What is held by somebody, and who waits, in each key in the table's order. */
export interface Scene {
  holds: Held[];
  waits: Waiting[];
  readonly lines: Map<string, Waiting[]>;
  readonly limits: Map<string, number>;
}

/** That somebody's presence keeps `wait` from being granted in `key`. */
export interface Obstacle {
  readonly wait: Waiting;
  readonly key: string;
  readonly to: string;
  /** The token of the hold that is in the way; 0: it is a request. */
  readonly token: number;
  /** Who is in the way by waiting itself. */
  readonly ahead: Waiting | undefined;
}

export function taskOf(session: number, task: number): string {
  return `${session}:${task}`;
}

/**
 * `upgradeOf` knows which token a waiting upgrade is about. Holds of owners, cooldowns and whatever is due
 * already are left out: they go by themselves, whatever anybody waits for.
 */
export function sceneOf(
  table: LockTable,
  keys: readonly string[],
  upgradeOf: (id: string) => number,
): Scene {
  const holds = new Map<number, Held>();
  const waits = new Map<string, Waiting>();
  const lines = new Map<string, Waiting[]>();
  const limits = new Map<string, number>();
  for (const key of keys) {
    const view = table.inspect(key);
    const line: Waiting[] = [];
    limits.set(key, view.limit);
    for (const { token, mode, session, task, permits, holder, leaseMs, endsInMs } of view.holds) {
      if (holder !== "session" || leaseMs === 0 || endsInMs === 0) continue;
      const held = holds.get(token) ?? { token, task: taskOf(session, task), parts: [] };
      holds.set(token, held);
      held.parts.push({ key, mode, permits, behind: [] });
    }
    for (const { session, sequence, task, mode, permits, isUpgrade, endsInMs } of view.waiters) {
      if (endsInMs === 0) continue;
      const id = `${session}/${sequence}`;
      const upgrades = isUpgrade ? upgradeOf(id) : 0;
      const wait = waits.get(id) ?? { id, task: taskOf(session, task), parts: [], upgrades };
      waits.set(id, wait);
      const behind = line
        .filter((ahead) => conflictsWith({ key, mode }, ahead))
        .map((ahead) => ahead.task);
      wait.parts.push({ key, mode, permits, behind });
      line.push(wait);
    }
    lines.set(key, line);
  }
  return { holds: [...holds.values()], waits: [...waits.values()], lines, limits };
}

/** Plays the scene to its end, in place; returns it: everybody left in it waits forever. */
export function playOut(scene: Scene): Scene {
  for (let isMoving = true; isMoving; ) {
    isMoving = false;
    for (const wait of [...scene.waits]) {
      if (obstaclesOf(scene, wait).length > 0) continue;
      grantIn(scene, wait);
      isMoving = true;
    }
    const kept = scene.holds.filter((held) => scene.waits.some(({ task }) => task === held.task));
    isMoving ||= kept.length < scene.holds.length;
    scene.holds = kept;
  }
  return scene;
}

function obstaclesOf(scene: Scene, wait: Waiting): Obstacle[] {
  return wait.parts.flatMap((part) => [
    ...holdersInTheWay(scene, wait, part).map(({ task, token }) => {
      return { wait, key: part.key, to: task, token, ahead: undefined };
    }),
    ...waitersInTheWay(scene, wait, part).map((ahead) => {
      return { wait, key: part.key, to: ahead.task, token: 0, ahead };
    }),
    ...part.behind
      .filter((to) => scene.waits.some(({ task }) => task === to))
      .map((to) => ({ wait, key: part.key, to, token: 0, ahead: undefined })),
  ]);
}

/** Whether the task waits, through others perhaps, for itself. */
export function isOnCycle(scene: Scene, task: string): boolean {
  const seen = new Set<string>();
  const line = [task];
  for (const one of line) {
    for (const wait of scene.waits.filter((other) => other.task === one)) {
      for (const { to } of obstaclesOf(scene, wait)) {
        if (to === task) return true;
        if (!seen.has(to)) line.push(to);
        seen.add(to);
      }
    }
  }
  return false;
}

/** The waits of a member of a named cycle that keep it waiting for the next one. */
export function waitsOfMember(scene: Scene, member: CycleMember, next: CycleMember): Waiting[] {
  const task = taskOf(member.session, member.task);
  const goal = taskOf(next.session, next.task);
  return scene.waits.filter((wait) => {
    const isMeant = wait.parts.some(({ key, mode }) => key === member.key && mode === member.mode);
    return wait.task === task && isMeant && leadsTo(scene, wait, member.key, goal);
  });
}

/** Directly, or behind others who wait in the same key. */
function leadsTo(scene: Scene, from: Waiting, key: string, goal: string): boolean {
  const seen = new Set([from]);
  for (const wait of seen) {
    for (const obstacle of obstaclesOf(scene, wait)) {
      // The hold that an upgrade is of is in the way of others only.
      const isOwn = obstacle.token !== 0 && obstacle.token === from.upgrades;
      if (obstacle.key !== key || isOwn) continue;
      if (obstacle.to === goal) return true;
      if (obstacle.ahead !== undefined) seen.add(obstacle.ahead);
    }
  }
  return false;
}

function holdersInTheWay(scene: Scene, wait: Waiting, { key, mode, permits }: Part): Held[] {
  const others = scene.holds.filter(({ token, parts }) => {
    return token !== wait.upgrades && parts.some((part) => part.key === key);
  });
  if (mode === "exclusive") return others;
  if (mode === "shared") {
    return others.filter(({ parts }) => {
      return parts.some((part) => part.key === key && part.mode === "exclusive");
    });
  }
  const taken = others
    .flatMap(({ parts }) => parts.filter((part) => part.key === key))
    .reduce((sum, part) => sum + part.permits, 0);
  return taken + permits > (scene.limits.get(key) ?? 0) ? others : [];
}

function waitersInTheWay(scene: Scene, wait: Waiting, part: Part): Waiting[] {
  const line = scene.lines.get(part.key) ?? [];
  return line.slice(0, line.indexOf(wait)).filter((other) => conflictsWith(part, other));
}

/** Only shared ones go together, whatever is held. */
function conflictsWith({ key, mode }: Pick<Part, "key" | "mode">, { parts }: Waiting): boolean {
  return mode !== "shared" || parts.some((part) => part.key === key && part.mode === "exclusive");
}

function grantIn(scene: Scene, wait: Waiting): void {
  scene.waits = scene.waits.filter((other) => other !== wait);
  for (const { key } of wait.parts) {
    const line = scene.lines.get(key) ?? [];
    line.splice(line.indexOf(wait), 1);
  }
  if (wait.upgrades === 0) {
    scene.holds.push({ token: -1, task: wait.task, parts: wait.parts });
    return;
  }
  const { parts = [] } = scene.holds.find(({ token }) => token === wait.upgrades) ?? {};
  for (const part of parts) if (part.key === wait.parts[0]?.key) part.mode = "exclusive";
}
