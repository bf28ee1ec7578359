/**
 * What a closed or open loop loads: this system or a peer, on servers that run for this measurement,
 * with everything that the measurement asks of it.
 */

import type { MeasuredProcess } from "../measures/process-cpu.js";
import type { LoadShape } from "./load-shapes.js";

/** `Client`: of the one or the other. */
export interface LoadSubject<Client> {
  readonly clients: readonly Client[];
  /** The measured load. */
  readonly shape: LoadShape<Client>;
  /** That of the warm-up: locks of the workers' own. */
  readonly heatShape: LoadShape<Client>;
  /** This one and those of the servers, as far as they run on this machine. */
  processes(): Promise<readonly MeasuredProcess[]>;
  /** Name of the process that leads, if one does. */
  leader(): Promise<string | null>;
  /** Synced writes of all servers so far; `undefined` where they do not tell. */
  syncs(): Promise<number | undefined>;
}

/** This process, in every measurement. */
export const LOAD_PROCESS: MeasuredProcess = { name: "load", pid: process.pid };
