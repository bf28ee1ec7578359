/**
 * The rate of a clock that a fault has changed. Nodes follow a file; a client process gets a
 * message. Times in the history are the machine's, so that what a client counts by its own clock is
 * converted.
 */
import { existsSync, writeFileSync } from "node:fs";
import { fileURLToPath, pathToFileURL } from "node:url";

/** Next to this file, or next to its source. */
const PLACES = ["preload.js", "../../../jepsen-lite/clocks/preload.js"];

type SetRate = (rate: number) => void;

let setRate: Promise<SetRate> | undefined;
let rateNow = 1;

/** Converts milliseconds of this process to milliseconds of the machine. */
export function trueMs(milliseconds: number): number {
  return milliseconds / rateNow;
}

/** From now on the clocks of this process run at this rate. */
export async function pace(rate: number): Promise<void> {
  setRate ??= loadPacer();
  (await setRate)(rate);
  rateNow = rate;
}

async function loadPacer(): Promise<SetRate> {
  const { paceClocks } = (await import(pathToFileURL(preloadFile()).href)) as {
    paceClocks: () => SetRate;
  };
  return paceClocks();
}

/** The command of a Node.js program, so that its clocks follow the file. */
export function withPacedClocks([node = "", ...words]: readonly string[]): string[] {
  return [node, "--import", pathToFileURL(preloadFile()).href, ...words];
}

export function pacedEnvironment(file: string): NodeJS.ProcessEnv {
  return { HOLDFAST_JEPSEN_CLOCK: file };
}

export function writeRate(file: string, rate: number): void {
  writeFileSync(file, String(rate));
}

function preloadFile(): string {
  const files = PLACES.map((place) => fileURLToPath(new URL(place, import.meta.url)));
  const file = files.find((each) => existsSync(each));
  if (file === undefined) throw new RangeError("jepsen-lite/clocks/preload.js is missing");
  return file;
}
