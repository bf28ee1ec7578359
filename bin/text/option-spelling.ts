/**
 * How options are spelled for people. The name is written once, in a table, and the spellings follow
 * from it: `killGrace` in a file, `--kill-grace` as a flag and `HOLDFAST_KILL_GRACE` in the environment.
 */
import { optionValueText, type SayOption } from "../../src/errors/index.js";
import { NODE_OPTION_ROWS } from "../../src/node-options/index.js";
import { durationText } from "./durations.js";
import { formatSize } from "./sizes.js";

/** `--kill-grace` */
export function flagOf(name: string): string {
  return `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

/** `HOLDFAST_KILL_GRACE`. `tokenFile` has a longer one, as HOLDFAST_TOKEN is a fencing token. */
export function variableOf(name: string): string {
  const long = name === "tokenFile" ? "accessTokenFile" : name;
  return `HOLDFAST_${long.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}`;
}

/** Says an option of a node, which programs call otherwise, by its flag: `--audit-keep 1m`. */
export const sayFlag: SayOption = (name, value) => {
  const row = NODE_OPTION_ROWS.get(name);
  if (row?.isInternal === true) return value === undefined ? name : `${name} ${String(value)}`;
  const flag = flagOf(row?.flag ?? name);
  if (value === undefined) return flag;
  if (row?.kind.is === "duration") return `${flag} ${durationText(Number(value))}`;
  if (row?.kind.is === "size") return `${flag} ${formatSize(Number(value))}`;
  return `${flag} ${optionValueText(value)}`;
};
