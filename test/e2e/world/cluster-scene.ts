/**
 * The usual set-up of tests of commands: a cluster of real processes, and a client that prepares
 * and checks the state on which the commands act. A test file starts it before its first test and
 * stops it after its last.
 */
import { endAllStarted } from "../../../lab/end-with-process.js";
import { type Client, type ConnectOptions, connect } from "../../../src/index.js";
import { type ClusterOptions, type ClusterProcess, startCluster } from "./cluster-process.js";
import type { CliOptions, CliResult, RunningCli } from "./command-line.js";

export class ClusterScene {
  cluster!: ClusterProcess;
  client!: Client;
  readonly #clusterOptions: ClusterOptions;
  readonly #clientOptions: Omit<ConnectOptions, "endpoints">;

  constructor(
    clusterOptions: ClusterOptions = {},
    clientOptions: Omit<ConnectOptions, "endpoints"> = {},
  ) {
    this.#clusterOptions = clusterOptions;
    this.#clientOptions = clientOptions;
  }

  get endpoints(): string[] {
    return this.cluster.endpoints;
  }

  async start(): Promise<void> {
    this.cluster = await startCluster(this.#clusterOptions);
    this.client = await connect({ ...this.#clientOptions, endpoints: this.endpoints });
  }

  /** Also cleans up after a failed start, and kills every command that still runs. */
  async stop(): Promise<void> {
    await this.client?.close();
    await this.cluster?.stop();
    endAllStarted();
  }

  /** As `ClusterProcess.holdfast`. */
  readonly holdfast = (args: readonly string[], options?: CliOptions): Promise<CliResult> =>
    this.cluster.holdfast(args, options);

  /** As `ClusterProcess.startHoldfast`. */
  readonly startHoldfast = (args: readonly string[], options?: CliOptions): RunningCli =>
    this.cluster.startHoldfast(args, options);
}
