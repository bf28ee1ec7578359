/** The kinds of option values: numbers, durations, sizes, switches, texts, addresses. */
import {
  AddressError,
  formatHostPort,
  type NodeAddress,
  parseEndpoint,
  parseEndpoints,
  parseHostPort,
  parseNodeAddresses,
  parseNodeId,
} from "../text/addresses.js";
import { DURATION_PROBLEM, durationText, parseDuration } from "../text/durations.js";
import { formatSize, parseSize } from "../text/sizes.js";
import { type OptionKind, ValueProblem } from "./option-kind.js";

const SWITCH_TEXTS: ReadonlyMap<string, boolean> = new Map([
  ["true", true],
  ["yes", true],
  ["1", true],
  ["false", false],
  ["no", false],
  ["0", false],
]);

/** What `--wait` accepts in addition to a duration. */
const FOREVER = "forever";
const NOT_AT_ALL = "no";

/** Milliseconds, both bounds inclusive. */
export function durationKind(leastMs: number, mostMs: number): OptionKind<number> {
  const range = `${durationText(leastMs)} to ${durationText(mostMs)}`;
  return {
    type: `duration, ${range}`,
    placeholder: "<duration>",
    jsonTypes: ["string"],
    parse: (text) => {
      const milliseconds = parseDuration(text, Number.MAX_SAFE_INTEGER);
      if (milliseconds === undefined) {
        throw new ValueProblem(DURATION_PROBLEM);
      }
      if (milliseconds >= leastMs && milliseconds <= mostMs) return milliseconds;
      throw new ValueProblem(`a duration from ${range} is required`);
    },
    toJson: durationText,
  };
}

/** Milliseconds; `false`: does not wait, `Infinity`: waits forever. */
export function waitKind(mostMs: number): OptionKind<number | false> {
  const duration = durationKind(0, mostMs);
  return {
    type: `duration, up to ${durationText(mostMs)}; \`${FOREVER}\`; \`${NOT_AT_ALL}\``,
    placeholder: "<duration>",
    jsonTypes: ["string", "boolean"],
    parse: (text) => {
      if (text === FOREVER || text === "true") return Number.POSITIVE_INFINITY;
      if (text === NOT_AT_ALL || text === "false") return false;
      return duration.parse(text);
    },
    toJson: (value) => {
      if (value === false) return NOT_AT_ALL;
      return value === Number.POSITIVE_INFINITY ? FOREVER : durationText(value);
    },
  };
}

/** Bytes, both bounds inclusive. */
export function sizeKind(leastBytes: number, mostBytes: number): OptionKind<number> {
  const range = `${formatSize(leastBytes)} to ${formatSize(mostBytes)}`;
  return {
    type: `size, ${range}`,
    placeholder: "<size>",
    jsonTypes: ["string"],
    parse: (text) => {
      const bytes = parseSize(text);
      if (bytes === undefined) throw new ValueProblem("a size needs a unit: 512KiB, 64MiB, 1GiB");
      if (bytes >= leastBytes && bytes <= mostBytes) return bytes;
      throw new ValueProblem(`a size from ${range} is required`);
    },
    toJson: formatSize,
  };
}

/** Both bounds inclusive. */
export function wholeNumberKind(least: number, most: number): OptionKind<number> {
  const range = `${least} to ${most}`;
  return {
    type: `whole number, ${range}`,
    placeholder: "<n>",
    jsonTypes: ["number"],
    parse: (text) => {
      const value = /^\d{1,16}$/.test(text) ? Number(text) : -1;
      if (value >= least && value <= most) return value;
      throw new ValueProblem(`a whole number from ${range} is required`);
    },
    toJson: (value) => value,
  };
}

export const switchKind: OptionKind<boolean> = {
  type: "switch",
  placeholder: "",
  jsonTypes: ["boolean"],
  parse: (text) => {
    const value = SWITCH_TEXTS.get(text.toLowerCase());
    if (value === undefined) throw new ValueProblem("true or false is required");
    return value;
  },
  toJson: (value) => value,
};

/** Any text, or one that `parse` refuses with a `ValueProblem`. */
export function textKind(placeholder: string): OptionKind<string> {
  return {
    type: "text",
    placeholder: `<${placeholder}>`,
    jsonTypes: ["string"],
    parse: (text) => text,
    toJson: (value) => value,
  };
}

/** Several texts; the flag may be repeated. */
export function textsKind(placeholder: string): OptionKind<readonly string[]> {
  return {
    type: "texts, separated by commas",
    placeholder: `<${placeholder}>`,
    jsonTypes: ["string", "array"],
    parse: (text) =>
      text
        .split(",")
        .map((part) => part.trim())
        .filter((part) => part !== ""),
    toJson: (value) => value,
    merge: (before, next) => [...before, ...next],
  };
}

export function choiceKind<const Choice extends string>(
  placeholder: string,
  choices: readonly Choice[],
): OptionKind<Choice> {
  return {
    type: choices.map((choice) => `\`${choice}\``).join(" or "),
    placeholder: `<${placeholder}>`,
    words: choices,
    jsonTypes: ["string"],
    parse: (text) => {
      const choice = choices.find((candidate) => candidate === text);
      if (choice === undefined) throw new ValueProblem(`allowed choices are ${choices.join(", ")}`);
      return choice;
    },
    toJson: (value) => value,
  };
}

export const onOffKind: OptionKind<boolean> = {
  type: "`on` or `off`",
  placeholder: "<mode>",
  words: ["on", "off"],
  jsonTypes: ["string"],
  parse: (text) => {
    if (text === "on" || text === "off") return text === "on";
    throw new ValueProblem("allowed choices are on, off");
  },
  toJson: (value) => (value ? "on" : "off"),
};

/** A line for the shell; `true`: it is after `--`. */
export const shellLineKind: OptionKind<string | true> = {
  type: "text, optional",
  placeholder: "[line]",
  jsonTypes: ["string"],
  parse: (text) => text,
  toJson: (value) => value,
};

export const nodeIdKind: OptionKind<number> = {
  type: "whole number, 1 to 4294967295",
  placeholder: "<n>",
  jsonTypes: ["number"],
  parse: explained(parseNodeId),
  toJson: (value) => value,
};

export const endpointsKind: OptionKind<readonly string[]> = {
  type: "`ws://` or `wss://` URLs, separated by commas",
  placeholder: "<urls>",
  jsonTypes: ["string", "array"],
  parse: explained(parseEndpoints),
  toJson: (value) => value,
};

export const endpointKind: OptionKind<string> = {
  type: "a `ws://` or `wss://` URL",
  placeholder: "<url>",
  jsonTypes: ["string"],
  parse: explained(parseEndpoint),
  toJson: (value) => value,
};

export const hostPortKind: OptionKind<{ readonly host: string; readonly port: number }> = {
  type: "`host:port`",
  placeholder: "<host:port>",
  jsonTypes: ["string"],
  parse: explained(parseHostPort),
  toJson: formatHostPort,
};

/** An address for each node. */
export function nodeAddressesKind(
  placeholder: string,
  isRepeatable = false,
): OptionKind<readonly NodeAddress[]> {
  return {
    ...(isRepeatable && { merge: (before, next) => [...before, ...next] }),
    type: "`id=host:port`, separated by commas",
    placeholder: `<${placeholder}>`,
    jsonTypes: ["string", "object"],
    parse: explained(parseNodeAddresses),
    toJson: (value) =>
      Object.fromEntries(value.map(({ id, address }) => [String(id), formatHostPort(address)])),
  };
}

function explained<Value>(parse: (text: string) => Value): (text: string) => Value {
  return (text) => {
    try {
      return parse(text);
    } catch (error) {
      if (!(error instanceof AddressError)) throw error;
      throw new ValueProblem(error.message);
    }
  };
}
