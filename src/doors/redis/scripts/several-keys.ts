/**
 * What a script means for several locks: it is followed through all states of two and of three keys,
 * and must do the same for both. Scripts that take, extend or release keys one by one are understood
 * as far as a lock service can keep what they promise.
 */
import { type KeyState, LockSituation, type SituationParts } from "./lock-situation.js";
import type { Act, ByArgumentMeaning, Meaning, ScriptReply } from "./meaning.js";
import { replyOf } from "./script-reply.js";
import { NotUnderstood, type Script, walk } from "./walk.js";

const VALUES: readonly (number | "each")[] = ["each", 1, 2, 3];
const STATES: readonly KeyState[] = ["absent", "mine", "mineEndless", "other"];
const KEY_COUNTS = [2, 3] as const;

/** The database is told apart from it. */
type PlainMeaning = Exclude<Meaning, ByArgumentMeaning>;

interface Followed {
  readonly states: readonly KeyState[];
  readonly acts: readonly Act[];
  readonly reply: ScriptReply;
}

export function meaningForSeveralKeys(script: Script): Meaning | undefined {
  for (const value of VALUES) {
    try {
      const meanings = KEY_COUNTS.map((count) => meaningOfCount(script, value, count));
      const [first, ...others] = meanings;
      const text = JSON.stringify(first);
      if (first !== undefined && others.every((other) => JSON.stringify(other) === text)) {
        return first;
      }
    } catch (error) {
      if (!(error instanceof NotUnderstood)) throw error;
    }
  }
  return undefined;
}

function meaningOfCount(
  script: Script,
  value: number | "each",
  count: number,
): Meaning | undefined {
  const databases = new Set<number | undefined>();
  const followed = combinations(count).map((states): Followed => {
    const situation = new LockSituation(partsOf(states, value));
    const returned = walk(script, situation);
    if (situation.publications.length > 0) throw new NotUnderstood();
    databases.add(situation.database);
    const firstHeld = states.findIndex((state) => state !== "absent") + 1;
    const reply = replyOf(returned, {
      isHeldValue: () => false,
      keyCount: { kind: "keyCount" },
      ofKey: (at, isPosition) => {
        if (at !== firstHeld) throw new NotUnderstood();
        return { kind: isPosition ? "heldPosition" : "heldKey" };
      },
    });
    return { states, acts: situation.acts, reply };
  });
  if (databases.size !== 1) return undefined;
  const [selected] = databases;
  const database = selected === undefined ? undefined : { argument: selected };
  const meaning = value === "each" ? takeAll(followed, value) : asSingleValue(followed, value);
  return meaning === undefined ? undefined : { ...meaning, database };
}

function partsOf(states: readonly KeyState[], value: number | "each"): SituationParts {
  return { states, value, assumptions: new Map(), isLate: undefined };
}

function combinations(count: number): readonly (readonly KeyState[])[] {
  if (count === 0) return [[]];
  return combinations(count - 1).flatMap((states) => STATES.map((state) => [...states, state]));
}

function asSingleValue(followed: readonly Followed[], value: number): PlainMeaning | undefined {
  return takeAll(followed, value) ?? changeAll(followed, value) ?? releaseEach(followed, value);
}

function isMine(state: KeyState): boolean {
  return state === "mine" || state === "mineEndless";
}

function takeAll(followed: readonly Followed[], value: number | "each"): PlainMeaning | undefined {
  const free = followed.filter(({ states }) => states.every((state) => state === "absent"));
  const mine = followed.filter(({ states }) => states.every(isMine));
  const held = followed.filter((each) => !(free.includes(each) || mine.includes(each)));
  const taking = sameActs(free);
  if (taking?.kind !== "take") return undefined;
  const taken = sameReply(free);
  const refused = sameReply(held);
  if (taken === undefined || refused === undefined || sameActs(held)?.kind !== "none") {
    return undefined;
  }
  const again = sameActs(mine);
  const repeated = sameReply(mine);
  if (again === undefined || repeated === undefined) return undefined;
  if (again.kind === "none") {
    if (JSON.stringify(repeated) !== JSON.stringify(refused)) return undefined;
  } else if (again.kind !== "extend" || JSON.stringify(again.ttl) !== JSON.stringify(taking.ttl)) {
    return undefined;
  }
  return {
    kind: "takeAll",
    database: undefined,
    value: value === "each" ? value : { argument: value },
    ttl: taking.ttl,
    replies: { taken, held: refused, repeated: again.kind === "extend" ? repeated : undefined },
  };
}

function changeAll(followed: readonly Followed[], value: number): PlainMeaning | undefined {
  const mine = followed.filter(({ states }) => states.every(isMine));
  const others = followed.filter((each) => !mine.includes(each));
  const act = sameActs(mine);
  const done = sameReply(mine);
  const lacking = sameReply(others);
  if (done === undefined || lacking === undefined || sameActs(others)?.kind !== "none") {
    return undefined;
  }
  const common = { database: undefined, value: { argument: value } };
  if (act?.kind === "release") {
    return { kind: "releaseAll", ...common, replies: { released: done, lacking } };
  }
  if (act?.kind !== "extend" || act.ttl === undefined) return undefined;
  return { kind: "extendAll", ...common, ttl: act.ttl, replies: { extended: done, lacking } };
}

function releaseEach(followed: readonly Followed[], value: number): PlainMeaning | undefined {
  for (const { states, acts, reply } of followed) {
    const count = states.filter(isMine).length;
    const isRight = acts.every(
      (act, at) => act.kind === (isMine(states[at] ?? "absent") ? "release" : "none"),
    );
    if (!isRight || reply.kind !== "integer" || reply.integer !== count) return undefined;
  }
  return {
    kind: "releaseEach",
    database: undefined,
    value: { argument: value },
    reply: { kind: "endedCount" },
  };
}

/** What happens to every key in all of them. */
function sameActs(followed: readonly Followed[]): Act | undefined {
  const acts = followed.flatMap((each) => each.acts);
  const text = JSON.stringify(acts[0]);
  return acts.every((act) => JSON.stringify(act) === text) ? acts[0] : undefined;
}

function sameReply(followed: readonly Followed[]): ScriptReply | undefined {
  const [first] = followed;
  const text = JSON.stringify(first?.reply);
  return followed.every(({ reply }) => JSON.stringify(reply) === text) ? first?.reply : undefined;
}
