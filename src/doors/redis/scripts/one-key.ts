/**
 * What a script means for one lock: it is followed through each state that the key can have. Where it
 * depends on an argument, both ways are followed.
 */
import {
  type Assumptions,
  assumptionOf,
  HELD,
  type KeyState,
  LockSituation,
  NeedsArgument,
  NeedsLateness,
  type SituationParts,
} from "./lock-situation.js";
import type { Meaning, OneKeyMeaning, Outcome } from "./meaning.js";
import { replyOf } from "./script-reply.js";
import { isSame, NotUnderstood, type Script, type Value, walk } from "./walk.js";

/** The arguments that may be the value. */
const VALUE_POSITIONS: readonly (number | undefined)[] = [undefined, 1, 2, 3, 4];
/** Arguments on which a meaning may depend. */
const CHOICES_MAX = 3;

export function meaningForOneKey(script: Script): Meaning | undefined {
  return meaningWith(script, new Map());
}

function meaningWith(script: Script, assumptions: Assumptions): Meaning | undefined {
  for (const value of VALUE_POSITIONS) {
    const meaning = meaningOfValue(script, value, assumptions);
    if (meaning !== undefined) return meaning;
  }
  return undefined;
}

function meaningOfValue(
  script: Script,
  value: number | undefined,
  assumptions: Assumptions,
): Meaning | undefined {
  try {
    return oneKey(script, value, assumptions, undefined);
  } catch (error) {
    if (!(error instanceof NotUnderstood)) throw error;
    if (error instanceof NeedsArgument) return choice(script, error, assumptions);
    if (!(error instanceof NeedsLateness) || value === undefined) return undefined;
    return extendInTime(script, value, assumptions, error.least);
  }
}

function choice(
  script: Script,
  { argument, equals }: NeedsArgument,
  assumptions: Assumptions,
): Meaning | undefined {
  if (assumptions.size >= CHOICES_MAX) return undefined;
  const name = assumptionOf(argument, equals);
  const [ifEqual, ifNot] = [true, false].map((isSo) =>
    meaningWith(script, new Map(assumptions).set(name, isSo)),
  );
  if (ifEqual === undefined || ifNot === undefined) return undefined;
  if (JSON.stringify(ifEqual) === JSON.stringify(ifNot)) return ifEqual;
  return { kind: "byArgument", argument, equals, ifEqual, ifNot };
}

function oneKey(
  script: Script,
  value: number | undefined,
  assumptions: Assumptions,
  isLate: boolean | undefined,
): OneKeyMeaning {
  const databases = new Set<number | undefined>();
  const outcome = (state: KeyState): Outcome => {
    const parts: SituationParts = { states: [state], value, assumptions, isLate };
    const situation = new LockSituation(parts);
    const returned = walk(script, situation);
    databases.add(situation.database);
    const [act = { kind: "none" }] = situation.acts;
    const { publications } = situation;
    return { act, reply: replyForOneKey(returned, value), publications };
  };
  const absent = outcome("absent");
  const mine = outcome("mine");
  const mineEndless = outcome("mineEndless");
  const other = outcome("other");
  if (databases.size !== 1) throw new NotUnderstood();
  const [database] = databases;
  if (other.act.kind !== "none" || isVain([absent, mine, mineEndless, other])) {
    throw new NotUnderstood();
  }
  return {
    kind: "oneKey",
    database: database === undefined ? undefined : { argument: database },
    value: value === undefined ? undefined : { argument: value },
    absent,
    mine,
    mineEndless,
    other,
  };
}

/** Whether it neither does nor tells anything: no lock script. */
function isVain(outcomes: readonly Outcome[]): boolean {
  const [first] = outcomes.map((outcome) => JSON.stringify(outcome));
  return outcomes.every((outcome) => JSON.stringify(outcome) === first);
}

function replyForOneKey(returned: Value, value: number | undefined): Outcome["reply"] {
  return replyOf(returned, {
    isHeldValue: (each) =>
      isSame(each, HELD) || (each.kind === "argument" && !each.isNumber && each.at === value),
    keyCount: { kind: "integer", integer: 1 },
    ofKey: (_, isPosition) => (isPosition ? { kind: "integer", integer: 1 } : { kind: "heldKey" }),
  });
}

function extendInTime(
  script: Script,
  value: number,
  assumptions: Assumptions,
  least: number,
): Meaning | undefined {
  const [inTime, late] = [false, true].map((isLate) => {
    try {
      return oneKey(script, value, assumptions, isLate);
    } catch (error) {
      if (error instanceof NotUnderstood) return undefined;
      throw error;
    }
  });
  if (inTime === undefined || late === undefined) return undefined;
  const { absent, mine, other, database } = inTime;
  if (mine.act.kind !== "extend" || mine.act.ttl === undefined) return undefined;
  if (absent.act.kind !== "none" || late.mine.act.kind !== "none") return undefined;
  // A hold without end has −1 left, which is late.
  if (inTime.mineEndless.act.kind !== "none" || mine.publications.length > 0) return undefined;
  if (JSON.stringify(late.mine) !== JSON.stringify(late.other)) return undefined;
  return {
    kind: "extendInTime",
    database,
    value: { argument: value },
    least: { argument: least },
    ttl: mine.act.ttl,
    replies: {
      absent: absent.reply,
      late: late.mine.reply,
      other: other.reply,
      extended: mine.reply,
    },
  };
}
