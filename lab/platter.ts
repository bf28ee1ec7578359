/**
 * A directory that can lose its power. `platter.c`, which is built here and loaded into processes,
 * keeps apart what they made durable in it. `losePower` leaves what a disk could have afterwards:
 * of each file, the durable content and any part of what was written since; of each directory, its
 * names as last made durable or as they were in the end. Linux only.
 */
import { execFile, execFileSync } from "node:child_process";
import * as fs from "node:fs";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

/** Next to this file, or next to its source. */
const SOURCES = ["platter.c", "../../lab/platter.c"].map((place) => {
  return fileURLToPath(new URL(place, import.meta.url));
});
/** A disk writes these wholly or not at all. */
const SECTOR_BYTES = 512;

/** Why no power can be lost on this machine; `undefined` where it can. */
export function whyNoPlatter(): string | undefined {
  if (process.platform !== "linux") return "a loss of power needs Linux";
  try {
    execFileSync("cc", ["--version"], { stdio: "ignore" });
    return undefined;
  } catch {
    return "a loss of power needs a C compiler, cc";
  }
}

type Random = () => number;

/** For `losePower`: nothing survives that was not made durable. */
export const NOTHING_MORE: Random = () => 0;

interface Name {
  readonly name: string;
  readonly inode: number;
  readonly isDirectory: boolean;
}

export class Platter {
  /** Below it everything can be lost. */
  readonly root: string;
  readonly #at: string;
  readonly #library: string;

  private constructor(root: string, at: string, library: string) {
    this.root = root;
    this.#at = at;
    this.#library = library;
  }

  /** `directory` is empty, the caller's to remove, and not a link or behind one. */
  static async build(directory: string): Promise<Platter> {
    const library = `${directory}/platter.so`;
    const flags = ["-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-pthread"];
    const source = SOURCES.find((file) => fs.existsSync(file));
    if (source === undefined) throw new Error("lab/platter.c is missing");
    await promisify(execFile)("cc", [...flags, "-o", library, source]);
    const platter = new Platter(`${directory}/root`, `${directory}/platter`, library);
    fs.mkdirSync(platter.root);
    platter.settle();
    return platter;
  }

  /** The environment of a process that uses the files; it is killed in its sync number `syncs`. */
  environment(syncs?: number): NodeJS.ProcessEnv {
    return {
      LD_PRELOAD: this.#library,
      PLATTER_ROOT: this.root,
      PLATTER_AT: this.#at,
      ...(syncs === undefined ? {} : { PLATTER_SYNCS: String(syncs) }),
      // What the ring does is seen by nobody.
      UV_USE_IO_URING: "0",
    };
  }

  /** No process may use the files. Numbers in [0, 1) choose what is left of what was not durable. */
  losePower(random: Random): void {
    const left = `${this.root}.left`;
    this.#rebuild(left, this.root, fs.statSync(this.root).ino, random);
    fs.rmSync(this.root, { recursive: true });
    fs.renameSync(left, this.root);
    this.settle();
  }

  /** From here on, what there is is durable: also what a process without the library has written. */
  settle(): void {
    fs.rmSync(this.#at, { recursive: true, force: true });
    for (const kind of ["held", "durable", "names"]) {
      fs.mkdirSync(`${this.#at}/${kind}`, { recursive: true });
    }
    this.#settleDirectory(this.root);
  }

  #settleDirectory(path: string): void {
    const names = namesIn(path);
    const lines = names.map(({ name, inode, isDirectory }) => {
      if (isDirectory) this.#settleDirectory(`${path}/${name}`);
      else if (!fs.lstatSync(`${path}/${name}`).isSocket()) {
        fs.linkSync(`${path}/${name}`, this.#pathOf("held", inode));
        fs.copyFileSync(`${path}/${name}`, this.#pathOf("durable", inode));
      }
      return `${isDirectory ? "d" : "f"} ${inode} ${name}\n`;
    });
    fs.writeFileSync(this.#pathOf("names", fs.statSync(path).ino), lines.join(""));
  }

  /** `path`: where the directory is in the cache, if it is there under a name that it keeps. */
  #rebuild(to: string, path: string, inode: number, random: Random): void {
    fs.mkdirSync(to, { mode: 0o700 });
    const cached = fs.existsSync(path) ? namesIn(path) : [];
    const names = random() < 0.5 ? this.#durableNames(inode) : cached;
    for (const { name, inode, isDirectory } of names) {
      if (isDirectory) this.#rebuild(`${to}/${name}`, `${path}/${name}`, inode, random);
      else if (!this.#isSocket(inode, `${path}/${name}`)) {
        fs.writeFileSync(`${to}/${name}`, this.#contentOf(inode, `${path}/${name}`, random));
      }
    }
  }

  #durableNames(inode: number): Name[] {
    const path = this.#pathOf("names", inode);
    if (!fs.existsSync(path)) return [];
    const names = new Map<string, Name>();
    for (const line of fs.readFileSync(path, "utf8").split("\n").slice(0, -1)) {
      const [kind, inode, ...words] = line.split(" ");
      const name = words.join(" ");
      names.set(name, { name, inode: Number(inode), isDirectory: kind === "d" });
    }
    return [...names.values()];
  }

  /** It has no content; what is left of its name says nothing to a node that starts. */
  #isSocket(inode: number, path: string): boolean {
    const held = this.#pathOf("held", inode);
    return fs.lstatSync(fs.existsSync(held) ? held : path).isSocket();
  }

  /** `path`: where the file is if it was never held, and then it has that name. */
  #contentOf(inode: number, path: string, random: Random): Buffer {
    const [held, durable] = [this.#pathOf("held", inode), this.#pathOf("durable", inode)];
    const cached = fs.readFileSync(fs.existsSync(held) ? held : path);
    const synced = fs.existsSync(durable) ? fs.readFileSync(durable) : Buffer.alloc(0);
    return cached.equals(synced) ? synced : leftOf(synced, cached, random);
  }

  #pathOf(kind: "held" | "durable" | "names", inode: number): string {
    return `${this.#at}/${kind}/${inode}`;
  }
}

function namesIn(path: string): Name[] {
  return fs.readdirSync(path).map((name) => {
    const status = fs.lstatSync(`${path}/${name}`);
    return { name, inode: status.ino, isDirectory: status.isDirectory() };
  });
}

/** Nothing of what was written since the last sync, all of it, a beginning, or any sectors of it. */
function leftOf(durable: Buffer, cached: Buffer, random: Random): Buffer {
  const choice = random();
  if (choice < 0.25) return durable;
  if (choice < 0.5) return cached;
  const first = firstDifference(durable, cached);
  if (choice < 0.75) {
    const end = first + Math.floor(random() * (cached.length - first));
    return Buffer.concat([cached.subarray(0, end), durable.subarray(end)]);
  }
  const left = Buffer.alloc(Math.max(durable.length, cached.length));
  durable.copy(left);
  let end = durable.length;
  for (let at = first - (first % SECTOR_BYTES); at < cached.length; at += SECTOR_BYTES) {
    if (random() < 0.5) continue;
    const sectorEnd = Math.min(at + SECTOR_BYTES, cached.length);
    cached.copy(left, at, at, sectorEnd);
    end = Math.max(end, sectorEnd);
  }
  return left.subarray(0, end);
}

function firstDifference(a: Buffer, b: Buffer): number {
  let at = 0;
  while (at < a.length && a[at] === b[at]) at += 1;
  return at;
}
