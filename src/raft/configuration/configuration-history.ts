/**
 * Which configuration is in force: the latest one in the log, committed or not, from the moment its
 * entry is appended (thesis, 4.1; consensus rule 9). Removing the end of the log brings the
 * previous one back; removing its beginning keeps the one in force there. It must change only
 * together with the log.
 */
import { assert } from "../../errors/index.js";
import type { Configuration, Entry } from "../types.js";
import { assertConfiguration } from "./configuration.js";
import { decodeConfiguration } from "./configuration-codec.js";

interface PlacedConfiguration {
  /** The index of its entry; for the first one, of the end of the log or snapshot. */
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

  /** The configuration in force. */
  get effective(): Configuration {
    return this.latest.configuration;
  }

  /** The index of the entry that brought the configuration in force. */
  get effectiveIndex(): number {
    return this.latest.index;
  }

  /** The previous configuration, while the log holds the entry that changed it. */
  get previous(): Configuration | undefined {
    return this.placed.at(-2)?.configuration;
  }

  /** The number of configurations after `index`. */
  countAfter(index: number): number {
    let count = 0;
    for (const placed of this.placed) if (placed.index > index) count += 1;
    return count;
  }

  /** The configuration in force at `index`, which must not be before the first known one. */
  at(index: number): Configuration {
    const found = this.placed.findLast((placed) => placed.index <= index);
    assert(found !== undefined, () => `no configuration is known for entry ${index}`);
    return found.configuration;
  }

  /** A configuration entry was appended. */
  append(entry: Entry): void {
    const { index } = entry;
    assert(index > this.latest.index, () => `configuration ${index} after ${this.latest.index}`);
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

  /** A snapshot up to `index` replaced the log. */
  reset(index: number, configuration: Configuration): void {
    assertConfiguration(configuration);
    this.latest = { index, configuration };
    this.placed = [this.latest];
  }
}
