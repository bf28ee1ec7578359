/**
 * One node of a test's cluster: a real `holdfast server` process that the test may kill, pause and
 * start again on its data. It ends with the process of the test, whatever ends that.
 */
import { ServerProcess } from "../../../lab/server-process.js";
import type { NodeStatus } from "../../../src/client/admin/cluster-status.js";
import { type PageTls, readPage } from "../../../src/reach/read-page.js";
import { COMMAND } from "./command-line.js";

const PATIENCE = { msMax: 20_000, intervalMs: 20 };
const STOP_MS_MAX = 10_000;
const STATUS_MS_MAX = 1_000;
const STDERR_MAX = 1 << 20;

export interface NodeProgram {
  /** Another file to run. Default: the build's. */
  readonly command?: string;
  /** What is put before the command line of the node, to start it. */
  readonly launcher?: readonly string[];
  /** Added to the environment of the tests; looked at with every start. */
  readonly env?: () => NodeJS.ProcessEnv;
  /** How it is asked for its status over `https:`. */
  readonly tls?: PageTls | undefined;
}

export class NodeHandle {
  readonly id: number;
  readonly endpoint: string;
  readonly #process: ServerProcess;
  readonly #tls: PageTls | undefined;
  #stderr = "";

  constructor(
    id: number,
    endpoint: string,
    serverArguments: readonly string[],
    { command = COMMAND, launcher = [], env, tls }: NodeProgram = {},
  ) {
    this.#tls = tls;
    this.id = id;
    this.endpoint = endpoint;
    this.#process = new ServerProcess(
      {
        name: `node ${id}`,
        command: [...launcher, process.execPath, command, "server", ...serverArguments],
        env: () => ({ ...process.env, ...env?.() }),
      },
      {
        onLine: (line, from) => {
          if (from === "stderr") this.#stderr = `${this.#stderr}${line}\n`.slice(-STDERR_MAX);
        },
      },
    );
  }

  /** 0 while it does not run. */
  get pid(): number {
    return this.isRunning ? (this.#process.pid ?? 0) : 0;
  }

  get isRunning(): boolean {
    return this.#process.isRunning;
  }

  /** The exit code of the last process; `null` while it runs, and when a signal ended it. */
  get exitCode(): number | null {
    return this.#process.exitCode;
  }

  /** Resolves when the process is gone. */
  get exited(): Promise<unknown> {
    return this.#process.exited;
  }

  /** Everything this node wrote to standard error, over all its lives; the last megabyte of it. */
  get stderr(): string {
    return this.#stderr;
  }

  /** Starts the process; resolves when it answers. */
  async start(): Promise<void> {
    this.#process.start();
    await this.#process.answers(async () => (await this.status()) !== undefined, PATIENCE);
  }

  /** Sends the signal (default SIGKILL) and resolves when the process is gone. */
  kill(signal: NodeJS.Signals = "SIGKILL"): Promise<void> {
    return this.#process.end(signal);
  }

  /** SIGHUP, which ends no node that has TLS. */
  hangUp(): void {
    process.kill(this.pid, "SIGHUP");
  }

  pause(): void {
    this.#process.pause();
  }

  resume(): void {
    this.#process.resume();
  }

  /** Stops it in good order if it runs, and starts it on the same data and ports. */
  async restart(): Promise<void> {
    await this.kill("SIGTERM");
    await this.start();
  }

  /** An orderly stop, forced when it takes too long. */
  async stop(): Promise<void> {
    await this.#process.stop(STOP_MS_MAX);
  }

  /** What it says about itself, or `undefined` when it does not answer. */
  async status(): Promise<NodeStatus | undefined> {
    const url = `${this.endpoint.replace(/^ws/, "http")}/status`;
    try {
      const { status, text } = await readPage(url, AbortSignal.timeout(STATUS_MS_MAX), this.#tls);
      return status === 200 ? (JSON.parse(text) as NodeStatus) : undefined;
    } catch {
      // Not there, paused, or just being started: that is the answer.
      return undefined;
    }
  }
}
