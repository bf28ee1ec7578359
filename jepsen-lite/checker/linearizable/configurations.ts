/**
 * The memo of the search: every configuration that was reached, in typed arrays, found by its hash
 * and compared in full, so that a collision can never hide a linearization. Rows are also the
 * trail: each names the row it came from and the step between them.
 */
import type { OpenEffects } from "./open-effects.js";

/** A configuration that is being worked on. */
export interface Workspace {
  /** The number of returns that are accounted for. */
  layer: number;
  state: number;
  /** The number of the set of steps with unknown outcome that took effect. */
  effects: number;
  /** 1 if the last step was one of unknown outcome and no later step has depended on it yet. */
  unseen: number;
  /** One bit per slot of an open operation: it took effect before it returned. */
  readonly taken: Int32Array;
  /** One bit per slot, too: it may count as having taken effect where that made no difference. */
  readonly coverable: Int32Array;
}

/** The layer, twice, and whether the last step is unseen. */
const LAYER = 0;
const STATE = 1;
const EFFECTS = 2;
const PARENT = 3;
const STEP = 4;
const NEXT = 5;
const TAKEN = 6;

const ROWS_PER_CHUNK = 1024;
const NONE = -1;

export class Configurations {
  readonly #effects: OpenEffects;
  readonly #words: number;
  readonly #width: number;
  readonly #chunks: Int32Array[] = [];
  #heads = new Int32Array(256).fill(NONE);
  #count = 0;

  /** @param words how many 32-bit words the open operations of a configuration need. */
  constructor(words: number, effects: OpenEffects) {
    this.#words = words;
    this.#width = TAKEN + 2 * words;
    this.#effects = effects;
  }

  get count(): number {
    return this.#count;
  }

  get bytes(): number {
    return this.#chunks.length * ROWS_PER_CHUNK * this.#width * 4 + this.#heads.length * 4;
  }

  /**
   * Remembers the configuration and returns its row; returns -1 if a known one can do at least as
   * much: same layer, state and open operations, at least as many of them coverable, no more of the
   * unknown ones used, and nothing unseen unless here as well.
   */
  add(workspace: Workspace, parent: number, step: number): number {
    const bucket = this.#hash(workspace) & (this.#heads.length - 1);
    let before = NONE;
    let next = NONE;
    for (let row = this.#heads[bucket] as number; row !== NONE; row = next) {
      next = this.#word(row, NEXT);
      const relation = this.#compare(row, workspace);
      if (relation === "covers") return NONE;
      // A row that the new one covers need not be compared any more; it stays as part of the trail.
      if (relation === "covered") this.#unlink(bucket, before, next);
      else before = row;
    }
    const row = this.#append(workspace, parent, step, this.#heads[bucket] as number);
    this.#heads[bucket] = row;
    if (this.#count > this.#heads.length) this.#grow();
    return row;
  }

  load(row: number, into: Workspace): void {
    const chunk = this.#chunks[Math.floor(row / ROWS_PER_CHUNK)] as Int32Array;
    const at = (row % ROWS_PER_CHUNK) * this.#width;
    const layer = chunk[at + LAYER] as number;
    into.layer = layer >>> 1;
    into.unseen = layer & 1;
    into.state = chunk[at + STATE] as number;
    into.effects = chunk[at + EFFECTS] as number;
    for (let word = 0; word < this.#words; word += 1) {
      into.taken[word] = chunk[at + TAKEN + word] as number;
      into.coverable[word] = chunk[at + TAKEN + this.#words + word] as number;
    }
  }

  parent(row: number): number {
    return this.#word(row, PARENT);
  }

  step(row: number): number {
    return this.#word(row, STEP);
  }

  #word(row: number, word: number): number {
    const chunk = this.#chunks[Math.floor(row / ROWS_PER_CHUNK)] as Int32Array;
    return chunk[(row % ROWS_PER_CHUNK) * this.#width + word] as number;
  }

  #compare(row: number, workspace: Workspace): "covers" | "covered" | "apart" {
    const chunk = this.#chunks[Math.floor(row / ROWS_PER_CHUNK)] as Int32Array;
    const at = (row % ROWS_PER_CHUNK) * this.#width;
    const layer = chunk[at + LAYER] as number;
    if (layer >>> 1 !== workspace.layer) return "apart";
    if (chunk[at + STATE] !== workspace.state) return "apart";
    const unseen = layer & 1;
    let mayCover = unseen <= workspace.unseen;
    let mayBeCovered = workspace.unseen <= unseen;
    for (let word = 0; word < this.#words; word += 1) {
      if (chunk[at + TAKEN + word] !== workspace.taken[word]) return "apart";
      const mine = chunk[at + TAKEN + this.#words + word] as number;
      const theirs = workspace.coverable[word] as number;
      if ((mine & theirs) !== theirs) mayCover = false;
      if ((mine & theirs) !== mine) mayBeCovered = false;
    }
    const effects = chunk[at + EFFECTS] as number;
    if (mayCover && this.#effects.isSubset(effects, workspace.effects)) return "covers";
    if (mayBeCovered && this.#effects.isSubset(workspace.effects, effects)) return "covered";
    return "apart";
  }

  #unlink(bucket: number, before: number, next: number): void {
    if (before === NONE) {
      this.#heads[bucket] = next;
      return;
    }
    const chunk = this.#chunks[Math.floor(before / ROWS_PER_CHUNK)] as Int32Array;
    chunk[(before % ROWS_PER_CHUNK) * this.#width + NEXT] = next;
  }

  #append(workspace: Workspace, parent: number, step: number, next: number): number {
    const row = this.#count;
    if (row % ROWS_PER_CHUNK === 0) {
      this.#chunks.push(new Int32Array(ROWS_PER_CHUNK * this.#width));
    }
    const chunk = this.#chunks[this.#chunks.length - 1] as Int32Array;
    const at = (row % ROWS_PER_CHUNK) * this.#width;
    chunk[at + LAYER] = (workspace.layer << 1) | workspace.unseen;
    chunk[at + STATE] = workspace.state;
    chunk[at + EFFECTS] = workspace.effects;
    chunk[at + PARENT] = parent;
    chunk[at + STEP] = step;
    chunk[at + NEXT] = next;
    chunk.set(workspace.taken, at + TAKEN);
    chunk.set(workspace.coverable, at + TAKEN + this.#words);
    this.#count += 1;
    return row;
  }

  /** Sets of unknown steps are left out: configurations that cover each other share a bucket. */
  #hash(workspace: Workspace): number {
    let hash = Math.imul(workspace.layer ^ 0x9e3779b9, 0x85ebca6b) ^ workspace.state;
    for (let word = 0; word < this.#words; word += 1) {
      hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d) ^ (workspace.taken[word] as number);
    }
    hash = Math.imul(hash ^ (hash >>> 16), 0x7feb352d);
    hash = Math.imul(hash ^ (hash >>> 15), 0x846ca68b);
    return (hash ^ (hash >>> 16)) >>> 0;
  }

  #grow(): void {
    const workspace: Workspace = {
      layer: 0,
      state: 0,
      effects: 0,
      unseen: 0,
      taken: new Int32Array(this.#words),
      coverable: new Int32Array(this.#words),
    };
    const heads = new Int32Array(this.#heads.length * 4).fill(NONE);
    for (const head of this.#heads) {
      let next = NONE;
      for (let row = head; row !== NONE; row = next) {
        next = this.#word(row, NEXT);
        this.load(row, workspace);
        const bucket = this.#hash(workspace) & (heads.length - 1);
        const chunk = this.#chunks[Math.floor(row / ROWS_PER_CHUNK)] as Int32Array;
        chunk[(row % ROWS_PER_CHUNK) * this.#width + NEXT] = heads[bucket] as number;
        heads[bucket] = row;
      }
    }
    this.#heads = heads;
  }
}
