/**
 * Makes the processes of a run end with the harness even if it is killed while they are stopped: on
 * Linux `setpriv` of util-linux asks the kernel for that. Elsewhere they notice that their standard
 * input has ended when they continue.
 */
import { execFile } from "node:child_process";
import { promisify } from "node:util";

const WORDS = ["setpriv", "--pdeathsig", "KILL", "--"] as const;

/** What to put in front of a command; empty if the system cannot do it. */
export async function parentDeathPrefix(): Promise<readonly string[]> {
  if (process.platform !== "linux") return [];
  const [command, ...rest] = WORDS;
  try {
    await promisify(execFile)(command, [...rest, process.execPath, "--version"]);
    return WORDS;
  } catch {
    return [];
  }
}
