/**
 * Ends the command if `run` itself is killed by SIGKILL and cannot do it: on Linux `setpriv` of
 * util-linux asks the kernel to send SIGKILL to the command when its parent ends, then becomes the
 * command, with the same process id. Without it the command goes on without its lock when the lease
 * has ended, and only the fencing token protects the resource. The kernel drops the request for
 * set-user-id programs, and processes that the command starts do not inherit it. If `run` is killed
 * between the start of `setpriv` and its request, which takes about a millisecond, the command goes
 * on as well.
 */
import { execFile } from "node:child_process";
import { findTool } from "./find-executable.js";

const TOOL = "setpriv";
const ARGUMENTS = ["--pdeathsig", "KILL"];

/** What to put in front of a command; empty if the system cannot do it. */
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
