/** The loops of this process: closed, or open if there is a rate. */
import type { LoadOptions } from "../options/bench-options.js";
import { ClosedLoop } from "./closed-loop.js";
import type { LoadShape } from "./load-shapes.js";
import type { MeasuredLoad } from "./measured-load.js";
import { OpenLoop } from "./open-loop.js";

export function beginLoops<Client>(
  clients: readonly Client[],
  shape: LoadShape<Client>,
  { workers, rate }: Pick<LoadOptions, "workers" | "rate">,
): MeasuredLoad {
  const loop = { clients, workers, shape };
  return rate > 0 ? new OpenLoop({ ...loop, rate }) : new ClosedLoop(loop);
}
