/**
 * The kind of an option that limits clients: `connections=500,commands=none`. Limits that are not
 * named keep their defaults.
 */
import { CLIENT_LIMIT_NAMES, type ClientLimits } from "../../src/node-options/index.js";
import { formatSize, parseSize } from "../text/sizes.js";
import { type OptionKind, ValueProblem } from "./option-kind.js";

/** As the options of a node have them; 0: no limit. */
type GivenLimits = Partial<ClientLimits>;

const NONE = "none";
const COUNT_MAX = 1_000_000_000;

const LIMITS: ReadonlyMap<string, keyof GivenLimits> = new Map(
  (Object.keys(CLIENT_LIMIT_NAMES) as (keyof GivenLimits)[]).map((limit) => [
    CLIENT_LIMIT_NAMES[limit],
    limit,
  ]),
);

const NAMES = [...LIMITS.keys()].join(", ");

export const clientLimitsKind: OptionKind<GivenLimits> = {
  type: `\`name=value\`, separated by commas; names: ${NAMES}; values: whole numbers, of \`unfinished\` a size, or \`${NONE}\``,
  placeholder: "<name=value>",
  jsonTypes: ["string", "object"],
  parse: (text) => Object.assign({}, ...text.split(",").map(parseLimit)) as GivenLimits,
  toJson: (limits) => {
    const given = [...LIMITS].flatMap(([name, limit]) => {
      const value = limits[limit];
      return value === undefined ? [] : [[name, valueText(limit, value)] as const];
    });
    return Object.fromEntries(given);
  },
  merge: (before, next) => ({ ...before, ...next }),
};

function parseLimit(part: string): GivenLimits {
  const [name = "", value] = part.split("=").map((side) => side.trim());
  const limit = LIMITS.get(name);
  if (limit === undefined || value === undefined) {
    throw new ValueProblem(`name=value is required, with one of the names ${NAMES}`);
  }
  return { [limit]: value === NONE ? 0 : parseValue(name, limit, value) };
}

function parseValue(name: string, limit: keyof GivenLimits, text: string): number {
  if (limit === "unfinishedBytesMax" && text !== "0") {
    const bytes = parseSize(text);
    if (bytes !== undefined && bytes > 0) return bytes;
    throw new ValueProblem(`${name} is a size with a unit, such as 16MiB, or ${NONE}`);
  }
  const count = /^\d{1,10}$/.test(text) ? Number(text) : COUNT_MAX + 1;
  if (count <= COUNT_MAX) return count;
  throw new ValueProblem(`${name} is a whole number from 0 to ${COUNT_MAX}, or ${NONE}`);
}

function valueText(limit: keyof GivenLimits, value: number): string {
  if (value === 0) return NONE;
  return limit === "unfinishedBytesMax" ? formatSize(value) : String(value);
}
