/**
 * The subject of a closed or open loop: this system or a peer, on servers that run for this
 * measurement, with everything that the measurement needs from it.
 */

import type { MeasuredProcess } from "../measures/process-cpu.js";
import type { LoadShape } from "./load-shapes.js";

/** `Client`: of this system or of the peer. */
export interface LoadSubject<Client> {
  readonly clients: readonly Client[];
  /** The measured load. */
  readonly shape: LoadShape<Client>;
  /** The load of the warm-up: each worker on a lock of its own. */
  readonly warmUpShape: LoadShape<Client>;
  /** This process and the servers' processes, as far as they run on this machine. */
  processes(): Promise<readonly MeasuredProcess[]>;
  /** Name of the process that leads, if there is one. */
  leader(): Promise<string | null>;
  /** Synced writes of all servers so far; `undefined` if they do not report them. */
  syncs(): Promise<number | undefined>;
}

/** This process, in every measurement. */
export const LOAD_PROCESS: MeasuredProcess = { name: "load", pid: process.pid };
