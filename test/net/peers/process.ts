/**
 * The links of one node in a process of its own, so that a test can stop and kill it. The child is
 * this same file.
 */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { loopback, PeerNode } from "./node.js";

const FILE = fileURLToPath(import.meta.url);

export interface PeerProcessOptions {
  readonly id: number;
  readonly port: number;
  readonly incarnation: number;
  /** The node in the parent, with its port. */
  readonly parentId: number;
  readonly parentPort: number;
}

/** Starts the child; it listens and dials when this resolves. */
export async function startPeerProcess(options: PeerProcessOptions): Promise<ChildProcess> {
  const child = fork(FILE, [JSON.stringify(options)], { execArgv: ["--import", "tsx"] });
  const ended = once(child, "exit").then(([code]) => {
    throw new Error(`the peer's process exited with ${code}`);
  });
  await Promise.race([once(child, "message"), ended]);
  ended.catch(() => undefined);
  return child;
}

/** Resolves when the kernel has taken the process down. */
export async function killed(child: ChildProcess): Promise<void> {
  const exited = once(child, "exit");
  child.kill("SIGKILL");
  await exited;
}

if (process.argv[1] === FILE) {
  const options = JSON.parse(process.argv[2] ?? "") as PeerProcessOptions;
  const { id, port, incarnation, parentId, parentPort } = options;
  const node = new PeerNode({
    ...{ id, port, identity: { incarnation } },
    peers: new Map([[parentId, loopback(parentPort)]]),
  });
  await node.start();
  process.send?.("listening");
  process.once("disconnect", () => process.exit());
}
