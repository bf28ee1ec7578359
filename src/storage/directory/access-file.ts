/**
 * What the directory of a node remembers about access, besides the table: whether this node was
 * told to let nobody in without a name (`required`), and whether its cluster was closed when the
 * node last knew (`closed`). While a node starts or joins, its table is empty or old and would say
 * that the cluster is open. There is no file if neither is true. A file that cannot be read means
 * both.
 */
import { createAtomically, errnoOf, type FileSystem, readWhole } from "../file-system.js";
import { nodeFileSystem } from "../node-file-system.js";

export const ACCESS_FILE_NAME = "access";

export interface AccessFacts {
  readonly isRequired: boolean;
  readonly isClosed: boolean;
}

const NOTHING: AccessFacts = Object.freeze({ isRequired: false, isClosed: false });

export class AccessFile {
  readonly #path: string;
  readonly #fileSystem: FileSystem;
  #facts: AccessFacts;
  /** What was asked to be written last, and when it is. */
  #writing: Promise<void> = Promise.resolve();

  private constructor(fileSystem: FileSystem, path: string, facts: AccessFacts) {
    this.#fileSystem = fileSystem;
    this.#path = path;
    this.#facts = facts;
  }

  /** Reads the file of a data directory, which may be missing. Changes nothing. */
  static async read(path: string, fileSystem: FileSystem = nodeFileSystem): Promise<AccessFile> {
    return new AccessFile(fileSystem, path, await factsIn(fileSystem, path));
  }

  get facts(): AccessFacts {
    return this.#facts;
  }

  /** Resolves when that is durable. The directory must exist by then. */
  note(change: Partial<AccessFacts>): Promise<void> {
    const facts = { ...this.#facts, ...change };
    const { isRequired, isClosed } = this.#facts;
    if (facts.isRequired === isRequired && facts.isClosed === isClosed) return this.#writing;
    this.#facts = facts;
    const content = Buffer.from(textOf(facts), "latin1");
    const write = (): Promise<void> =>
      createAtomically(this.#fileSystem, this.#path, ACCESS_FILE_NAME, content);
    this.#writing = this.#writing.then(write, write);
    return this.#writing;
  }
}

async function factsIn(fileSystem: FileSystem, path: string): Promise<AccessFacts> {
  let text: string;
  try {
    text = (await readWhole(fileSystem, `${path}/${ACCESS_FILE_NAME}`)).toString("latin1");
  } catch (error) {
    // Whatever else is wrong, the directory cannot be opened either.
    if (errnoOf(error) === "ENOENT" || errnoOf(error) === "ENOTDIR") return NOTHING;
    return { isRequired: true, isClosed: true };
  }
  for (const isRequired of [false, true]) {
    for (const isClosed of [false, true]) {
      const facts = { isRequired, isClosed };
      if (text === textOf(facts)) return facts;
    }
  }
  return { isRequired: true, isClosed: true };
}

function textOf({ isRequired, isClosed }: AccessFacts): string {
  return `${isRequired ? "required\n" : ""}${isClosed ? "closed\n" : ""}end\n`;
}
