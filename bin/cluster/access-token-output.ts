/**
 * Makes a token and shows it once: on standard output, or in a new file that only its owner can read.
 * It is written nowhere else.
 */
import { lstat } from "node:fs/promises";
import type { Admin, CreatedToken, CredentialOptions } from "../../src/index.js";
import { EXIT } from "../exit/exit-codes.js";
import { Failure, failureOf } from "../exit/failure.js";
import { NewFile } from "../output/new-file.js";
import { note, printOnlyCopy } from "../output/terminal.js";
import { jsonLine } from "../text/printable.js";
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
    await orRemove(admin, name, created, async () => {
      const { token, label, expiresWallMs } = created;
      if (file !== undefined) await save(file, token);
      if (isJson) {
        const shown = out === undefined ? token : null;
        const document = { name, label, token: shown, file: out ?? null, expiresWallMs };
        await printOnlyCopy([jsonLine(document)]);
      } else if (file === undefined) await printOnlyCopy([token]);
    });
  } finally {
    await file?.discard();
  }
  if (isJson) return;
  const { label, expiresWallMs } = created;
  const until = expiresWallMs === 0 ? "" : `, valid until ${expiryText(expiresWallMs, 0)},`;
  const where = out === undefined ? "is shown only this once" : `is in ${out}, for you only`;
  note(`the access token of ${name} with the label ${label}${until} ${where}`);
}

/** A token that nobody has would be valid for nobody's use. */
async function orRemove(
  admin: Admin,
  name: string,
  { label }: CreatedToken,
  work: () => Promise<void>,
): Promise<void> {
  try {
    await work();
  } catch (error) {
    const { exitCode, message } = failureOf(error);
    const way = `holdfast access remove ${name} --label ${label}`;
    const outcome = await admin.access.removeCredential(name, label).then(
      () => "the access token was removed again",
      () => `the access token is lost, remove it: ${way}`,
    );
    throw new Failure(exitCode, `${message}; ${outcome}`, { cause: error });
  }
}

async function save(file: NewFile, token: string): Promise<void> {
  await file.write(Buffer.from(`${token}\n`));
  await file.commit();
}

async function newFile(path: string): Promise<NewFile> {
  const isThere = await lstat(path).then(
    () => true,
    () => false,
  );
  if (!isThere) return NewFile.create(path, false);
  throw new Failure(EXIT.failed, `${path} exists already, and an access token replaces no file`);
}
