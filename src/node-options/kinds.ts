/**
 * The kinds of values that an option of a node can have, with their limits. A kind judges values of
 * programs here. How it is written as a flag or in a file is the command line's own
 * (`bin/options/node-option-kinds.ts`).
 */
import { optionValueText, type SayOption } from "../errors/index.js";
import {
  BOOLEAN,
  HOST_PORT,
  NODE_ADDRESSES,
  NUMBER,
  NUMBERS,
  type Shape,
  STRING,
  STRINGS,
} from "./shapes.js";
import {
  CLIENT_LIMIT_NAMES,
  type ClientLimits,
  type HostPort,
  type NodeAddress,
} from "./values.js";

export interface ValueKind<Value> {
  readonly is: KindName;
  /** Which values it judges; others are refused before. */
  readonly shape: Shape;
  /** Bounds of numbers and of lengths, both inclusive. */
  readonly least: number;
  readonly most: number;
  /** As in `--data <directory>`; "": the usual one of the kind. */
  readonly placeholder: string;
  readonly choices: readonly string[];
  /** Whether a flag that is given again adds to the ones before it. */
  readonly isRepeatable: boolean;
  /** A sentence that says what is wrong with a value; `undefined`: nothing. */
  problemOf(name: string, value: Value, say: SayOption): string | undefined;
}

export type KindName =
  | "text"
  | "texts"
  | "choice"
  | "onOff"
  | "switch"
  | "wholeNumber"
  | "duration"
  | "size"
  | "nodeId"
  | "hostPort"
  | "nodeAddresses"
  | "endpoint"
  | "endpoints"
  | "clientLimits";

/** What is wrong with one text, as the end of a sentence that begins with it. */
export type TextJudge = (text: string) => string | undefined;

const NODE_ID_MAX = 2 ** 32 - 1;
const PORT_MAX = 65_535;
const ENDPOINT_LENGTH_MAX = 1_024;

function kind<Value>(
  is: KindName,
  shape: Shape,
  problemOf: ValueKind<Value>["problemOf"],
  further: Partial<ValueKind<Value>> = {},
): ValueKind<Value> {
  return {
    ...{ is, shape, problemOf, placeholder: "", choices: [], isRepeatable: false },
    ...{ least: 0, most: Number.MAX_SAFE_INTEGER },
    ...further,
  };
}

/** A text with a number of characters from 1 to `most`. */
export function text(placeholder: string, most = Number.MAX_SAFE_INTEGER): ValueKind<string> {
  const problem: ValueKind<string>["problemOf"] = (name, { length }, say) => {
    if (length >= 1 && length <= most) return undefined;
    if (most === Number.MAX_SAFE_INTEGER) return `${say(name)} is empty`;
    return `${say(name)} has ${length} characters, not 1 to ${most}`;
  };
  return kind("text", STRING, problem, { placeholder, least: 1, most });
}

/** At most `most` different texts, each of which `judge` finds right. */
export function texts(
  placeholder: string,
  judge: TextJudge,
  most = Number.MAX_SAFE_INTEGER,
): ValueKind<readonly string[]> {
  const problem: ValueKind<readonly string[]>["problemOf"] = (name, values, say) => {
    const { size } = new Set(values);
    if (size > most) return `${say(name)} has ${size} values, not at most ${most}`;
    return firstProblem(name, values, judge, say);
  };
  return kind("texts", STRINGS, problem, { placeholder, most, isRepeatable: true });
}

export function choice<const Choice extends string>(
  placeholder: string,
  choices: readonly Choice[],
): ValueKind<Choice> {
  const all = choices.length === 2 ? `neither ${choices.join(" nor ")}` : `none of ${choices}`;
  const problem: ValueKind<Choice>["problemOf"] = (name, value, say) =>
    choices.includes(value) ? undefined : `${say(name, value)} is ${all}`;
  return kind("choice", STRING, problem, { placeholder, choices });
}

export const onOff = kind<boolean>("onOff", BOOLEAN, () => undefined, { choices: ["on", "off"] });

export const switched = kind<boolean>("switch", BOOLEAN, () => undefined);

function whole(is: KindName, least: number, most: number): ValueKind<number> {
  const problem: ValueKind<number>["problemOf"] = (name, value, say) =>
    Number.isInteger(value) && value >= least && value <= most
      ? undefined
      : `${say(name, value)} is not a whole number from ${least} to ${most}`;
  return kind(is, NUMBER, problem, { least, most });
}

export function wholeNumber(least: number, most: number): ValueKind<number> {
  return whole("wholeNumber", least, most);
}

/** Milliseconds. */
export function duration(leastMs: number, mostMs: number): ValueKind<number> {
  return whole("duration", leastMs, mostMs);
}

/** Bytes. */
export function size(leastBytes: number, mostBytes: number): ValueKind<number> {
  return whole("size", leastBytes, mostBytes);
}

export const nodeId = whole("nodeId", 1, NODE_ID_MAX);

/** @param portMin 0 if the system may choose a free port */
export function hostPort(portMin: 0 | 1): ValueKind<HostPort> {
  return kind("hostPort", HOST_PORT, (name, value, say) =>
    addressProblem(say(name), value, portMin),
  );
}

/** Each node once, unless `isRepeatable`: then the last address of a node counts. */
export function nodeAddresses(
  placeholder: string,
  isRepeatable: boolean,
): ValueKind<readonly NodeAddress[]> {
  const problem: ValueKind<readonly NodeAddress[]>["problemOf"] = (name, nodes, say) => {
    const seen = { ids: new Set<number>(), addresses: new Set<string>() };
    for (const { id, address } of nodes) {
      if (!isNodeId(id)) return `${say(name)} has a member with the id ${id}`;
      const wrong = addressProblem(`${say(name)}, node ${id}:`, address, 1);
      if (wrong !== undefined) return wrong;
      const shown = optionValueText(address);
      if (isRepeatable) continue;
      if (seen.ids.has(id)) return `${say(name)} names node ${id} twice`;
      if (seen.addresses.has(shown)) return `${say(name)} has the address ${shown} twice`;
      seen.ids.add(id);
      seen.addresses.add(shown);
    }
    return undefined;
  };
  return kind("nodeAddresses", NODE_ADDRESSES, problem, { placeholder, isRepeatable });
}

const judgeEndpoint: TextJudge = (value) => {
  const isRight =
    value.length <= ENDPOINT_LENGTH_MAX &&
    URL.canParse(value) &&
    /^wss?:$/.test(new URL(value).protocol);
  return isRight ? undefined : "is not a ws:// or wss:// URL";
};

export const endpoint = kind<string>("endpoint", STRING, (name, value, say) =>
  firstProblem(name, [value], judgeEndpoint, say),
);

export const endpoints = kind<readonly string[]>("endpoints", STRINGS, (name, values, say) =>
  firstProblem(name, values, judgeEndpoint, say),
);

export const clientLimits = kind<Partial<ClientLimits>>(
  "clientLimits",
  NUMBERS,
  (name, limits, say) => {
    for (const [limit, value] of Object.entries(limits)) {
      if (!Object.hasOwn(CLIENT_LIMIT_NAMES, limit)) return `${say(name)} has no limit ${limit}`;
      if (Number.isSafeInteger(value) && value >= 0) continue;
      return `${say(name)} ${limit} ${value} is not a whole number from 0, which means no limit`;
    }
    return undefined;
  },
  { isRepeatable: true },
);

function isNodeId(id: number): boolean {
  return Number.isInteger(id) && id >= 1 && id <= NODE_ID_MAX;
}

function firstProblem(
  name: string,
  values: readonly string[],
  judge: TextJudge,
  say: SayOption,
): string | undefined {
  for (const value of values) {
    const problem = judge(value);
    if (problem !== undefined) return `${say(name, value)} ${problem}`;
  }
  return undefined;
}

function addressProblem(
  said: string,
  { host, port }: HostPort,
  portMin: number,
): string | undefined {
  if (host.length === 0) return `${said} has an empty host`;
  if (Number.isInteger(port) && port >= portMin && port <= PORT_MAX) return undefined;
  return `${said} port ${port} is not from ${portMin} to ${PORT_MAX}`;
}
