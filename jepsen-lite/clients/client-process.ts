/**
 * The harness's side of one client process: starts it, reads its lines, stops, continues and kills
 * it. It runs in a session of its own, so that Ctrl-C reaches only the harness. Its standard input
 * closes when the harness ends for any reason, and then the client ends too.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { clientRunner } from "../harness/scripts.js";
import type { ClientLine, ClientOrder, ClientPlan } from "./client-messages.js";

const STDERR_CHARACTERS_MAX = 8_192;

export interface ClientProcessEvents {
  onLine(line: ClientLine): void;
  /** It is gone, and all of its lines were read. `error`: it should not be gone. */
  onEnd(error: Error | undefined): void;
}

export class ClientProcess {
  readonly plan: ClientPlan;
  /** Resolves when it is gone and all of its lines were read. */
  readonly ended: Promise<void>;
  readonly #child: ChildProcess;
  #isKilled = false;
  #isPaused = false;
  #stderr = "";

  constructor(plan: ClientPlan, prefix: readonly string[], events: ClientProcessEvents) {
    this.plan = plan;
    const words = [...prefix, ...clientRunner(), JSON.stringify(plan)];
    const [command = "", ...rest] = words;
    const child = spawn(command, rest, { detached: true, stdio: ["pipe", "pipe", "pipe"] });
    this.#child = child;
    child.on("error", () => undefined);
    child.stdin.on("error", () => undefined);
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      this.#stderr = (this.#stderr + text).slice(-STDERR_CHARACTERS_MAX);
    });
    const lines = createInterface({ input: child.stdout });
    const read = once(lines, "close");
    lines.on("line", (line) => {
      const parsed = parseLine(line);
      // The last line of a killed process may be torn; its operation was not completed, so nothing
      // is lost.
      if (parsed !== undefined) events.onLine(parsed);
      else if (!this.#isKilled)
        events.onLine({ failed: `did not write JSON: ${line.slice(0, 200)}` });
    });
    this.ended = Promise.all([once(child, "close"), read]).then(([[code, signal]]) => {
      const isExpected = this.#isKilled || code === 0;
      const how = signal === null ? `exit code ${code}` : String(signal);
      const error = new Error(`client ${plan.client} ended: ${how}\n${this.#stderr}`.trim());
      events.onEnd(isExpected ? undefined : error);
    });
  }

  get isPaused(): boolean {
    return this.#isPaused;
  }

  pause(): void {
    this.#isPaused = true;
    this.#child.kill("SIGSTOP");
  }

  resume(): void {
    this.#isPaused = false;
    this.#child.kill("SIGCONT");
  }

  async kill(): Promise<void> {
    this.#isKilled = true;
    this.#child.kill("SIGKILL");
    await this.ended;
  }

  order(order: ClientOrder): void {
    this.#child.stdin?.write(`${JSON.stringify(order)}\n`);
  }
}

function parseLine(line: string): ClientLine | undefined {
  try {
    return JSON.parse(line) as ClientLine;
  } catch {
    return undefined;
  }
}
