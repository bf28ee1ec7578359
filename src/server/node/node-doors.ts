/**
 * The doors of this node, which speak to it as clients of its own process: how they connect, what
 * they log, and how they end.
 */
import { readFile } from "node:fs/promises";
import { DoorClients, type DoorClientsOptions, LeaseDoor } from "../../doors/index.js";
import type { InProcessCaller, InProcessEvents, InProcessLink } from "../../net/index.js";
import { installed } from "../installation.js";
import type { NodeLogger } from "../ports.js";

/** What the door serves as its description. */
const DESCRIPTION = "docs/reference/openapi.json";

export class NodeDoors {
  readonly #clients: DoorClients;
  readonly #http: LeaseDoor;
  /** Reports what a request failed by, if nobody expects it. */
  readonly onFailed: (error: unknown) => void;
  #description: string | undefined;

  constructor(
    id: number,
    connect: (caller: InProcessCaller, events: InProcessEvents) => InProcessLink,
    log: NodeLogger,
    means: Pick<DoorClientsOptions, "clock" | "open"> = {},
  ) {
    const debug = (fields: object, event: string): void => {
      if (log.isDebugging === true) log("debug", event, fields as Record<string, unknown>);
    };
    this.onFailed = (error) => {
      const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
      log("error", "http request failed", { error: text });
    };
    const name = `doors of node ${id}`;
    // What happens to a client of a door is the business of its caller, who learns of it.
    const logger = { debug, info: debug, warn: debug, error: debug };
    this.#clients = new DoorClients({ connect, name, logger, ...means });
    this.#http = new LeaseDoor({
      clients: this.#clients,
      description: () => this.#description,
      isLogging: () => log.isDebugging === true,
      log: (fields) => log("debug", "http request", fields),
      onInternalError: this.onFailed,
      clock: means.clock,
    });
  }

  /** For the other doors of the node. */
  get clients(): DoorClients {
    return this.#clients;
  }

  get http(): LeaseDoor {
    return this.#http;
  }

  /** Reads what the doors serve of this installation. */
  async load(): Promise<void> {
    try {
      const text = await readFile(installed(DESCRIPTION), "utf8");
      this.#description = JSON.stringify(JSON.parse(text));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    }
  }

  /**
   * Sends waiting callers to other nodes. Resolves when their requests were taken over there, or were
   * withdrawn.
   */
  drain(): Promise<void> {
    return this.#http.drain();
  }

  /** Ends the sessions of the doors. */
  close(): Promise<void> {
    return this.#clients.close();
  }
}
