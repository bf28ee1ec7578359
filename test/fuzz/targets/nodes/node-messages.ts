/**
 * What an admitted peer says to a whole node: driver, core, table and store of a cluster in memory. A
 * peer is trusted with the data, so it may disturb; but it may not end a process, nor leave anything
 * behind that ends it when it is started again.
 */
import { decodePeerFrame } from "../../../../src/net/peers/decoder.js";
import { PeerFrameError } from "../../../../src/net/peers/frame-cursor.js";
import type { PeerMessage } from "../../../../src/net/types.js";
import { frameOf, SAMPLES, sealed } from "../../../net/peers/messages.js";
import { startCluster } from "../../../server/world/cluster.js";
import type { World, WorldNode } from "../../../server/world/world.js";
import { demand, type FuzzTarget } from "../../engine/target.js";
import { peerFrames } from "../formats/peer-frames.js";

const LEADER_IS_SENDER = 0;
const HAS_SNAPSHOT = 0;
const HEAD_BYTES = 1;
const RUN_MS = 400;
const SNAPSHOT_LOG_BYTES = 2_000;

export interface Scene {
  readonly world: World;
  readonly sender: WorldNode;
  readonly receiver: WorldNode;
}

export const nodeMessages: FuzzTarget = {
  name: "node-messages",
  about: "what an admitted peer says to a whole node, which is then started again",
  corpus: recorded,
  mutators: peerFrames.mutators.map((mutate) => (input, { random, other }) => {
    const frame = mutate(input.slice(HEAD_BYTES), {
      random,
      other: () => other().slice(HEAD_BYTES),
    });
    return frame === undefined ? undefined : headed(input[0] ?? 0, frame);
  }),
  repair: (input) => headed(input[0] ?? 0, sealed(input.subarray(HEAD_BYTES + 4))),
  bytesMax: 8_192,
  steps: { fixed: 30_000_000, perByte: 50_000 },
  shortRuns: 10,
  async run(input) {
    const { world, sender, receiver } = await begin(input[0] ?? 0);
    let messages: PeerMessage[];
    try {
      const frame = input.slice(HEAD_BYTES);
      messages = decodePeerFrame(frame, sender.id, receiver.id).map(({ message }) => message);
    } catch (error) {
      if (!(error instanceof PeerFrameError)) throw error;
      return "refused";
    }
    for (const message of messages) receiver.driver.peerEvents.onMessage(sender.id, 0, message);
    await world.run(RUN_MS);
    demandAlive(receiver);
    receiver.crash();
    await receiver.restart();
    await world.run(RUN_MS);
    demandAlive(receiver);
    return "taken";
  },
};

function headed(first: number, frame: Uint8Array): Uint8Array {
  return Uint8Array.from([first, ...frame]);
}

/** The same every time: something is held, something waits, and there was a snapshot, or was none. */
export async function begin(first: number, onMessage?: World["network"]["filter"]): Promise<Scene> {
  const hasSnapshot = Math.floor(first / 2) % 2 === HAS_SNAPSHOT;
  const snapshotLogBytes = hasSnapshot ? SNAPSHOT_LOG_BYTES : 1 << 20;
  const tuning = { snapshotLogBytes, trailingLogBytes: 500 };
  const { world, leader, followers } = await startCluster({ tuning });
  if (onMessage !== undefined) world.network.filter = onMessage;
  const [follower, other] = followers;
  const clients = [world.client(), world.client()];
  for (const [at, client] of clients.entries()) await client.start(followers[at] ?? other);
  for (const client of clients) client.acquire("k", 5_000);
  await world.run(60);
  const isLeader = first % 2 === LEADER_IS_SENDER;
  return { world, sender: isLeader ? leader : follower, receiver: isLeader ? follower : leader };
}

export function demandAlive(node: WorldNode): void {
  const [failure] = node.failures;
  if (failure !== undefined) throw failure;
  demand(node.isRunning, () => `node ${node.id} has ended`);
}

/** What the nodes of the scene say to each other, one of each sort and more of the appends. */
async function recorded(): Promise<Uint8Array[]> {
  const inputs = new Map<string, Uint8Array>();
  const said: { from: number; message: PeerMessage }[] = [];
  const { world, sender: leader } = await begin(LEADER_IS_SENDER, (from, _to, message) => {
    said.push({ from, message });
    return true;
  });
  await world.run(50);
  for (const { from, message } of said) {
    const sort = message.type === "raft" ? message.message.type : message.type;
    const entries =
      message.type === "raft" && message.message.type === "append"
        ? message.message.entries.map(({ kind }) => kind).join()
        : "";
    const first = from === leader.id ? LEADER_IS_SENDER : 1;
    inputs.set(`${first} ${sort} ${entries}`, headed(first, frameOf([{ group: 0, message }])));
  }
  const samples = SAMPLES.map((message, at) => headed(at % 2, frameOf([{ group: 0, message }])));
  return [...inputs.values(), ...samples];
}
