/**
 * Which configuration counts: that of the latest configuration entry in the log, committed or not,
 * from the moment it is appended (thesis, 4.1; consensus rule 9). Cutting the log's end brings the
 * one before back; cutting its beginning keeps the one in force there. It must change only together
 * with the log.
 */
import { assert } from "../../assert.js";
import type { Configuration, Entry } from "../types.js";
import { assertConfiguration } from "./configuration.js";
import { decodeConfiguration } from "./configuration-codec.js";

interface PlacedConfiguration {
  /** Of the entry that carries it; of the log's or the snapshot's end for the first one. */
  readonly index: number;
  readonly configuration: Configuration;
}

export class ConfigurationHistory {
  /** By rising index, never empty. */
  private placed: PlacedConfiguration[];
  private latest: PlacedConfiguration;

  /** `configuration` is in force at `index`. */
  constructor(index: number, configuration: Configuration) {
    assertConfiguration(configuration);
    this.latest = { index, configuration };
    this.placed = [this.latest];
  }

  /** What counts now. */
  get effective(): Configuration {
    return this.latest.configuration;
  }

  /** The entry that brought what counts now. */
  get effectiveIndex(): number {
    return this.latest.index;
  }

  /** What counted before, for as long as the log holds the entry that changed it. */
  get previous(): Configuration | undefined {
    return this.placed.at(-2)?.configuration;
  }

  /** How many came behind `index`. */
  countBehind(index: number): number {
    let count = 0;
    for (const placed of this.placed) if (placed.index > index) count += 1;
    return count;
  }

  /** What is in force at `index`, which must not lie before everything that is known. */
  at(index: number): Configuration {
    const found = this.placed.findLast((placed) => placed.index <= index);
    assert(found !== undefined, () => `no configuration is known for entry ${index}`);
    return found.configuration;
  }

  /** A configuration entry was appended. */
  append(entry: Entry): void {
    const { index } = entry;
    assert(index > this.latest.index, () => `configuration ${index} behind ${this.latest.index}`);
    const configuration = decodeConfiguration(entry.data);
    assert(configuration !== undefined, () => `entry ${index} holds no configuration`);
    this.latest = { index, configuration };
    this.placed.push(this.latest);
  }

  /** Every entry from `from` on was removed. */
  truncate(from: number): void {
    while (this.latest.index >= from) {
      this.placed.pop();
      const before = this.placed.at(-1);
      assert(before !== undefined, () => `no configuration before entry ${from}`);
      this.latest = before;
    }
  }

  /** Every entry up to `index` was removed. */
  compactTo(index: number): void {
    const first = this.placed.findLastIndex((placed) => placed.index <= index);
    if (first > 0) this.placed = this.placed.slice(first);
  }

  /** A snapshot up to `index` took the place of the log. */
  reset(index: number, configuration: Configuration): void {
    assertConfiguration(configuration);
    this.latest = { index, configuration };
    this.placed = [this.latest];
  }
}
