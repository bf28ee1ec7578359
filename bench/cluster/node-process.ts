/**
 * One node of the bench's own cluster: a real `holdfast server` process that can be killed, stopped
 * and started again on its data. Its log is kept as events with their times.
 */
import { ServerProcess } from "../../lab/server-process.js";
import { findCommand } from "./find-command.js";
import { fetchFigures } from "./node-pages.js";

const PATIENCE = { msMax: 60_000, intervalMs: 10 };
const EVENTS_MAX = 10_000;

/** A line of a node's log. */
export interface NodeEvent {
  /** By the wall clock of this machine. */
  readonly wallMs: number;
  readonly event: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** How Node.js runs the node, if that is not the usual way. */
export interface NodeRuntime {
  /** Flags of Node.js. */
  readonly flags?: readonly string[];
  /** Takes the standard output of Node.js; a node itself writes nothing there. */
  readonly onOutput?: (node: number, line: string) => void;
}

export class NodeProcess {
  readonly id: number;
  readonly endpoint: string;
  /** The latest events of all its processes. */
  readonly events: NodeEvent[] = [];
  readonly #process: ServerProcess;

  /** `onDeath`: it ended although it was not stopped here. `runtime`: see there. */
  constructor(
    id: number,
    endpoint: string,
    serverArguments: readonly string[],
    onDeath: (error: Error) => void,
    { flags = [], onOutput }: NodeRuntime = {},
  ) {
    this.id = id;
    this.endpoint = endpoint;
    const server = [findCommand(), "server", "--log-format=json", "--stop-on-stdin-end"];
    const command = [process.execPath, ...flags, ...server, ...serverArguments];
    this.#process = new ServerProcess(
      // Ctrl-C is for this process, which then ends its nodes.
      { name: `node ${id}`, command, isDetached: true },
      {
        onLine: (line, from) => {
          if (from === "stderr") this.#keep(line);
          else onOutput?.(id, line);
        },
        onExit: (isWanted) => {
          if (isWanted) return;
          onDeath(new Error(`node ${id} ended by itself\n${this.#process.lastWords}`));
        },
      },
    );
  }

  /** 0 while it does not run. */
  get pid(): number {
    return this.#process.isRunning ? (this.#process.pid ?? 0) : 0;
  }

  /** Starts the process. It does not answer yet. */
  spawn(): void {
    this.#process.start();
  }

  /** Resolves when the node answers over HTTP. */
  answers(signal: AbortSignal): Promise<void> {
    const isAnswering = async () => (await fetchFigures(this.endpoint)) !== undefined;
    return this.#process.answers(isAnswering, { ...PATIENCE, signal });
  }

  /** Sends a signal that ends the node; `exited` says when it is gone. */
  signal(name: "SIGKILL" | "SIGTERM"): void {
    this.#process.signal(name);
  }

  /** Resolves when the process is gone; kills it after `msMax`. False: it was killed. */
  exited(msMax: number): Promise<boolean> {
    return this.#process.gone(msMax);
  }

  #keep(line: string): void {
    const event = parseEvent(line);
    if (event === undefined) return;
    this.events.push(event);
    if (this.events.length > EVENTS_MAX) this.events.shift();
  }
}

function parseEvent(line: string): NodeEvent | undefined {
  let parsed: unknown;
  try {
    parsed = JSON.parse(line);
  } catch {
    return undefined; // Text, which `lastWords` keeps.
  }
  const { time, event, ...fields } = parsed as Record<string, unknown>;
  if (typeof time !== "string" || typeof event !== "string") return undefined;
  return { wallMs: Date.parse(time), event, fields };
}
