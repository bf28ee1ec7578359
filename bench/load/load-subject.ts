/**
 * The subject of a closed or open loop: this system or a peer, on servers that run for this
 * measurement, with everything that the measurement needs from it.
 */

import type { MeasuredProcess } from "../measures/process-cpu.js";
import type { MeasuredLoad } from "./measured-load.js";

export interface LoadSubject {
  /** Connections that the load has. */
  readonly connections: number;
  /** What runs the servers and the load, with versions. */
  readonly versions: string;
  /** Begins the measured load. */
  begin(): Promise<MeasuredLoad>;
  /** The processes of the load and the servers, as far as they run on this machine. */
  processes(): Promise<readonly MeasuredProcess[]>;
  /** Name of the process that leads, if there is one. */
  leader(): Promise<string | null>;
  /** Synced writes of all servers so far; `undefined` if they do not report them. */
  syncs(): Promise<number | undefined>;
}

/** This process, in every measurement. */
export const LOAD_PROCESS: MeasuredProcess = { name: "load", pid: process.pid };
