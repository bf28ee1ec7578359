/**
 * Takes the command along when `run` itself is killed by SIGKILL and can do nothing any more: on
 * Linux `setpriv` of util-linux asks the kernel to send the command SIGKILL when its parent ends,
 * then becomes the command, with the same process id. Where it is missing the command goes on
 * without its lock once the lease has ended; only the fencing token protects the resource then. The
 * kernel drops the request for set-user-id programs, and what the command itself starts does not
 * inherit it. A `run` that is killed between the start of `setpriv` and its request, a matter of a
 * millisecond, leaves the command behind as well.
 */
import { execFile } from "node:child_process";
import { findTool } from "./find-executable.js";

const TOOL = "setpriv";
const ARGUMENTS = ["--pdeathsig", "KILL"];

/** What to put in front of a command; empty where the system cannot do it. */
export async function parentDeathPrefix(): Promise<readonly string[]> {
  if (process.platform !== "linux") return [];
  const tool = findTool(TOOL);
  const probe = findTool("true");
  if (tool === undefined || probe === undefined) return [];
  // Other packages have a `setpriv` that does not know the option.
  const works = await new Promise<boolean>((resolve) => {
    execFile(tool, [...ARGUMENTS, probe], (error) => resolve(error === null));
  });
  return works ? [tool, ...ARGUMENTS, "--"] : [];
}
