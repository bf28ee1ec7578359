/**
 * What the table of options demands: of each value by itself, and of values together. All throw an
 * `OptionError` with the code `INVALID_ARGUMENT`, which names the options and their values.
 */
import { OptionError, optionValueText, type SayOption } from "../errors/index.js";
import type { Row } from "./rows.js";
import { NODE_OPTION_ROWS, NODE_TUNING_DEFAULTS, type NodeTuning } from "./settings.js";
import { NUMBER, type Shape } from "./shapes.js";
import type { HostPort } from "./values.js";

/** Values by the names of their options, of settings and of tuning. */
export type GivenOptions = Readonly<Record<string, unknown>>;

const sayName: SayOption = (name) => name;

export function demand(condition: boolean, text: (say: SayOption) => string): void {
  if (!condition) throw new OptionError("INVALID_ARGUMENT", text);
}

/** Each setting is in the table, each value is of its kind, and what is required is there. */
export function demandValues(settings: GivenOptions): void {
  demandGiven(settings);
  for (const [name, row] of NODE_OPTION_ROWS) {
    const isThere = settings[name] !== undefined || row.isRequired !== true;
    demand(isThere, (say) => `${say(name)} is missing`);
  }
}

/** Like `demandValues`, for settings to which others may still be added. */
export function demandGiven(settings: GivenOptions): void {
  for (const [name, value] of Object.entries(settings)) {
    const row = NODE_OPTION_ROWS.get(name);
    const isSetting = row !== undefined && row.isTuning !== true;
    demand(isSetting, () => `there is no option ${name}`);
    if (isSetting && value !== undefined) demandValue(name, row, value);
  }
}

/** Judges one option alone. */
export function demandValue(name: string, row: Row<unknown>, value: unknown): void {
  demandShape(name, row.kind.shape, value);
  const problem = (say: SayOption): string | undefined => row.kind.problemOf(name, value, say);
  demand(problem(sayName) === undefined, (say) => problem(say) ?? "");
}

export function demandShape(name: string, shape: Shape, value: unknown): void {
  demand(shape.fits(value), (say) => `${say(name)} must be ${shape.words}`);
}

/** Completes tuning with the defaults. Programs may go beyond what the kinds let people choose. */
export function tuningOf(given: Partial<NodeTuning>): NodeTuning {
  for (const [name, value] of Object.entries(given)) {
    const row = NODE_OPTION_ROWS.get(name);
    demand(row?.isTuning === true, () => `tuning has no option ${name}`);
    demandShape(name, NUMBER, value);
    const isFraction = row?.kind.is === "duration";
    const isEnough = value > 0 || (value === 0 && row?.kind.least === 0);
    demand(
      isEnough && Number.isFinite(value) && (isFraction || Number.isInteger(value)),
      (say) => `${say(name, value)} is not a ${isFraction ? "" : "whole "}number above 0`,
    );
  }
  // With a given length of the log, the size of the table does not lengthen it.
  const exact = given.snapshotLogBytes === undefined ? {} : { snapshotSizeFactor: 0 };
  return Object.freeze({ ...NODE_TUNING_DEFAULTS, ...exact, ...given });
}

/** What the rows say of values together. A switch that is off counts as not given. */
export function demandRelations(given: GivenOptions): void {
  const isGiven = (name: string): boolean => given[name] !== undefined && given[name] !== false;
  for (const [name, { needs, excludes, atMost = [] }] of NODE_OPTION_ROWS) {
    for (const { option, isHalf = false, because } of atMost) {
      demandAtMost(name, option, isHalf, because, given);
    }
    if (!isGiven(name)) continue;
    const missing = needs?.options.filter((other) => !isGiven(other)) ?? [];
    demand(missing.length === 0, (say) => {
      const others = listed(missing.map((other) => say(other)));
      return `${saidGiven(say, name, given)} without ${others}: ${needs?.because}`;
    });
    demand(
      excludes === undefined || !isGiven(excludes.option),
      (say) =>
        `${say(name)} and ${say(excludes?.option ?? "")} exclude each other: ${excludes?.because}`,
    );
  }
  demandOwnAddresses(given);
}

function demandAtMost(
  name: string,
  other: string,
  isHalf: boolean,
  because: string | undefined,
  given: GivenOptions,
): void {
  const value = given[name];
  const bound = given[other];
  if (typeof value !== "number" || typeof bound !== "number") return;
  demand(value <= (isHalf ? bound / 2 : bound), (say) => {
    const reason = because === undefined ? "" : `: ${because}`;
    return `${say(name, value)} is more than ${isHalf ? "half of " : ""}${say(other, bound)}${reason}`;
  });
}

/** Each port of the node has an address of its own. */
function demandOwnAddresses(given: GivenOptions): void {
  const names = new Map<string, string>();
  for (const [name, address] of listeningAddresses(given)) {
    if (address.port === 0) continue;
    const text = optionValueText(address);
    const other = names.get(text);
    demand(
      other === undefined,
      (say) => `${say(other ?? "")} and ${say(name)} are both ${text}: each needs its own address`,
    );
    names.set(text, name);
  }
}

/** The addresses on which a node with these options listens, by the names of the options. */
export function listeningAddresses(given: object): [string, HostPort][] {
  const values = given as GivenOptions;
  return [...NODE_OPTION_ROWS].flatMap(([name, { listensFor }]): [string, HostPort][] => {
    const address = values[name];
    return listensFor === undefined || address === undefined ? [] : [[name, address as HostPort]];
  });
}

function saidGiven(say: SayOption, name: string, given: GivenOptions): string {
  return given[name] === true ? say(name) : say(name, given[name]);
}

/** `a, b and c` */
function listed(names: readonly string[]): string {
  const [last = "", ...before] = [...names].reverse();
  return before.length === 0 ? last : `${before.reverse().join(", ")} and ${last}`;
}
