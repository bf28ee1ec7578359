/**
 * Results of a long run as they come, one per line, so that an interrupted run can continue: a
 * saved measurement is not repeated. Results of another version or of another machine are refused
 * rather than mixed in.
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
   * Opens the file.
   *
   * @param file `undefined`: the results are only kept in memory
   * @param isResumed whether to continue with its contents; otherwise it is overwritten
   * @throws Error if its contents cannot be continued
   */
  static open(file: string | undefined, isResumed: boolean, version: string): SavedResults {
    const saved = new SavedResults(file);
    if (file === undefined) return saved;
    const head = JSON.stringify({ version, node: process.version, machine: hostname() });
    if (isResumed) {
      if (!existsSync(file)) throw new Error(`${file} does not exist: there is nothing to resume`);
      const [first, ...lines] = readFileSync(file, "utf8").split("\n");
      if (first !== head)
        throw new Error(`${file} belongs to another run: ${first}; this one is ${head}`);
      for (const line of lines) saved.#take(line);
    }
    mkdirSync(dirname(file), { recursive: true });
    // Only whole lines: the next one must not be written after half a line.
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

  /** The last line may be incomplete. */
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
