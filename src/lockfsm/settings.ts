/**
 * The replicated limits of the table: their defaults and the values they can have. They decide
 * results, so every node of a group must use the same ones. They are changed by commands and never
 * read from the options of one node.
 */
import { assert } from "../errors/index.js";
import {
  LEASE_SETTING_MS_MAX,
  LOCK_DELAY_MS_MAX,
  type SettingView,
  WAIT_MS_MAX,
  WAITERS_MAX,
} from "../protocol/index.js";
import type { TableSettings } from "./types.js";

interface SettingRule {
  readonly value: number;
  readonly least: number;
  readonly most: number;
}

const SETTINGS: Readonly<Record<keyof TableSettings, SettingRule>> = Object.freeze({
  waitersMax: { value: WAITERS_MAX, least: 1, most: 10_000_000 },
  unacknowledgedMax: { value: 100_000, least: 1, most: 10_000_000 },
  unitsPerEntryMax: { value: 1_024, least: 1, most: 1_000_000 },
  grantsPerStepMax: { value: 64, least: 1, most: 1_000_000 },
  holdsPerStepMax: { value: 4_096, least: 1, most: 65_536 },
  priorityStepMs: { value: 1_000, least: 0, most: 3_600_000 },
  sessionsMax: { value: 100_000, least: 1, most: 10_000_000 },
  holdsPerSessionMax: { value: 1_000_000, least: 1, most: 100_000_000 },
  waitsPerSessionMax: { value: 1_000_000, least: 1, most: 100_000_000 },
  bytesPerSessionMax: { value: 128 << 20, least: 1, most: 2 ** 40 },
  tableBytesMax: { value: 512 << 20, least: 1, most: 2 ** 40 },
  minHoldMsMax: { value: 24 * 3_600_000, least: 0, most: WAIT_MS_MAX },
  lockDelayMsMax: { value: LOCK_DELAY_MS_MAX, least: 0, most: LOCK_DELAY_MS_MAX },
  // At most an eighth of what the whole table takes, so that a few identities do not fill it.
  sessionsPerIdentityMax: { value: 10_000, least: 1, most: 10_000_000 },
  claimsPerIdentityMax: { value: 400_000, least: 1, most: 100_000_000 },
  bytesPerIdentityMax: { value: 64 << 20, least: 1, most: 2 ** 40 },
  identityLimitsEnforced: { value: 1, least: 0, most: 1 },
  leaseTtlMsMax: { value: 86_400_000, least: 1, most: LEASE_SETTING_MS_MAX },
  endlessLeases: { value: 0, least: 0, most: 1 },
  // A twentieth of a queue, so that nobody has to wait for most of it to be of one identity.
  waitersPerIdentityMax: { value: 5_000, least: 1, most: 10_000_000 },
});

/** In the order in which snapshots store them: new ones must come last. */
export const SETTING_NAMES = Object.keys(SETTINGS) as readonly (keyof TableSettings)[];

export function isSettingName(name: string): name is keyof TableSettings {
  return Object.hasOwn(SETTINGS, name);
}

export function isSettingValue(name: keyof TableSettings, value: number): boolean {
  const { least, most } = SETTINGS[name];
  return Number.isSafeInteger(value) && value >= least && value <= most;
}

/** Completes settings with the defaults; each must be within its limits. */
export function resolveTableSettings(settings: Partial<TableSettings> = {}): TableSettings {
  const resolved = SETTING_NAMES.map((name) => {
    const value = settings[name] ?? SETTINGS[name].value;
    assert(isSettingValue(name, value), () => `table setting ${name} is ${value}`);
    return [name, value];
  });
  // Each command reads some of these. An object that is filled name by name becomes a hash table of V8.
  return Object.freeze(Object.fromEntries(resolved) as TableSettings);
}

/** The settings with one of them changed; `undefined` means its default. */
export function withSetting(
  settings: TableSettings,
  name: keyof TableSettings,
  value: number | undefined,
): TableSettings {
  return resolveTableSettings({ ...settings, [name]: value ?? SETTINGS[name].value });
}

export function viewSettings(settings: TableSettings): readonly SettingView[] {
  return SETTING_NAMES.map((name) => {
    const { value: defaultValue, least, most } = SETTINGS[name];
    return { name, value: settings[name], defaultValue, least, most };
  });
}
