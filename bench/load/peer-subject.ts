/**
 * A peer as the subject of a load: its servers for the run, its clients, and its locks in the form
 * that the witness needs.
 */
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { drained, runPrefix } from "../cluster/bench-clients.js";
import type { LoadOptions } from "../options/bench-options.js";
import { CLOSED_LOOPS_ONLY, LoadProgram } from "../peers/load-program.js";
import type { GiveBack, PeerClient, PeerName, RunningPeer } from "../peers/peer.js";
import type { PeerLoad } from "../peers/peer-load.js";
import { PEERS } from "../peers/peers.js";
import { beginLoops } from "./begin-loops.js";
import type { LoadedLock, LoadShape } from "./load-shapes.js";
import { LOAD_PROCESS, type LoadSubject } from "./load-subject.js";
import type { MeasuredLoad } from "./measured-load.js";

/** A server that runs under another user must be able to reach its own directory. */
const PASSABLE = 0o711;

/** Rejects as `work` does, if a server ends by itself, and if the peer does not start. */
export async function withPeerSubject<T>(
  name: PeerName,
  options: LoadOptions,
  signal: AbortSignal,
  work: (subject: LoadSubject) => Promise<T>,
): Promise<T> {
  const kind = PEERS[name];
  const missing = kind.missing();
  if (missing !== undefined) throw new Error(missing);
  await kind.prepare?.({ signal, onNote: (text) => process.stderr.write(`bench: ${text}\n`) });
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
  options: LoadOptions,
  signal: AbortSignal,
  work: (subject: LoadSubject) => Promise<T>,
): Promise<T> {
  const { workload, connections, workers } = options;
  const prefix = runPrefix();
  const isShared = workload === "contended";
  const keys = isShared ? [`${prefix}/one`] : numbered(`${prefix}/own`, workers);
  const load: PeerLoad = { connections, workers, keys, isShared, signal };
  const connected = await peer.connect(load);
  const isProgram = connected instanceof LoadProgram;
  try {
    return await work({
      connections: isProgram ? connections : connected.length,
      versions: peer.versions,
      begin: () => beginLoad(connected, keys, options),
      processes: async () => {
        const program = isProgram ? [{ name: LOAD_PROCESS.name, pid: connected.pid }] : [];
        return [LOAD_PROCESS, ...program, ...peer.processes()];
      },
      leader: async () => null,
      // The results must not be lost because a server does not report in time.
      syncs: () => peer.syncs().catch(() => undefined),
    });
  } finally {
    const ends = isProgram ? [connected.stop()] : connected.map((client) => client.close());
    await drained(Promise.allSettled(ends));
  }
}

async function beginLoad(
  connected: readonly PeerClient[] | LoadProgram,
  keys: readonly string[],
  options: LoadOptions,
): Promise<MeasuredLoad> {
  if (!(connected instanceof LoadProgram)) return beginLoops(connected, peerShape(keys), options);
  if (options.rate > 0) throw new Error(CLOSED_LOOPS_ONLY);
  await connected.begin();
  return connected;
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
