/**
 * `holdfast snapshot restore` on the machine of one node: production code over its disk. It may
 * be interrupted at any effect and is then repeated; what exists then is complete. When it has
 * ended, the power may fail at once.
 */
import type { RandomStream, RandomStreams } from "../../../lab/random-stream.js";
import { HoldfastError } from "../../../src/errors/index.js";
import { type RestoredNode, restoreSnapshotFile } from "../../../src/server/index.js";
import type { SimNode } from "./node/sim-node.js";

const STEP_MS = 40;
const CUT_SHORT_SHARE = 0.4;
/** More than a restore takes. */
const EFFECTS_MAX = 60;

export interface RestoreCommand {
  readonly file: Uint8Array;
  readonly nodeCount: number;
  readonly restoreId: string;
  readonly quietMs: number | undefined;
  readonly tokenFloor: number;
}

export interface RestoreRunEvents {
  /** `undefined`: an earlier attempt had done it, and was cut short before it could say so. */
  onRestored(node: SimNode, restored: RestoredNode | undefined): void;
  onFailed(node: SimNode, error: unknown): void;
}

export class RestoreRun {
  readonly #node: SimNode;
  readonly #command: RestoreCommand;
  readonly #random: RandomStream;
  readonly #mayBeCutShort: boolean;
  readonly #events: RestoreRunEvents;
  #attempts = 0;
  #isOver = false;

  constructor(
    node: SimNode,
    command: RestoreCommand,
    streams: RandomStreams,
    mayBeCutShort: boolean,
    events: RestoreRunEvents,
  ) {
    this.#node = node;
    this.#command = command;
    this.#random = streams.of(`restore on ${node.id}`);
    this.#mayBeCutShort = mayBeCutShort;
    this.#events = events;
  }

  /** Needs a node that is down, on an empty disk. */
  begin(): void {
    if (this.#isOver) return;
    if (this.#node.state === "down") this.#attempt();
    this.#node.simulation.after(STEP_MS, () => this.begin());
  }

  #attempt(): void {
    this.#attempts += 1;
    const random = this.#random;
    this.#node.runCommand(
      (life) => this.#restore(this.#node.disk.restoringMeansFor(life, random)),
      random.pick(["kill", "power"] as const),
      {
        done: (restored) => {
          this.#isOver = true;
          this.#events.onRestored(this.#node, restored);
        },
        failed: (error) => this.#onFailed(error),
      },
    );
    if (!this.#mayBeCutShort || this.#attempts > 2 || !random.chance(CUT_SHORT_SHARE)) return;
    const kind = random.pick(["kill", "power"] as const);
    this.#node.crashAfterEffects(random.integer(0, EFFECTS_MAX), kind);
  }

  #restore(means: Parameters<typeof restoreSnapshotFile>[1]["means"]): Promise<RestoredNode> {
    const { file, nodeCount, restoreId, quietMs, tokenFloor } = this.#command;
    const initialCluster = Array.from({ length: nodeCount }, (_, at) => {
      return { id: at + 1, address: { host: `node-${at + 1}`, port: 1 } };
    });
    const source = (async function* () {
      yield file;
    })();
    return restoreSnapshotFile(source, {
      ...{ id: this.#node.id, dataDirectory: "/data", initialCluster },
      ...{ restoreId, quietMs, tokenFloor },
      segmentBytes: this.#node.tuning.segmentBytes,
      ...(means === undefined ? {} : { means }),
    });
  }

  #onFailed(error: unknown): void {
    // In a storm: it is tried again, when the disk may be better.
    if (this.#node.disk.weather.hasFailed) return;
    this.#isOver = true;
    const isThere = error instanceof HoldfastError && error.code === "INVALID_ARGUMENT";
    if (isThere && this.#attempts > 1) this.#events.onRestored(this.#node, undefined);
    else this.#events.onFailed(this.#node, error);
  }
}
