/**
 * What a node says to a client that is in the middle of everything: a wrong node may cost a client its
 * connection, and nothing that a node says may throw into the application.
 */

import type { TransportEvents } from "../../../../src/client/index.js";
import { CLIENT_DEFAULTS, type Client, connectOn } from "../../../../src/client/index.js";
import { HoldfastError, InvariantError } from "../../../../src/errors/index.js";
import { decodeServerFrame } from "../../../../src/net/framing/index.js";
import { ProtocolError } from "../../../../src/protocol/index.js";
import { setUp } from "../../../client/world/set-up.js";
import { SimulatedPlatform } from "../../../client/world/simulated-platform.js";
import { mutateMsgpack } from "../../engine/msgpack-mutators.js";
import type { FuzzTarget } from "../../engine/target.js";
import { serverFrames } from "../formats/server-frames.js";

/** Keeps hold of the way into the client. */
class TappedPlatform extends SimulatedPlatform {
  readonly heard: Uint8Array[] = [];
  #events: TransportEvents | undefined;

  override open(url: string, events: TransportEvents) {
    this.#events = events;
    return super.open(url, {
      ...events,
      onOpen: () => events.onOpen(),
      onClose: (code, reason) => events.onClose(code, reason),
      onFrame: (frame) => {
        this.heard.push(frame);
        events.onFrame(frame);
      },
    });
  }

  say(frame: Uint8Array): void {
    this.#events?.onFrame(frame);
  }
}

export const clientMessages: FuzzTarget = {
  name: "client-messages",
  about: "a node's frame, said to a client with holds, waits and watches",
  async corpus() {
    const { platform } = await begin();
    return [...platform.heard, ...(await serverFrames.corpus()).slice(0, 60)];
  },
  mutators: [mutateMsgpack],
  bytesMax: 8_192,
  steps: { fixed: 3_000_000, perByte: 10_000 },
  shortRuns: 20,
  async run(input) {
    const { platform, world, client } = await begin();
    let isTaken = true;
    try {
      decodeServerFrame(input.slice());
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error;
      isTaken = false;
    }
    platform.say(input.slice());
    try {
      await world.run(3_000);
      void client.close().catch(() => undefined);
      await world.run(3_000);
    } catch (error) {
      // The cluster of the simulation ends when it is asked for something that no client asks for:
      // that was made up, and so may be what follows from it.
      const isMadeUp = error instanceof Error && error.message.startsWith("the SDK sent");
      if (error instanceof InvariantError || !isMadeUp) throw error;
    }
    return isTaken ? "taken" : "refused";
  },
};

/** The same every time: holds, a wait, an upgrade that waits, and a watch. */
async function begin() {
  const { world, server } = setUp(1);
  const platform = new TappedPlatform(world, server);
  const settings = { ...CLIENT_DEFAULTS, endpoints: server.endpoints, ttlMs: 2_000 };
  const client = await world.until(connectOn(platform, settings));
  const other = await world.until(
    connectOn(new SimulatedPlatform(world, server), { ...settings, name: "other" }),
  );
  watch(client);
  await world.until(client.acquire("a"));
  const shared = await world.until(client.acquire("s", { mode: "shared" }));
  await world.until(other.acquire("s", { mode: "shared" }));
  await world.until(other.acquire("b"));
  ignore(client.acquire("b"));
  ignore(shared.upgrade());
  await world.until(client.semaphore("p", { limit: 3 }).acquire({ permits: 2 }));
  await world.run(20);
  return { world, platform, client };
}

function watch(client: Client): void {
  const reading = async (): Promise<void> => {
    for await (const _change of client.watch("a"));
  };
  ignore(reading());
}

/** It may fail as any call may, by one of the documented errors. */
function ignore(call: Promise<unknown>): void {
  call.catch((error: unknown) => {
    if (!(error instanceof HoldfastError)) throw error;
  });
}
