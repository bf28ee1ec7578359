/** One value for everything that happened in a run, in order: equal runs have equal hashes. */
export class RollingHash {
  #first = 0x811c_9dc5;
  #second = 0x2545_f491;

  number(value: number): void {
    this.#word(value | 0);
    this.#word((value / 0x1_0000_0000) | 0);
  }

  text(text: string): void {
    for (let at = 0; at < text.length; at += 1) this.#word(text.charCodeAt(at));
  }

  /** 16 hex digits. */
  hex(): string {
    const lanes = [this.#first, this.#second].map((lane) => lane >>> 0);
    return lanes.map((lane) => lane.toString(16).padStart(8, "0")).join("");
  }

  #word(word: number): void {
    this.#first = Math.imul(this.#first ^ word, 0x0100_0193);
    this.#first ^= this.#first >>> 15;
    this.#second = Math.imul(this.#second + word, 0x9e37_79b1);
    this.#second ^= this.#second >>> 13;
  }
}
