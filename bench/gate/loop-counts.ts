/** Asks the nodes of the gate for what `loop-counter.ts` counts in them. */
import { EventEmitter, once } from "node:events";
import type { NodeProcess, NodeRuntime } from "../cluster/node-process.js";

export const COUNTS_SIGNAL = "SIGUSR2";
/** Since the node started. */
export interface LoopCounts {
  readonly turns: number;
  readonly socketWrites: number;
}

export class LoopCounters {
  readonly runtime: NodeRuntime = {
    flags: [`--import=${new URL("./loop-counter.js", import.meta.url).href}`],
    onOutput: (node, line) => this.#lines.emit(String(node), line),
  };
  readonly #lines = new EventEmitter();

  async of({ id, pid }: Pick<NodeProcess, "id" | "pid">, signal: AbortSignal): Promise<LoopCounts> {
    const answered = once(this.#lines, String(id), { signal });
    process.kill(pid, COUNTS_SIGNAL);
    const [line] = (await answered) as [string];
    return JSON.parse(line) as LoopCounts;
  }
}
