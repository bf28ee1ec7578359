/** The order of calls, and their numbers: given when they are sent, taken back when they were not done. */
import { beforeEach, describe, expect, it } from "vitest";
import { Call, type CommandHead } from "../../../src/client/calls/call.js";
import { CommandWindow } from "../../../src/client/calls/command-window.js";
import { IN_FLIGHT_MAX, OP, type SequencedCommand } from "../../../src/protocol/index.js";

class AnyCall extends Call {
  readonly isStrong: boolean;
  readonly outlives: boolean;
  isLeft = false;

  constructor(isStrong: boolean, outlives = true) {
    super();
    this.isStrong = isStrong;
    this.outlives = outlives;
  }

  override get isUnwanted(): boolean {
    return this.isLeft;
  }

  override get outlivesSession(): boolean {
    return this.outlives;
  }

  override command(head: CommandHead): SequencedCommand {
    return { op: OP.end, ...head, target: 1 };
  }

  onResult(): void {}

  onSessionLost(): void {}
}

let window: CommandWindow;

beforeEach(() => {
  window = new CommandWindow();
});

/** "s": strong, "w": weak. */
function enqueue(kinds: string): AnyCall[] {
  const calls = [...kinds].map((kind) => new AnyCall(kind === "s"));
  for (const call of calls) window.enqueue(call);
  return calls;
}

function sendAll(mayBeStrong = true, mayBeWeak = true): number[] {
  const orders: number[] = [];
  for (;;) {
    const call = window.next(mayBeStrong, mayBeWeak);
    if (call === undefined) return orders;
    orders.push(call.order);
  }
}

describe("commands", () => {
  it("are sent in the order of the calls; weak ones alone while strong ones may not be", () => {
    enqueue("swsw");
    expect(sendAll(false, true)).toEqual([2, 4]);
    expect(sendAll()).toEqual([1, 3]);
    expect([...window.sent()].map(({ order }) => order)).toEqual([2, 4, 1, 3]);
  });

  it("that were refused, and all after them, come again in the order of the calls", () => {
    enqueue("swsws");
    sendAll();
    window.takeBack(2);
    expect([...window.sent()].map(({ sequence }) => sequence)).toEqual([1]);
    enqueue("sw");
    expect(sendAll()).toEqual([2, 3, 4, 5, 6, 7]);
    expect(window.get(2)?.order).toBe(2);
  });

  it("that nobody wants any more are not sent, and do not pile up", () => {
    const [first] = enqueue("s") as [AnyCall];
    for (let i = 0; i < 50_000; i++) {
      const call = new AnyCall(true);
      call.isLeft = true;
      window.enqueue(call);
    }
    expect([...window.queued()].length).toBeLessThan(3_000);
    expect(window.next(true, true)).toBe(first);
    expect(window.next(true, true)).toBeUndefined();
  });

  it("without an answer span no more than the protocol allows", () => {
    const calls = enqueue("s".repeat(IN_FLIGHT_MAX + 1));
    sendAll();
    expect(calls.at(-1)?.sequence).toBe(0);
    // An answer out of order makes no room: the mark has not moved.
    window.remove(calls[1] as AnyCall);
    expect(window.next(true, true)).toBeUndefined();
    window.remove(calls[0] as AnyCall);
    expect(window.mark).toBe(3);
    expect(window.next(true, true)).toBe(calls.at(-1));
  });

  it("are asked about after a resume if they were executed, and sent again if not", () => {
    const calls = enqueue("swsw");
    sendAll();
    window.remove(calls[0] as AnyCall);
    window.disconnect();
    expect(window.resume(3)).toEqual([2, 3]);
    expect(calls.map(({ mayBeExecuted }) => mayBeExecuted)).toEqual([true, true, true, false]);
    expect(sendAll()).toEqual([4]);
    expect(calls[3]?.sequence).toBe(4);
  });

  it("are queued for the next session where they were certainly not executed, and mean as much", () => {
    const [answered, uncertain, unsent] = enqueue("sss") as [AnyCall, AnyCall, AnyCall];
    const bound = new AnyCall(true, false);
    window.next(true, true);
    window.next(true, true);
    window.remove(answered);
    window.disconnect();
    window.enqueue(bound);
    expect(window.reset()).toEqual([uncertain, bound]);
    expect([window.mark, window.next(true, true), unsent.sequence]).toEqual([1, unsent, 1]);
  });
});

describe("what was read", () => {
  it("is said by the next command, and again when that was not executed", () => {
    window.acknowledge(7);
    const [first] = enqueue("ss") as [AnyCall];
    sendAll();
    expect(first.acknowledged).toEqual([7]);
    window.takeBack(1);
    sendAll();
    expect(first.acknowledged).toEqual([7]);
    window.remove(first);
    expect(window.takeAcknowledgements()).toEqual([]);
  });
});

describe("what was answered", () => {
  it("goes up to the first call that was not, sent or not", () => {
    expect([window.answeredUpTo, window.lastOrder]).toEqual([0, 0]);
    const [first, second, third] = enqueue("sws") as [AnyCall, AnyCall, AnyCall];
    expect([window.answeredUpTo, window.lastOrder]).toEqual([0, 3]);
    sendAll();
    window.remove(second);
    expect(window.answeredUpTo).toBe(0);
    window.remove(first);
    expect(window.answeredUpTo).toBe(2);
    window.takeBack(3);
    expect(window.answeredUpTo).toBe(2);
    third.isLeft = true;
    expect(window.answeredUpTo).toBe(3);
  });
});
