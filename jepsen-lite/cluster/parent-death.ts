/**
 * What makes the processes of a run end with the harness even when it is killed while they are
 * stopped: on Linux the kernel can be asked for it by `setpriv` of util-linux. Elsewhere they notice
 * that their standard input ended, once they go on.
 */
import { execFile } from "node:child_process";
import { promisify } from "node:util";

const WORDS = ["setpriv", "--pdeathsig", "KILL", "--"] as const;

/** What to put in front of a command; empty where the system cannot do it. */
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
