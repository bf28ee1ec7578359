/**
 * A three-node cluster for one run of the bench: the built command, real processes, a temporary
 * directory, free ports of this machine. It ends with this process: its standard input is a pipe
 * that breaks when this process is gone, whatever ended it.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const READY_MS_MAX = 60_000;

export interface ClusterNode {
  readonly id: number;
  readonly pid: number;
  readonly endpoint: string;
}

export interface OwnCluster {
  readonly endpoints: readonly string[];
  readonly nodes: readonly ClusterNode[];
  /** Resolves when the cluster ended although nobody had stopped it. */
  readonly ended: Promise<void>;
  stop(): Promise<void>;
}

/** Rejects when the command is not built or the cluster does not come up. */
export async function startOwnCluster(): Promise<OwnCluster> {
  const entry = findCommand();
  const directory = await mkdtemp(join(tmpdir(), "holdfast-bench-"));
  const child = spawn(
    process.execPath,
    [
      entry,
      "cluster",
      "--json",
      "--stop-on-stdin-end",
      "--nodes=3",
      "--port=0",
      "--peer-port=0",
      `--data=${join(directory, "data")}`,
    ],
    // In a session of its own: Ctrl-C is for this process, which then stops the cluster.
    { detached: true, stdio: ["pipe", "pipe", "inherit"] },
  );
  child.stdin.on("error", () => undefined);
  const gone = once(child, "exit").then(() => undefined);
  const stop = async (): Promise<void> => {
    child.stdin.end();
    await gone;
    await rm(directory, { recursive: true, force: true });
  };
  try {
    const line = await firstLine(child.stdout, gone);
    const ready: { endpoints: string[]; nodes: ClusterNode[] } = JSON.parse(line);
    return { endpoints: ready.endpoints, nodes: ready.nodes, ended: gone, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function firstLine(stream: NodeJS.ReadableStream, gone: Promise<void>): Promise<string> {
  const lines = createInterface({ input: stream });
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error("the cluster did not become ready")), READY_MS_MAX);
  });
  try {
    const line = await Promise.race([once(lines, "line"), gone, late]);
    if (!Array.isArray(line)) throw new Error("the cluster ended before it was ready");
    return String(line[0]);
  } finally {
    clearTimeout(timer);
    lines.close();
  }
}

/** The built command, seen from `dist/bench` and from `bench`. */
function findCommand(): string {
  for (const path of ["../bin/holdfast.js", "../dist/bin/holdfast.js"]) {
    const file = fileURLToPath(new URL(path, import.meta.url));
    if (existsSync(file)) return file;
  }
  throw new Error("dist/bin/holdfast.js is missing: run npm run build");
}
