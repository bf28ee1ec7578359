/**
 * The checks of `holdfast settings` before it sends a change: which settings are meant, and whether
 * the value is possible. The cluster checks again; here the error message says what would be right.
 */
import type { SettingView } from "../../src/index.js";
import { EXIT } from "../exit/exit-codes.js";
import { Failure } from "../exit/failure.js";

/** All of them, or the one with that name; exit code 2 if there is none. */
export function settingsNamed(
  settings: readonly SettingView[],
  name: string | undefined,
): readonly SettingView[] {
  if (name === undefined) return settings;
  return [settingNamed(settings, name)];
}

export function settingNamed(settings: readonly SettingView[], name: string): SettingView {
  const found = settings.find((setting) => setting.name === name);
  if (found !== undefined) return found;
  const names = settings.map((setting) => setting.name).join(", ");
  throw new Failure(
    EXIT.usage,
    `there is no setting ${JSON.stringify(name)}; the settings are ${names}`,
  );
}

/** The value that was typed: `undefined` for `default`; exit code 2 for an invalid one. */
export function settingValue({ name, least, most }: SettingView, text: string): number | undefined {
  if (text === "default") return undefined;
  const value = /^\d{1,15}$/.test(text) ? Number(text) : -1;
  if (value >= least && value <= most) return value;
  throw new Failure(
    EXIT.usage,
    `${name} must be a whole number from ${least} to ${most}, or default, not ${text}`,
  );
}
