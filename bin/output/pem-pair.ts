/**
 * A certificate and its key, in two files of one name. Only the owner may ever read the key. Both files
 * appear under their names after both were written, so that a full disk leaves no half of a pair.
 */
import { mkdir, readFile } from "node:fs/promises";
import { dirname } from "node:path";
import { EXIT } from "../exit/exit-codes.js";
import { Failure, systemCodeOf } from "../exit/failure.js";
import { fileFailure, NewFile } from "./new-file.js";

export interface PemPair {
  readonly certificatePem: string;
  readonly keyPem: string;
}

export interface PemPaths {
  readonly certificate: string;
  readonly key: string;
}

/** Everyone may read a certificate. */
const MODE = { certificate: 0o644, key: 0o600 };

/** `path` is without `.crt` and `.key`. */
export function pemPathsOf(path: string): PemPaths {
  return { certificate: `${path}.crt`, key: `${path}.key` };
}

/** Writes both files, or neither if one of them exists and `replaces` is not set. */
export async function savePemPair(
  paths: PemPaths,
  { certificatePem, keyPem }: PemPair,
  replaces: boolean,
): Promise<void> {
  const directory = dirname(paths.certificate);
  try {
    await mkdir(directory, { recursive: true });
  } catch (error) {
    if (systemCodeOf(error) !== "EEXIST") throw fileFailure("write", paths.certificate, error);
    throw new Failure(EXIT.failed, `${directory} is not a directory`, { cause: error });
  }
  const targets: NewFile[] = [];
  try {
    for (const [path, text, mode] of [
      [paths.key, keyPem, MODE.key],
      [paths.certificate, certificatePem, MODE.certificate],
    ] as const) {
      const target = await NewFile.create(path, replaces, mode);
      targets.push(target);
      await target.write(Buffer.from(text));
    }
    for (const target of targets) await target.commit();
  } finally {
    for (const target of targets) await target.discard();
  }
}

/** The text of a file; `undefined` if there is none. Fails with exit code 1 for any other reason. */
export async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    if (systemCodeOf(error) === "ENOENT") return undefined;
    throw fileFailure("read", path, error);
  }
}
