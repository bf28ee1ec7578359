/**
 * Exports a session, for tests of the process that exports it and of the one that takes it over.
 */
import type { ExportedSession } from "../../../src/client/index.js";
import type { SimulatedClient } from "./simulated-client.js";
import type { SimulatedWorld } from "./simulated-world.js";

/** As it arrives in another process. */
export async function exportOf(
  world: SimulatedWorld,
  { client }: SimulatedClient,
): Promise<ExportedSession> {
  return JSON.parse(JSON.stringify(await world.until(client.export()))) as ExportedSession;
}
