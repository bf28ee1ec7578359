/**
 * Which members count on a node, according to its log alone: the members that the last
 * configuration entry in it names, committed or not; after an installed snapshot, the members in
 * the last configuration that was committed up to there.
 */
import { type Configuration, decodeConfiguration, type Entry } from "../../../../src/raft/index.js";
import type { LogicalLog } from "./logical-log.js";

const NOBODY: Configuration = { voters: [], outgoing: [], learners: [], addresses: [] };

export class Members {
  readonly #founders: Configuration;
  readonly #joined = new Set<number>();
  /** By rising index. */
  readonly #committed: Entry[] = [];
  readonly #decoded = new WeakMap<Entry, Configuration>();

  constructor(founders: Configuration) {
    this.#founders = founders;
  }

  /** Node `id` is on a directory that was not made for a founder. */
  onRecovered(id: number): void {
    this.#joined.add(id);
  }

  /** What it is started on next is made as for the first time. */
  onWiped(id: number): void {
    this.#joined.delete(id);
  }

  /** A configuration entry is committed; in the order of the log. */
  onCommitted(entry: Entry): void {
    this.#committed.push(entry);
  }

  /** Those that count on node `id`, whose log this is. */
  inForce(id: number, log: LogicalLog): Configuration {
    const entry = log.lastConfiguration ?? this.#committedUpTo(log.coveredIndex);
    if (entry !== undefined) return this.#decode(entry);
    const isFounder = this.#founders.voters.includes(id) && !this.#joined.has(id);
    const isFounded = log.coveredIndex > 0 || isFounder;
    return isFounded ? this.#founders : NOBODY;
  }

  /** Those that a node which applied everything up to `index` has to know. */
  committedAt(index: number): Configuration {
    const entry = this.#committedUpTo(index);
    return entry === undefined ? this.#founders : this.#decode(entry);
  }

  #committedUpTo(index: number): Entry | undefined {
    return this.#committed.findLast((entry) => entry.index <= index);
  }

  #decode(entry: Entry): Configuration {
    let configuration = this.#decoded.get(entry);
    if (configuration === undefined) {
      configuration = decodeConfiguration(entry.data);
      if (configuration === undefined) throw new Error(`entry ${entry.index} holds no members`);
      this.#decoded.set(entry, configuration);
    }
    return configuration;
  }
}
