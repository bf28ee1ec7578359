/**
 * Strings under keys, with append. A key without a put reads as `""` or as `null`; `--init` gives
 * every key a first value.
 *
 * A text that no answer begins with is never read, nor is anything appended to it: all such texts
 * are one state. Otherwise every order of concurrent appends would be a state of its own.
 */
import {
  type Action,
  BadHistoryError,
  badArgument,
  badResult,
  type Model,
  type Operation,
  type PairedHistory,
  partsByKey,
} from "../checker/index.js";

/** `ABSENT`, `UNREAD`, or `TEXT` and the text. */
type KvState = string;

/** Nothing was put or appended yet. */
const ABSENT = "absent";
/** A text that no answer to a get, now or later, begins with. */
const UNREAD = "unread";
const TEXT = "text ";

/** @param init the first value of every key */
export function kvModel(init: unknown): Model {
  const first = firstText(init);
  const initial = first === undefined ? ABSENT : TEXT + first;
  return {
    name: "kv",
    functions: ["get", "put", "append"],
    parts: (history) => {
      const answers = answersByKey(history);
      return partsByKey<KvState>(history, {
        initial,
        isBounded: true,
        encode: (state) => state,
        describe,
        actionOf: (operation) => actionOf(operation, answers),
      });
    },
  };
}

function describe(state: KvState): string {
  if (state === ABSENT) return "nothing";
  if (state === UNREAD) return "a text that no get returns";
  return JSON.stringify(state.slice(TEXT.length));
}

function firstText(init: unknown): string | undefined {
  if (init === undefined || init === null) return undefined;
  if (typeof init === "string" || typeof init === "number") return String(init);
  throw new BadHistoryError("--init: every key of kv begins with a string or null");
}

/** Every text that a get of one key returned. */
class Answers {
  /** Ascending, so that texts with a common beginning are neighbours. */
  readonly #texts: readonly string[];

  constructor(texts: Iterable<string>) {
    this.#texts = [...texts].sort();
  }

  /** The state of a key with that text. */
  stateOf(text: string): KvState {
    let low = 0;
    let high = this.#texts.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#texts[middle] as string) < text) low = middle + 1;
      else high = middle;
    }
    return this.#texts[low]?.startsWith(text) ? TEXT + text : UNREAD;
  }

  contain(text: string): boolean {
    return this.#texts.some((answer) => answer.includes(text));
  }
}

function answersByKey(history: PairedHistory): ReadonlyMap<string, Answers> {
  const texts = new Map<string, Set<string>>();
  for (const { f, outcome, key, result } of history.operations) {
    if (f !== "get" || outcome !== "ok" || key === undefined) continue;
    const known = texts.get(key) ?? new Set<string>();
    texts.set(key, known.add(textOf(result ?? null) ?? ""));
  }
  return new Map([...texts].map(([key, known]) => [key, new Answers(known)]));
}

const NO_ANSWERS = new Answers([]);

function actionOf(
  operation: Operation,
  answersOf: ReadonlyMap<string, Answers>,
): Action<KvState> | undefined {
  if (operation.key === undefined) throw badArgument(operation, 'it has no "key"');
  if (operation.outcome === "fail") return undefined;
  if (operation.f === "get") return getAction(operation);
  const value = textOf(operation.argument);
  if (value === undefined || value === null) {
    throw badArgument(operation, "expected a string as its value");
  }
  const answers = answersOf.get(operation.key) ?? NO_ANSWERS;
  const isUnknown = operation.outcome === "info";
  return operation.f === "put"
    ? putAction(value, answers, isUnknown)
    : appendAction(value, answers, isUnknown);
}

/** A put without an answer whose effect no get shows need not have happened. */
function putAction(
  value: string,
  answers: Answers,
  isUnknown: boolean,
): Action<KvState> | undefined {
  const after = answers.stateOf(value);
  if (isUnknown && after === UNREAD) return undefined;
  const text = `put ${JSON.stringify(value)}`;
  return { id: text, isPure: false, apply: () => after, isTotal: true, leadsTo: after, text };
}

/** As with put: without an answer it need only have happened if a later get shows it. */
function appendAction(
  value: string,
  answers: Answers,
  isUnknown: boolean,
): Action<KvState> | undefined {
  if (isUnknown && !answers.contain(value)) return undefined;
  const appended = (state: KvState): KvState => {
    if (state === UNREAD) return UNREAD;
    return answers.stateOf((state === ABSENT ? "" : state.slice(TEXT.length)) + value);
  };
  const text = `append ${JSON.stringify(value)}`;
  return {
    id: isUnknown ? `${text}, shown` : text,
    isPure: false,
    apply: (state) => {
      const after = appended(state);
      return isUnknown && after === UNREAD ? undefined : after;
    },
    isTotal: !isUnknown,
    text,
  };
}

function getAction(operation: Operation): Action<KvState> | undefined {
  if (operation.outcome !== "ok") return undefined;
  const value = textOf(operation.result ?? null);
  if (value === undefined) throw badResult(operation, "expected a string or null as its result");
  // A key without a put reads as an empty text, too.
  const states = value === null ? [ABSENT] : value === "" ? [ABSENT, TEXT] : [TEXT + value];
  const text = `get ${JSON.stringify(value)}`;
  return {
    id: text,
    isPure: true,
    apply: (state) => (states.includes(state) ? state : undefined),
    needs: states,
    text,
  };
}

function textOf(value: unknown): string | null | undefined {
  if (value === null || typeof value === "string") return value;
  return typeof value === "number" ? String(value) : undefined;
}
