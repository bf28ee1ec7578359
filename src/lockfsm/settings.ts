/**
 * The replicated limits of the table, with their defaults. They decide outcomes, so every node of
 * a group must use the same ones: they are never read from one node's options.
 */
import { assert } from "../assert.js";
import { IN_FLIGHT_MAX, WAITERS_MAX } from "../protocol/index.js";
import type { TableSettings } from "./types.js";

const TABLE_SETTINGS_DEFAULTS: TableSettings = Object.freeze({
  waitersMax: WAITERS_MAX,
  inFlightMax: IN_FLIGHT_MAX,
  unacknowledgedMax: 100_000,
  unitsPerEntryMax: 1_024,
  grantsPerStepMax: 64,
});

/** Completes settings with the defaults; each must be a positive safe integer. */
export function resolveTableSettings(settings: Partial<TableSettings> = {}): TableSettings {
  const resolved = Object.freeze({ ...TABLE_SETTINGS_DEFAULTS, ...settings });
  for (const [name, value] of Object.entries(resolved)) {
    assert(Number.isSafeInteger(value) && value > 0, () => `table setting ${name} is ${value}`);
  }
  return resolved;
}
