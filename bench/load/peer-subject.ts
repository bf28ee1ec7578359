/**
 * A peer as the subject of a load: its servers for the run, its clients, and its locks in the form
 * that the witness needs.
 */
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { drained, runPrefix } from "../cluster/bench-clients.js";
import type { LoadOptions } from "../options/bench-options.js";
import type { GiveBack, PeerClient, PeerLoad, PeerName, RunningPeer } from "../peers/peer.js";
import { PEERS } from "../peers/peers.js";
import type { LoadedLock, LoadShape } from "./load-shapes.js";
import { LOAD_PROCESS, type LoadSubject } from "./load-subject.js";
import { WARM_UP_WORKERS } from "./warm-up.js";

/** A server that runs under another user must be able to reach its own directory. */
const PASSABLE = 0o711;

/** Rejects as `work` does, if a server ends by itself, and if the peer does not start. */
export async function withPeerSubject<T>(
  name: PeerName,
  options: LoadOptions,
  signal: AbortSignal,
  work: (subject: LoadSubject<PeerClient>) => Promise<T>,
): Promise<T> {
  const kind = PEERS[name];
  const missing = kind.missing();
  if (missing !== undefined) throw new Error(missing);
  const directory = await mkdtemp(join(tmpdir(), "holdfast-bench-peer-"));
  try {
    await chmod(directory, PASSABLE);
    const peer = await kind.start(directory, signal);
    try {
      return await Promise.race([withClients(peer, options, signal, work), peer.death]);
    } finally {
      await peer.stop();
    }
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

async function withClients<T>(
  peer: RunningPeer,
  { workload, connections, workers }: LoadOptions,
  signal: AbortSignal,
  work: (subject: LoadSubject<PeerClient>) => Promise<T>,
): Promise<T> {
  const prefix = runPrefix();
  const isShared = workload === "contended";
  const own = isShared ? [`${prefix}/one`] : numbered(`${prefix}/own`, workers);
  const warmUp = numbered(`${prefix}/warm-up`, WARM_UP_WORKERS);
  const load: PeerLoad = { connections, workers, keys: [...own, ...warmUp], isShared, signal };
  const clients = await peer.connect(load);
  try {
    return await work({
      clients,
      shape: peerShape(own),
      warmUpShape: peerShape(warmUp),
      processes: async () => [LOAD_PROCESS, ...peer.processes()],
      leader: async () => null,
      // The results must not be lost because a server does not report in time.
      syncs: () => peer.syncs().catch(() => undefined),
    });
  } finally {
    await drained(Promise.allSettled(clients.map((client) => client.close())));
  }
}

/** The one key of all workers, or each worker's own. */
function peerShape(keys: readonly string[]): LoadShape<PeerClient> {
  return {
    ask: async (client, worker) => {
      const key = keys[worker % keys.length] ?? "";
      return new PeerLock(key, await client.acquire(key));
    },
    // Each library has its own classes of errors.
    codeOf: (error) => (error instanceof Error ? error.message.slice(0, ERROR_LENGTH_MAX) : "?"),
  };
}

const ERROR_LENGTH_MAX = 60;

/** Not every peer has tokens, so the order of grants here replaces them. */
class PeerLock implements LoadedLock {
  static #grants = 0;
  readonly mode = "exclusive";
  readonly token: number;
  readonly items: LoadedLock["items"];
  isHeld = true;
  readonly #giveBack: GiveBack;

  constructor(key: string, giveBack: GiveBack) {
    PeerLock.#grants += 1;
    this.token = PeerLock.#grants;
    this.items = [{ key, mode: "exclusive", permits: 0, slots: [] }];
    this.#giveBack = giveBack;
  }

  async release(): Promise<{ released: true } | { released: false; reason: "expired" }> {
    this.isHeld = false;
    return (await this.#giveBack()) ? { released: true } : { released: false, reason: "expired" };
  }
}

function numbered(prefix: string, count: number): string[] {
  return Array.from({ length: count }, (_, index) => `${prefix}/${index}`);
}
