/**
 * An operator's machine on which `holdfast snapshot save` runs, repeatedly if needed: production
 * code over a connection of bytes, and the file in memory. The file must contain everything that
 * was committed when the command began.
 */

import type { RandomStreams } from "../../../lab/random-stream.js";
import { ProcessLife } from "../../../lab/simulated/process-life.js";
import { ADMIN_DEFAULTS, type Admin, connectAdminOn } from "../../../src/client/index.js";
import { type ErrorCode, HoldfastError } from "../../../src/errors/index.js";
import { writeSnapshotFile } from "../../../src/server/index.js";
import type { Simulation } from "../engine/simulation.js";
import type { ClientNetwork } from "./network/client-network.js";
import { driftingClock } from "./node/drifting-clock.js";
import { endpointOf, SdkPlatform } from "./node/sdk-platform.js";

const TIMEOUT_MS = 1_500;
const AGAIN_MS = 100;
/** That there is nobody, no room, or the node with the snapshot was lost. */
const FAILURES: readonly ErrorCode[] = ["UNAVAILABLE", "COMPACTED", "BUSY", "DISK_FULL"];

export interface SaverSurroundings {
  readonly simulation: Simulation;
  readonly streams: RandomStreams;
  readonly network: ClientNetwork;
  readonly nodes: readonly number[];
  /** As a host on the network. */
  readonly host: number;
  /** What it shows to be let in; `undefined`: nothing. */
  readonly token: () => string | undefined;
  /** Everything up to there is committed. */
  readonly committedIndex: () => number;
  /** It is asked for when `committedIndex` was that. */
  readonly onSaved: (index: number, committedIndex: number) => void;
  readonly onBroken: (what: string) => void;
}

export class SnapshotSaver {
  readonly #world: SaverSurroundings;
  readonly #life: ProcessLife;
  readonly #platform: SdkPlatform;
  #file: Uint8Array | undefined;

  constructor(world: SaverSurroundings) {
    const { simulation, streams, network, host } = world;
    this.#world = world;
    this.#life = new ProcessLife(simulation);
    const clock = driftingClock(simulation, streams.of("clock of the saver"));
    const ear = { onSent: () => {}, onHeard: () => {}, onClosed: () => {} };
    this.#platform = new SdkPlatform({
      ...{ host, life: this.#life, clock, countsSleep: false, network },
      random: streams.of("saver"),
      listen: () => ear,
    });
  }

  /** `undefined`: nothing was saved yet. */
  get file(): Uint8Array | undefined {
    return this.#file;
  }

  begin(isStale: boolean): void {
    this.#save(isStale).catch((error: unknown) => {
      const isKnown = error instanceof HoldfastError && FAILURES.includes(error.code);
      if (!isKnown) this.#world.onBroken(`snapshot save: ${String(error)}`);
      this.#world.simulation.after(AGAIN_MS, () => {
        this.#life.deliver(() => this.begin(isStale));
      });
    });
  }

  /** Nothing is saved any more. */
  end(): void {
    this.#life.end();
    this.#platform.end();
  }

  async #save(isStale: boolean): Promise<void> {
    const token = this.#world.token();
    const endpoints = this.#world.nodes.map((node) => endpointOf(node, token !== undefined));
    const settings = { ...ADMIN_DEFAULTS, endpoints, token, timeoutMs: TIMEOUT_MS };
    const admin = await connectAdminOn(this.#platform, settings);
    try {
      await this.#saveBy(admin, isStale);
    } finally {
      await admin.close();
    }
  }

  async #saveBy(admin: Admin, isStale: boolean): Promise<void> {
    const committedIndex = isStale ? 0 : this.#world.committedIndex();
    const snapshot = await admin.snapshot({ stale: isStale });
    const parts: Uint8Array[] = [];
    const write = async (bytes: Uint8Array): Promise<void> => {
      parts.push(bytes.slice());
    };
    await writeSnapshotFile(snapshot, write, () => {});
    this.#file = Buffer.concat(parts);
    this.#world.onSaved(snapshot.index, committedIndex);
  }
}
