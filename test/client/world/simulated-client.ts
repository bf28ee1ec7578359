/** A client of a `TableServer`, connected, with the machine it runs on. */
import {
  CLIENT_DEFAULTS,
  type Client,
  type ClientSettings,
  connectOn,
} from "../../../src/client/index.js";
import { SimulatedPlatform } from "./simulated-platform.js";
import type { TableServer } from "./table-server.js";

export interface SimulatedClient {
  readonly client: Client;
  readonly platform: SimulatedPlatform;
}

export async function connectTo(
  server: TableServer,
  settings: Partial<ClientSettings> = {},
  rate = 1,
  countsSleep = false,
): Promise<SimulatedClient> {
  const platform = new SimulatedPlatform(server.world, server, rate, countsSleep);
  const complete = { ...CLIENT_DEFAULTS, endpoints: server.endpoints, ttlMs: 2_000, ...settings };
  const client = await server.world.until(connectOn(platform, complete));
  return { client, platform };
}
