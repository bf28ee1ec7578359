/**
 * Replaces the files of the build before by the files of this one, so that whatever runs or starts
 * meanwhile finds every file that it names: a file whose name contains the hash of its content is
 * there before the files that name it, and stays for a day after the last build that made it. Must
 * never leave a file half written.
 */
import { chmod, mkdir, readdir, rename, rm, stat, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";

const KEPT_MS = 86_400_000;
/** As the bundler names files: `part-3TQUBIXV.js`. */
const HASHED = /-[A-Z0-9]{8}\.\w+$/;

export interface BuiltFile {
  readonly name: string;
  readonly content: Uint8Array | string;
  readonly isExecutable?: boolean;
}

/** `files` in an order in which each names only files before it. */
export async function putInPlace(target: string, files: readonly BuiltFile[]): Promise<void> {
  await mkdir(target, { recursive: true });
  const former = await readdir(target);
  for (const file of files.filter(({ name }) => HASHED.test(name))) {
    if (former.includes(file.name)) await utimes(join(target, file.name), new Date(), new Date());
    else await put(target, file);
  }
  for (const file of files.filter(({ name }) => !HASHED.test(name))) await put(target, file);
  const names = new Set(files.map(({ name }) => name));
  for (const name of former.filter((one) => !names.has(one))) {
    const path = join(target, name);
    const { mtimeMs } = await stat(path);
    const isInUse = HASHED.test(name) && mtimeMs > Date.now() - KEPT_MS;
    if (!isInUse) await rm(path, { recursive: true });
  }
}

async function put(target: string, { name, content, isExecutable }: BuiltFile): Promise<void> {
  const unfinished = join(target, `${name}.${process.pid}`);
  await writeFile(unfinished, content);
  if (isExecutable === true) await chmod(unfinished, 0o755);
  await rename(unfinished, join(target, name));
}
