/**
 * Where a saved snapshot goes: a file, or standard output if the name is `-`. Bytes written to
 * standard output have been read, and cannot be taken back.
 */
import { EXIT } from "../exit/exit-codes.js";
import { Failure } from "../exit/failure.js";
import { NewFile, type Target } from "./new-file.js";

export const STANDARD_STREAM = "-";

/** Fails with exit code 1 or 2, before anything was written. */
export function openTarget(path: string, replaces: boolean): Promise<Target> {
  if (path !== STANDARD_STREAM) return NewFile.create(path, replaces);
  return Promise.resolve(new StandardOutput());
}

/** A useless target is refused before a cluster is asked. */
export function demandTarget(path: string, isJson: boolean): void {
  if (path !== STANDARD_STREAM) return;
  if (isJson) {
    throw new Failure(EXIT.usage, "--json and - exclude each other: both are standard output");
  }
  if (process.stdout.isTTY) {
    throw new Failure(
      EXIT.usage,
      "a snapshot cannot be written to a terminal: give a file, or redirect -",
    );
  }
}

class StandardOutput implements Target {
  write(bytes: Uint8Array): Promise<void> {
    return new Promise((resolve, reject) => {
      process.stdout.write(bytes, (error) => {
        if (error === null || error === undefined) resolve();
        else reject(new Failure(EXIT.failed, `cannot write to standard output: ${error.message}`));
      });
    });
  }

  async commit(): Promise<void> {}

  async discard(): Promise<void> {}
}
