/**
 * What the tests of snapshots begin with: a cluster of real processes with a lock that is held and
 * settings of its own, and a directory for what is saved and restored. Its ports are known before it
 * starts, since the cluster that is made of it takes them over, as in a real recovery.
 */
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "vitest";
import { freePorts } from "../../../lab/free-ports.js";
import { type Client, connect, type Lock } from "../../../src/index.js";
import { type ClusterProcess, startCluster } from "./cluster-process.js";
import type { CliOptions, CliResult } from "./command-line.js";

/** Leases of the clients here: a quiet time must be longer. */
export const TTL_MS = 2_000;
/** A user who owns nothing here. */
export const NOBODY = 65_534;

export interface Restoring {
  /** Default: what was saved as `file()`. */
  readonly from?: string;
  /** Default: `n` and the id. */
  readonly to?: string;
  readonly more?: readonly string[];
}

/** Its functions may be taken out of it before it starts. */
export class SnapshotScene {
  place = "";
  /** Client ports, then peer ports, of both clusters. */
  ports: number[] = [];
  old!: ClusterProcess;
  /** A client of the old cluster, and its lock. */
  client!: Client;
  held!: Lock;

  async start(): Promise<void> {
    this.place = await mkdtemp(join(tmpdir(), "holdfast-snapshot-"));
    // Others may look in: what they are denied is the file's or the directory's own doing.
    await chmod(this.place, 0o755);
    this.ports = await freePorts(6);
    this.old = await startCluster({ ports: this.ports });
    this.client = await connect({ endpoints: this.old.endpoints, ttlMs: TTL_MS, name: "old" });
    this.held = await this.client.acquire("held");
    expect((await this.ask(["settings", "set", "waitersMax", "77"])).code).toBe(0);
    expect((await this.ask(["limit", "pool", "7"])).code).toBe(0);
  }

  /** Also ends what a start that failed has left. */
  async stop(): Promise<void> {
    await this.client?.close();
    await this.old?.stop();
    await rm(this.place, { recursive: true, force: true });
  }

  readonly file = (name = "locks.hfs"): string => join(this.place, name);

  readonly membersText = (): string =>
    [1, 2, 3].map((id) => `${id}=127.0.0.1:${this.ports[2 + id]}`).join(",");

  /** Runs a command that knows the old cluster. */
  readonly ask = (args: readonly string[], options?: CliOptions): Promise<CliResult> =>
    this.old.holdfast(args, options);

  readonly restore = (
    id: number,
    { from, to = `n${id}`, more }: Restoring = {},
  ): Promise<CliResult> =>
    this.ask([
      ...["snapshot", "restore", from ?? this.file(), `--id=${id}`],
      ...[`--data=${join(this.place, to)}`, `--initial-cluster=${this.membersText()}`],
      "--restore-id=drill",
      ...(more ?? []),
    ]);
}
