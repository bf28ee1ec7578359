/**
 * A network of the bench's own: the measurement runs in a network namespace, and strangers come from a
 * second one by a cable between both. Nothing outside can reach either, and both end with their
 * processes. Needs root on Linux, with the programs `unshare`, `nsenter` and `ip`.
 */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";

const MARK = "HOLDFAST_BENCH_NETWORK";
const OWN_ADDRESS = "10.213.7.1";
const STRANGE_ADDRESS = "10.213.7.2";
const MASK = "/24";

/** Whether this process runs in a network of the bench. */
export function isInside(): boolean {
  return process.env[MARK] !== undefined;
}

/** Whether such a network can be made here. */
export function isPossible(): boolean {
  try {
    execFileSync("unshare", ["--net", "ip", "link"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

/** Runs this very command inside, and resolves with what it prints. */
export async function runInside(signal: AbortSignal): Promise<string> {
  const [, main = "", ...argv] = process.argv;
  const args = ["--net", process.execPath, main, ...argv, "--json"];
  const child = spawn("unshare", args, {
    stdio: ["ignore", "pipe", "inherit"],
    env: { ...process.env, [MARK]: "1" },
    signal,
    killSignal: "SIGTERM",
  });
  const [output, [code]] = await Promise.all([text(child.stdout), once(child, "close")]);
  if (code !== 0) throw new Error(`the measurement in its own network ended with ${code}`);
  return output;
}

/** The other end of the cable. */
export class StrangeNetwork {
  /** At which the nodes are reached from there. */
  readonly nodeAddress = OWN_ADDRESS;
  readonly #holder: ChildProcess;

  private constructor(holder: ChildProcess) {
    this.#holder = holder;
  }

  /** Only inside. */
  static async open(): Promise<StrangeNetwork> {
    execFileSync("ip", ["link", "set", "lo", "up"]);
    // It has a namespace, and ends when its standard input does.
    const script = "echo; exec cat";
    const holder = spawn("unshare", ["--net", "sh", "-c", script], {
      stdio: ["pipe", "pipe", "inherit"],
    });
    await once(holder.stdout, "data");
    const pid = String(holder.pid);
    execFileSync("ip", ["link", "add", "hf0", "type", "veth", "peer", "name", "hf1", "netns", pid]);
    execFileSync("ip", ["addr", "add", OWN_ADDRESS + MASK, "dev", "hf0"]);
    execFileSync("ip", ["link", "set", "hf0", "up"]);
    const there = ["--target", pid, "--net", "ip"];
    execFileSync("nsenter", [...there, "addr", "add", STRANGE_ADDRESS + MASK, "dev", "hf1"]);
    execFileSync("nsenter", [...there, "link", "set", "hf1", "up"]);
    return new StrangeNetwork(holder);
  }

  /** The command that runs another one there. */
  get command(): readonly string[] {
    return ["nsenter", "--target", String(this.#holder.pid), "--net"];
  }

  close(): void {
    this.#holder.stdin?.end();
  }
}
