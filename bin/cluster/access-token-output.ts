/**
 * Makes a token and shows it once: on standard output, or in a new file that only its owner can read.
 * It is written nowhere else.
 */
import { lstat } from "node:fs/promises";
import type { Admin, CreatedToken, CredentialOptions } from "../../src/index.js";
import { EXIT } from "../exit/exit-codes.js";
import { Failure, failureOf } from "../exit/failure.js";
import { NewFile } from "../output/new-file.js";
import { note, print, printJson } from "../output/terminal.js";
import { expiryText } from "../text/wall-time.js";

export interface TokenOutput {
  /** A file; `undefined` for standard output. */
  readonly out: string | undefined;
  readonly isJson: boolean;
}

/** The file is opened before `prepare` and before the token is made: a wrong path changes nothing. */
export async function makeToken(
  admin: Admin,
  name: string,
  options: CredentialOptions,
  { out, isJson }: TokenOutput,
  prepare?: () => Promise<void>,
): Promise<void> {
  const file = out === undefined ? undefined : await newFile(out);
  let created: CreatedToken;
  try {
    await prepare?.();
    created = await admin.access.createToken(name, options);
    if (file !== undefined) await save(file, name, created);
  } finally {
    await file?.discard();
  }
  const { token, label, expiresWallMs } = created;
  if (isJson) {
    const shown = out === undefined ? token : null;
    printJson({ name, label, token: shown, file: out ?? null, expiresWallMs });
    return;
  }
  if (out === undefined) print(token);
  const until = expiresWallMs === 0 ? "" : `, valid until ${expiryText(expiresWallMs, 0)},`;
  const where = out === undefined ? "is shown only this once" : `is in ${out}, for you only`;
  note(`the token of ${name} with the label ${label}${until} ${where}`);
}

async function save(file: NewFile, name: string, created: CreatedToken): Promise<void> {
  try {
    await file.write(Buffer.from(`${created.token}\n`));
    await file.commit();
  } catch (error) {
    const { exitCode, message } = failureOf(error);
    const way = `holdfast access remove ${name} --label ${created.label}`;
    throw new Failure(exitCode, `${message}; the token is lost, remove it: ${way}`, {
      cause: error,
    });
  }
}

async function newFile(path: string): Promise<NewFile> {
  const isThere = await lstat(path).then(
    () => true,
    () => false,
  );
  if (!isThere) return NewFile.create(path, false);
  throw new Failure(EXIT.failed, `${path} exists already, and a token replaces no file`);
}
