/**
 * `holdfast cluster` for tests: on free ports, in a process group of its own. Nodes that it leaves
 * running, which only a failure of what is tested does, are killed by `killLeftNodes`.
 */
import { expect } from "vitest";
import { type RunningCli, startCli } from "./command-line.js";
import { isRunning } from "./process-life.js";

interface Ready {
  readonly endpoints: readonly string[];
  readonly leader: number;
  readonly nodes: readonly { id: number; pid: number; endpoint: string; log: string }[];
  readonly access: { readonly state: string; readonly identities: number };
  readonly tls: boolean;
  /** With TLS. */
  readonly ca?: string;
  readonly cert?: string;
  readonly certKey?: string;
}

export interface StartedCluster {
  readonly cluster: RunningCli;
  readonly ready: Ready;
  readonly pids: readonly number[];
}

const nodes: number[] = [];

export function killLeftNodes(): void {
  for (const pid of nodes.splice(0).filter(isRunning)) process.kill(pid, "SIGKILL");
}

export function startLocal(data: string, ...flags: readonly string[]): RunningCli {
  const ports = ["--port=0", "--peer-port=0"];
  return startCli(["cluster", `--data=${data}`, ...ports, ...flags], { ownGroup: true });
}

/** Starts a cluster and waits for the line that says it is ready. */
export async function startReady(
  data: string,
  ...flags: readonly string[]
): Promise<StartedCluster> {
  const cluster = startLocal(data, "--json", ...flags);
  await cluster.printed("\n");
  const ready = JSON.parse(cluster.stdout) as Ready;
  const pids = ready.nodes.map(({ pid }) => pid);
  nodes.push(...pids);
  return { cluster, ready, pids };
}

/** What Ctrl-C does: the signal goes to the whole foreground group. */
export async function interrupt({
  cluster,
  pids,
}: Pick<StartedCluster, "cluster" | "pids">): Promise<void> {
  process.kill(-cluster.pid, "SIGINT");
  expect(await cluster.result).toMatchObject({ code: null, signal: "SIGINT" });
  // At once: it waits for its nodes.
  expect(pids.filter(isRunning)).toEqual([]);
}
