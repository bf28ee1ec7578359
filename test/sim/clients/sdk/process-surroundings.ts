/** What one process of an application finds around it. Types only. */

import type { RandomStream } from "../../../../lab/random-stream.js";
import type { ProcessClock } from "../../../../lab/simulated/process-clock.js";
import type { ClientPlan } from "../../plan/client-plan.js";
import type { ClientSurroundings } from "../sim-client.js";
import type { WorldClient } from "../world-client.js";
import type { SdkEars } from "./sdk-ear.js";

export interface ProcessSurroundings extends ClientSurroundings {
  readonly client: WorldClient;
  readonly plan: ClientPlan;
  readonly clock: ProcessClock;
  readonly ears: SdkEars;
  readonly random: RandomStream;
  readonly platformRandom: RandomStream;
  /** The name of this process, among all processes of all clients. */
  readonly name: string;
  readonly mayAct: () => boolean;
  readonly onGrant: () => void;
}
