/** The replicated settings as the naive model knows them: default, least and largest value. */
import type { TableSettings } from "../../../src/lockfsm/index.js";

const RANGES: Readonly<Record<keyof TableSettings, readonly [number, number, number]>> = {
  waitersMax: [100_000, 1, 10_000_000],
  unacknowledgedMax: [100_000, 1, 10_000_000],
  unitsPerEntryMax: [1_024, 1, 1_000_000],
  grantsPerStepMax: [64, 1, 1_000_000],
  holdsPerStepMax: [4_096, 1, 65_536],
  priorityStepMs: [1_000, 0, 3_600_000],
  sessionsMax: [100_000, 1, 10_000_000],
  holdsPerSessionMax: [1_000_000, 1, 100_000_000],
  waitsPerSessionMax: [1_000_000, 1, 100_000_000],
  bytesPerSessionMax: [128 * 1_048_576, 1, 2 ** 40],
  tableBytesMax: [512 * 1_048_576, 1, 2 ** 40],
  minHoldMsMax: [24 * 60 * 60 * 1_000, 0, 2 ** 32 - 1],
  lockDelayMsMax: [60_000, 0, 60_000],
  sessionsPerIdentityMax: [10_000, 1, 10_000_000],
  claimsPerIdentityMax: [400_000, 1, 100_000_000],
  bytesPerIdentityMax: [64 * 1_048_576, 1, 2 ** 40],
  identityLimitsEnforced: [1, 0, 1],
  leaseTtlMsMax: [24 * 60 * 60 * 1_000, 1, 7 * 24 * 60 * 60 * 1_000],
  endlessLeases: [0, 0, 1],
  waitersPerIdentityMax: [5_000, 1, 10_000_000],
};

/** Whether there is such a setting and it may have the value; `undefined` is its default. */
export function isSetting(name: string, value: number | undefined): name is keyof TableSettings {
  const range = Object.entries(RANGES).find(([known]) => known === name)?.[1];
  if (range === undefined) return false;
  const [, least, most] = range;
  return value === undefined || (Number.isSafeInteger(value) && value >= least && value <= most);
}

export function withSetting(
  settings: TableSettings,
  name: keyof TableSettings,
  value: number | undefined,
): TableSettings {
  return { ...settings, [name]: value ?? RANGES[name][0] };
}
