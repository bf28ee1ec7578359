/**
 * The meter in simulated time: whatever mixture of inputs comes, a party has its floor while others
 * flood, nobody takes more than its share while others are there, and nothing is lost or reordered.
 */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Account, InputMeter, type Metered } from "../../../src/net/meter/input-meter.js";

/** A loop whose time goes by only while it works or sleeps. */
class SimulatedLoop {
  nowMs = 0;
  busyMs = 0;
  longestRoundMs = 0;
  /** What goes on by promises, and what waits for its end. */
  readonly promises: (() => void)[] = [];
  #afterPromises: (() => void)[] = [];
  #soon: (() => void)[] = [];
  #timers: { atMs: number; task: () => void }[] = [];
  readonly clock = {
    nowMs: () => this.nowMs,
    busyMs: () => this.busyMs,
    afterPromises: (task: () => void) => void this.#afterPromises.push(task),
    soon: (task: () => void) => void this.#soon.push(task),
    after: (ms: number, task: () => void) => {
      this.#timers.push({ atMs: this.nowMs + ms, task });
    },
  };

  work(ms: number): void {
    this.nowMs += ms;
    this.busyMs += ms;
  }

  /** A callback of the platform: what it leaves to promises comes before the next. */
  call(task: () => void): void {
    for (let next: (() => void) | undefined = task; next !== undefined; ) {
      next();
      next = this.promises.shift() ?? this.#afterPromises.shift();
    }
  }

  /** A round: what is due of timers, the input, and what was planned for its end. */
  round(input: () => void): void {
    const beganMs = this.nowMs;
    const due = this.#timers.filter(({ atMs }) => atMs <= this.nowMs);
    this.#timers = this.#timers.filter(({ atMs }) => atMs > this.nowMs);
    for (const { task } of due) this.call(task);
    input();
    for (const task of this.#soon.splice(0)) this.call(task);
    this.longestRoundMs = Math.max(this.longestRoundMs, this.nowMs - beganMs);
    // Nothing was to be done: it sleeps for a moment.
    if (this.nowMs === beganMs) this.nowMs += 0.25;
  }
}

/** A source that always has more to say, or says something now and then. */
class Source implements Metered {
  readonly address: string;
  account: Account;
  usedMs = 0;
  /** How long each piece of it had to wait. */
  readonly waitsMs: number[] = [];
  isWaiting = false;
  readonly #meter: InputMeter;
  readonly #loop: SimulatedLoop;
  readonly #costMs: number;
  #sinceMs = 0;

  constructor(
    meter: InputMeter,
    loop: SimulatedLoop,
    costMs: number,
    address: string,
    identity?: string,
  ) {
    this.#meter = meter;
    this.#loop = loop;
    this.#costMs = costMs;
    this.address = address;
    this.account = meter.accountOf(address, identity, false);
  }

  /** A piece has come. */
  say(): void {
    this.#loop.call(() => this.#say());
  }

  #say(): void {
    if (this.isWaiting) return;
    this.#sinceMs = this.#loop.nowMs;
    if (this.#meter.mayBegin(this.account)) this.release();
    else {
      this.isWaiting = true;
      this.#meter.wait(this);
    }
  }

  release(): void {
    this.isWaiting = false;
    this.waitsMs.push(this.#loop.nowMs - this.#sinceMs);
    this.#meter.begin(this.account);
    this.work();
  }

  protected work(): void {
    this.#loop.work(this.#costMs);
    this.usedMs += this.#costMs;
    this.#meter.end();
  }
}

/** A source whose input is handled by promises. */
class PromisingSource extends Source {
  readonly #promises: (() => void)[];

  constructor(...[meter, loop, ...rest]: ConstructorParameters<typeof Source>) {
    super(meter, loop, ...rest);
    this.#promises = loop.promises;
  }

  protected override work(): void {
    this.#promises.push(() => super.work());
  }
}

function closedMeter(loop: SimulatedLoop): InputMeter {
  return new InputMeter({ clock: loop.clock, isOpen: () => false });
}

const SECONDS = 4;

function run(loop: SimulatedLoop, floods: readonly Source[], modest: readonly Source[]): void {
  let nextMs = loop.nowMs;
  const endMs = loop.nowMs + SECONDS * 1_000;
  while (loop.nowMs < endMs) {
    loop.round(() => {
      for (const flood of floods) flood.say();
      if (loop.nowMs < nextMs) return;
      nextMs = loop.nowMs + 20;
      for (const one of modest) one.say();
    });
  }
}

const costs = fc.array(fc.double({ min: 0.01, max: 4, noNaN: true }), {
  minLength: 1,
  maxLength: 12,
});

describe("whatever floods come", () => {
  test("of identities: each has its part, another waits a moment, and the loop is not full", () => {
    fc.assert(
      fc.property(fc.array(costs, { minLength: 1, maxLength: 4 }), (identities) => {
        const loop = new SimulatedLoop();
        const meter = closedMeter(loop);
        const floods = identities.map((each, number) =>
          each.map((costMs) => new Source(meter, loop, costMs, "10.0.0.1", `flood-${number}`)),
        );
        const modest = new Source(meter, loop, 0.1, "10.0.0.2", "modest");
        run(loop, floods.flat(), [modest]);
        const floor = 0.7 / (identities.length + 1);
        for (const sources of floods) {
          const share = sources.reduce((sum, { usedMs }) => sum + usedMs, 0) / loop.nowMs;
          expect(share).toBeGreaterThan(0.9 * floor);
        }
        expect(loop.busyMs / loop.nowMs).toBeLessThan(0.8);
        // At the beginning nobody else was there, so that nobody owed anything.
        const later = modest.waitsMs.slice(5);
        expect(later.length).toBeGreaterThan((0.7 * SECONDS * 1_000) / 20);
        expect(Math.max(...later)).toBeLessThanOrEqual(1);
      }),
      { numRuns: 30 },
    );
  });

  test("of strangers: all together have a small part, and each address has its turn", () => {
    fc.assert(
      fc.property(costs, costs, (one, other) => {
        const loop = new SimulatedLoop();
        const meter = closedMeter(loop);
        const flood = [...one, ...other].map((costMs) => new Source(meter, loop, costMs, "a"));
        const newcomer = new Source(meter, loop, 0.1, "b");
        const known = new Source(meter, loop, 0.1, "c", "known");
        run(loop, flood, [known, newcomer]);
        const share = flood.reduce((sum, { usedMs }) => sum + usedMs, 0) / loop.nowMs;
        expect(share).toBeLessThan(0.35);
        expect(Math.max(...known.waitsMs.slice(5))).toBe(0);
        // No longer than its own party owes for a piece of each.
        expect(Math.max(...newcomer.waitsMs.slice(5))).toBeLessThan(100);
      }),
      { numRuns: 30 },
    );
  });

  test("of one party alone: nobody is held", () => {
    fc.assert(
      fc.property(costs, (each) => {
        const loop = new SimulatedLoop();
        const meter = closedMeter(loop);
        const floods = each.map((costMs) => new Source(meter, loop, costMs, "a", "only"));
        run(loop, floods, []);
        expect(meter.heldTotal).toBe(0);
        const sources = floods.map(({ waitsMs }) => waitsMs.length);
        expect(Math.min(...sources)).toBeGreaterThan(0.5 * Math.max(...sources));
        expect(loop.busyMs / loop.nowMs).toBeGreaterThan(0.99);
      }),
      { numRuns: 20 },
    );
  });
});

test.each([
  ["at once", Source],
  ["by promises", PromisingSource],
])(
  "a loop that one party keeps busy, whose input is handled %s, still looks for others every few milliseconds",
  (_how, Kind) => {
    const cost = fc.double({ min: 0.1, max: 4, noNaN: true });
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 200 }), cost, (count, costMs) => {
        const loop = new SimulatedLoop();
        const meter = closedMeter(loop);
        const flood = Array.from({ length: count }, () => new Kind(meter, loop, costMs, "a"));
        run(loop, flood, []);
        // Input for 8 ms, input that waited for 5 ms, and what could not be interrupted at the end of each.
        expect(loop.longestRoundMs).toBeLessThan(8 + 5 + 2 * costMs);
        expect(loop.busyMs / loop.nowMs).toBeGreaterThan(0.99);
      }),
      { numRuns: 30 },
    );
  },
);

test("connections of one identity take turns while it is over its share", () => {
  const loop = new SimulatedLoop();
  const meter = closedMeter(loop);
  const many = Array.from({ length: 50 }, () => new Source(meter, loop, 1, "a", "greedy"));
  const single = new Source(meter, loop, 1, "b", "greedy");
  const other = new Source(meter, loop, 0.1, "c", "other");
  run(loop, [...many, single], [other]);
  const rounds = many.map(({ waitsMs }) => waitsMs.length);
  expect(Math.max(...rounds) - Math.min(...rounds)).toBeLessThanOrEqual(40);
  // Its address has as many turns as the one of the fifty.
  expect(single.waitsMs.length).toBeGreaterThan(10 * Math.max(...rounds));
});

test("what the loop does later for a request counts for the client that made it", () => {
  const loop = new SimulatedLoop();
  const meter = closedMeter(loop);
  const busy = meter.accountOf("a", "busy", false);
  const idle = meter.accountOf("b", "idle", false);
  for (let i = 0; i < 2_000; i += 1) {
    loop.round(() => {
      meter.begin(busy);
      loop.work(0.1);
      for (let n = 0; n < 50; n += 1) meter.request(busy);
      meter.begin(idle);
      loop.work(0.1);
      meter.request(idle);
      meter.end();
      // A turn of the node: entries, replies.
      loop.work(2);
    });
  }
  expect(busy.loopMs / loop.nowMs).toBeGreaterThan(0.8);
  expect(idle.loopMs / loop.nowMs).toBeLessThan(0.1);
});

test("an account is forgotten some time after its last input has left", () => {
  const loop = new SimulatedLoop();
  const meter = closedMeter(loop);
  const first = new Source(meter, loop, 1, "a", "one");
  first.say();
  meter.leave(first);
  for (let i = 0; i < 20_000; i += 1) loop.round(() => meter.endSoon === undefined);
  const other = new Source(meter, loop, 1, "b", "two");
  loop.round(() => other.say());
  loop.round(() => other.say());
  expect(meter.accountOf("a", "one", false)).not.toBe(first.account);
});
