/**
 * A take that goes on while its caller is away: between two polls by HTTP, or between two attempts of a
 * client of Redis. Here are the rules of both. A caller that is away has a grace. When that is over, the wait
 * leaves the queue; what was granted by then, or is granted too late to be withdrawn, is given back.
 *
 * Only that lease is given back, and nothing else of its owner: since then, or at another node, the owner
 * may have repeated the take or taken the lock by another one.
 */
import type { Lease, Leases, TakeLeaseOptions, Timer, WantedItem } from "../client/index.js";
import type { DoorClock } from "./clock.js";

export class KeptTake {
  /** Settles as the take of the SDK does. */
  readonly taken: Promise<Lease>;
  /** Resolves when it has failed or was claimed, or its withdrawal has been answered. Never rejects. */
  readonly over: Promise<void>;
  readonly #clock: DoorClock;
  readonly #giveBack: (lease: Lease) => Promise<unknown>;
  readonly #withdrawing = new AbortController();
  #onOver: () => void = () => {};
  #timer: Timer | undefined;
  #lease: Lease | undefined;
  #isEnded = false;

  /** `options.signal`: for a take that does not wait, and ends as soon as its caller leaves. */
  constructor(
    clock: DoorClock,
    leases: Pick<Leases, "take" | "giveBack">,
    wanted: string | readonly WantedItem[],
    options: TakeLeaseOptions,
  ) {
    const { owner, signal = this.#withdrawing.signal } = options;
    const keys = typeof wanted === "string" ? wanted : wanted.map(({ key }) => key);
    this.#clock = clock;
    this.#giveBack = (lease) => leases.giveBack(keys, { owner, only: lease });
    this.over = new Promise((resolve) => {
      this.#onOver = resolve;
    });
    this.taken = leases.take(wanted, { ...options, signal });
    this.taken.then(
      (lease) => {
        this.#lease = lease;
      },
      // Nothing is left to come for: its time is over, a repeat has it, or it was withdrawn.
      () => this.claim(),
    );
  }

  /** What was granted; `undefined` while it waits. */
  get lease(): Lease | undefined {
    return this.#lease;
  }

  /** It was claimed or withdrawn, or has failed: nobody can come back to it. */
  get isEnded(): boolean {
    return this.#isEnded;
  }

  /** Its caller is away. If nobody claims it, and this is not called again, it is withdrawn then. */
  leave(graceMs: number): void {
    if (this.#isEnded) return;
    this.#timer?.cancel();
    this.#timer = this.#clock.setTimer(graceMs, () => this.withdraw());
    this.#timer.setKeepsProcess(true);
  }

  /** Its caller has come for it, or ends by itself what was granted: nothing is to be done for it here. */
  claim(): void {
    this.#end();
    this.#onOver();
  }

  /** Nobody comes for it any more. */
  withdraw(): void {
    if (this.#isEnded) return;
    this.#end();
    this.#withdrawing.abort(new DOMException("not repeated in time", "AbortError"));
    this.taken.then(this.#giveBack).then(this.#onOver, this.#onOver);
  }

  #end(): void {
    this.#isEnded = true;
    this.#timer?.cancel();
  }
}
