import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { chmod } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { LoadProgram } from "../../bench/peers/load-program.js";
import { PEER_NAMES, type RunningPeer } from "../../bench/peers/peer.js";
import type { PeerLoad } from "../../bench/peers/peer-load.js";
import { PEERS } from "../../bench/peers/peers.js";

const CYCLES = 10;
const WORKERS = 4;

/** Those with a load program of their own have a long test each. */
const IN_THIS_PROCESS = PEER_NAMES.filter((name) => PEERS[name].prepare === undefined);

/** Workers of two clients on one lock, and how many had it at once at most. */
async function holdersMax(peer: RunningPeer, load: PeerLoad): Promise<number> {
  const clients = await peer.connect(load);
  if (clients instanceof LoadProgram) throw new Error("another program makes this load");
  const [key = ""] = load.keys;
  let holders = 0;
  let most = 0;
  const work = async (worker: number): Promise<void> => {
    const client = clients[worker % clients.length];
    if (client === undefined) throw new Error("no client");
    for (let cycle = 0; cycle < CYCLES; cycle += 1) {
      const giveBack = await client.acquire(key);
      holders += 1;
      most = Math.max(most, holders);
      // A worker that is wrongly let in comes now.
      await new Promise((resolve) => setImmediate(resolve));
      holders -= 1;
      expect(await giveBack()).toBe(true);
    }
  };
  try {
    await Promise.all(Array.from({ length: WORKERS }, (_, worker) => work(worker)));
  } finally {
    await Promise.all(clients.map((client) => client.close()));
  }
  return most;
}

for (const name of IN_THIS_PROCESS) {
  const missing = PEERS[name].missing();
  const note = missing === undefined ? "" : ` – SKIPPED, ${missing}`;

  test.skipIf(missing !== undefined)(
    `${name}: one holder at a time, everybody's turn comes, nothing is left behind${note}`,
    async () => {
      const directory = mkdtempSync(join(tmpdir(), "holdfast-test-"));
      await chmod(directory, 0o711);
      const { signal } = new AbortController();
      try {
        const peer = await PEERS[name].start(directory, signal);
        const pids = peer.processes().map(({ pid }) => pid);
        try {
          const load = { connections: 2, workers: WORKERS, keys: ["test/one"], signal };
          expect(await holdersMax(peer, { ...load, isShared: true })).toBe(1);
        } finally {
          await peer.stop();
        }
        expect(pids.length).toBeGreaterThan(0);
        for (const pid of pids) expect(existsSync(`/proc/${pid}`)).toBe(false);
        expect(existsSync(directory) ? readdirSync(directory) : []).toEqual([]);
      } finally {
        rmSync(directory, { recursive: true, force: true });
      }
    },
  );
}
