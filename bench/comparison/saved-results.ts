/**
 * Results of a long run as they come, one a line, so that a run that was broken off can go on: what
 * is there is not measured again. What was measured by another version, or on another machine, is
 * refused rather than mixed in.
 */
import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { dirname } from "node:path";

interface SavedLine {
  readonly id: string;
  readonly result: object;
}

export class SavedResults {
  readonly #file: string | undefined;
  readonly #results = new Map<string, object>();

  private constructor(file: string | undefined) {
    this.#file = file;
  }

  /**
   * @param file `undefined`: they are kept in memory alone
   * @param isResumed whether to go on with what is in it; else it is begun anew
   * @throws Error when it cannot be gone on with
   */
  static open(file: string | undefined, isResumed: boolean, version: string): SavedResults {
    const saved = new SavedResults(file);
    if (file === undefined) return saved;
    const head = JSON.stringify({ version, node: process.version, machine: hostname() });
    if (isResumed) {
      if (!existsSync(file)) throw new Error(`${file} is not there: nothing to go on with`);
      const [first, ...lines] = readFileSync(file, "utf8").split("\n");
      if (first !== head) throw new Error(`${file} is of another run: ${first}, this is ${head}`);
      for (const line of lines) saved.#take(line);
    }
    mkdirSync(dirname(file), { recursive: true });
    // Whole lines alone: what follows must not be written behind half a one.
    writeFileSync(file, `${head}\n`);
    for (const [id, result] of saved.#results) saved.#append(id, result);
    return saved;
  }

  get(id: string): object | undefined {
    return this.#results.get(id);
  }

  add(id: string, result: object): void {
    this.#results.set(id, result);
    this.#append(id, result);
  }

  #append(id: string, result: object): void {
    const line: SavedLine = { id, result };
    if (this.#file !== undefined) appendFileSync(this.#file, `${JSON.stringify(line)}\n`);
  }

  /** The last line may have been cut short. */
  #take(text: string): void {
    let line: SavedLine;
    try {
      line = JSON.parse(text) as SavedLine;
    } catch {
      return;
    }
    this.#results.set(line.id, line.result);
  }
}
