/**
 * What the main process and a job say to each other. The input that is being run is in a file that
 * both have open, so that it is known when the job is gone or goes on forever.
 */
import { closeSync, openSync, readFileSync, writeSync } from "node:fs";
import type { FuzzReport } from "./fuzzer.js";

export interface JobTask {
  readonly target: string;
  readonly seed: number;
  readonly seconds: number;
  readonly countsCoverage: boolean;
}

export interface JobResult extends FuzzReport {
  /** Blocks of the sources that were reached; `undefined`: not counted. */
  readonly branches: number | undefined;
}

/** How many inputs there were, and how long the last one is. */
const HEAD_BYTES = 8;

export class InputFile {
  readonly #file: number;
  #count = 0;

  constructor(path: string) {
    this.#file = openSync(path, "w");
  }

  set(input: Uint8Array): void {
    this.#count += 1;
    const head = Buffer.alloc(HEAD_BYTES);
    head.writeUInt32LE(this.#count, 0);
    head.writeUInt32LE(input.length, 4);
    writeSync(this.#file, Buffer.concat([head, input]), 0, HEAD_BYTES + input.length, 0);
  }

  close(): void {
    closeSync(this.#file);
  }
}

/** What a job has come to. */
export function readInputFile(path: string): {
  readonly count: number;
  readonly input: Uint8Array;
} {
  const bytes = readFileSync(path);
  if (bytes.length < HEAD_BYTES) return { count: 0, input: new Uint8Array(0) };
  const end = HEAD_BYTES + bytes.readUInt32LE(4);
  return { count: bytes.readUInt32LE(0), input: Uint8Array.from(bytes.subarray(HEAD_BYTES, end)) };
}
