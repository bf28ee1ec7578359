/**
 * What `holdfast settings` decides before it asks for anything: which settings are meant, and whether a
 * value can be one. The cluster checks again; here the refusal names what would be right.
 */
import type { SettingView } from "../../src/index.js";
import { EXIT } from "../output/exit-codes.js";
import { Failure } from "../output/failure.js";

/** All of them, or the one of that name; exit code 2 when there is none. */
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
  throw new Failure(EXIT.usage, `there is no setting ${JSON.stringify(name)}; there are ${names}`);
}

/** What was typed as its value: `undefined` for `default`, or exit code 2. */
export function settingValue({ name, least, most }: SettingView, text: string): number | undefined {
  if (text === "default") return undefined;
  const value = /^\d{1,15}$/.test(text) ? Number(text) : -1;
  if (value >= least && value <= most) return value;
  throw new Failure(
    EXIT.usage,
    `${name} can be a whole number from ${least} to ${most}, or default; not ${text}`,
  );
}
