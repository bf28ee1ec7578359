/**
 * A session that one process exported and another one takes over, as the JSON on its way between them:
 * what the SDK takes, it can go on with.
 */

import { InvariantError } from "../../../src/assert.js";
import type { ExportedSession } from "../../../src/client/index.js";
import { resolveConnectOptions } from "../../../src/client/options/connect-options.js";
import { HoldfastError } from "../../../src/errors.js";
import { OP } from "../../../src/protocol/index.js";
import { exportOf } from "../../client/world/exporting.js";
import { setUp } from "../../client/world/set-up.js";
import { connectTo } from "../../client/world/simulated-client.js";
import type { SimulatedWorld } from "../../client/world/simulated-world.js";
import type { TableServer } from "../../client/world/table-server.js";
import { mutateJson } from "../engine/json-mutators.js";
import { wordMutator } from "../engine/mutators.js";
import { demand, type FuzzTarget } from "../engine/target.js";

const SEED = 1;

export const exportedSessions: FuzzTarget = {
  name: "exported-sessions",
  about: "an exported session in JSON, taken over by another client",
  async corpus() {
    const { exported } = await exporting();
    const downgrades = exported.holds.map(({ sequence, items }) => {
      return { sequence, key: items[0]?.key ?? "" };
    });
    const lowered = { ...exported, holds: [], loose: { ends: [], downgrades } };
    return [exported, lowered].map((one) => Buffer.from(JSON.stringify(one)));
  },
  mutators: [mutateJson, wordMutator(["\\ud800", '"__proto__":', "9007199254740991"])],
  bytesMax: 8_192,
  steps: { fixed: 2_000_000, perByte: 5_000 },
  shortRuns: 100,
  async run(input) {
    const resume = parsed(input);
    try {
      resolveConnectOptions({ resume });
    } catch (error) {
      const isTyped =
        error instanceof TypeError || error instanceof RangeError || error instanceof HoldfastError;
      if (!isTyped || /is not a function|Cannot read|of undefined/.test(String(error))) throw error;
      return "refused";
    }
    const { world, server } = await exporting();
    return takenOver(world, server, resume);
  },
};

/** The same every time: a client with a hold, a wait, and a release that nobody heard of. */
async function exporting(): Promise<{
  readonly world: SimulatedWorld;
  readonly server: TableServer;
  readonly exported: ExportedSession;
}> {
  const { world, server } = setUp(SEED);
  const one = await connectTo(server);
  const other = await connectTo(server);
  await world.until(one.client.semaphore("s", { limit: 3 }).acquire({ permits: 2 }));
  await world.until(other.client.acquire("b"));
  void one.client.acquire("b").catch(() => undefined);
  await world.run(20);
  const given = await world.until(one.client.acquire("c"));
  server.faults.refuses = ({ op }) => op === OP.end;
  void given.release();
  const exported = await exportOf(world, one);
  server.faults.refuses = () => false;
  return { world, server, exported };
}

async function takenOver(world: SimulatedWorld, server: TableServer, resume: ExportedSession) {
  try {
    const settings = { ...resolveConnectOptions({ resume }), connectTimeoutMs: 2_000 };
    const { client } = await connectTo(server, { ...settings, endpoints: server.endpoints });
    await world.run(100);
    for (const { lock } of client.resumed?.waits ?? []) lock.catch(() => undefined);
    void client.close().catch(() => undefined);
    await world.run(5_000);
    return "taken" as const;
  } catch (error) {
    demand(!(error instanceof InvariantError), () => String((error as Error).stack));
    if (!(error instanceof HoldfastError)) throw error;
    return "refused" as const;
  }
}

function parsed(input: Uint8Array): ExportedSession {
  try {
    return JSON.parse(Buffer.from(input).toString()) as ExportedSession;
  } catch {
    return "no JSON" as unknown as ExportedSession;
  }
}
