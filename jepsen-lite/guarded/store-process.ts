/** The harness's side of the guarded store: starts it, knows its port, ends it. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { runnerOf } from "../harness/scripts.js";

export class StoreProcess {
  readonly host: string;
  readonly port: number;
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess, host: string, port: number) {
    this.#child = child;
    this.host = host;
    this.port = port;
  }

  /** `file`: the file of the database. `host`: where the clients can reach it. */
  static async start(file: string, host: string, prefix: readonly string[]): Promise<StoreProcess> {
    const [command = "", ...rest] = [...prefix, ...runnerOf("guarded/store-main"), file, host];
    const child = spawn(command, rest, { detached: true, stdio: ["pipe", "pipe", "pipe"] });
    let words = "";
    child.on("error", (error) => {
      words += error.message;
    });
    child.stdin.on("error", () => undefined);
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      words = (words + text).slice(-2_000);
    });
    const lines = createInterface({ input: child.stdout });
    const port = await Promise.race([
      once(lines, "line").then(([line]) => Number(line)),
      once(child, "close").then(() => 0),
    ]);
    if (!(port > 0)) throw new Error(`the guarded store did not start\n${words}`);
    return new StoreProcess(child, host, port);
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const closed = once(this.#child, "close");
    this.#child.stdin?.end();
    await closed;
  }
}
