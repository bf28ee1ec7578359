/**
 * What one process of an application adopts: of everything that another one handed over, or of one hold. Of
 * each hold it is followed what became of it.
 */
import type { Adopted, Client, HandedOver } from "../../../../src/client/index.js";
import { HoldfastError } from "../../../../src/errors/index.js";
import { OP } from "../../../../src/protocol/index.js";
import { wishOf } from "../../checks/locks/told-fates.js";
import { SIGHTINGS } from "../sightings.js";
import type { ProcessSurroundings } from "./process-surroundings.js";
import type { SdkCalls } from "./sdk-calls.js";
import type { SdkHolds } from "./sdk-holds.js";
import { ADOPT } from "./told-holds.js";

export class SdkAdoptions {
  readonly #world: ProcessSurroundings;
  readonly #calls: SdkCalls;
  readonly #holds: SdkHolds;

  constructor(world: ProcessSurroundings, calls: SdkCalls, holds: SdkHolds) {
    this.#world = world;
    this.#calls = calls;
    this.#holds = holds;
  }

  adopt(client: Client, handed: HandedOver): void {
    if (handed.holds.length === 0) return;
    const controller = new AbortController();
    const { signal } = controller;
    const isOne = handed.holds.length === 1;
    // Several are of several tasks, each of which the client makes.
    const task = isOne ? client.task() : undefined;
    const { session } = client;
    const adopted = client.adopt(handed, { task, signal });
    for (const [at, { secret }] of handed.holds.entries()) {
      const what = `${ADOPT}${secret}`;
      const wish = wishOf(0, { op: OP.adopt, secret });
      this.#calls.track(
        { what, task: task?.id ?? 0, controller, wish },
        adopted,
        (found) => {
          // It was called before that session began, or has lost it again.
          if (at === 0) this.#onAdopted(client.session || session, handed, found);
        },
        (error) => {
          if (error === signal.reason || isOfAnotherCluster(error)) return;
          this.#calls.judge(what, error);
        },
      );
    }
  }

  #onAdopted(session: number, handed: HandedOver, { locks, gone, refused }: Adopted): void {
    const { watch } = this.#world;
    for (const lock of locks) this.#holds.inherit(lock, session);
    const all = [...locks, ...gone, ...refused].map(({ keys }) => keys.join(" ")).sort();
    const left = handed.holds.map(({ keys }) => keys.join(" ")).sort();
    if (all.join() !== left.join()) {
      const what = `of ${left} the fate is known of ${all}`;
      this.#calls.broken("every call is answered as documented", what);
    }
    for (const { error } of refused) this.#calls.judge("adopt the rest", error);
    const isLate = gone.some(({ reason }) => reason === "moved");
    if (locks.length > 0) watch.onSeen(SIGHTINGS.wentOn);
    else if (isLate) watch.onSeen(SIGHTINGS.cameLate);
  }
}

/** The cluster was restored meanwhile. */
function isOfAnotherCluster(error: unknown): boolean {
  return error instanceof HoldfastError && /^handed over in another cluster/.test(error.message);
}
