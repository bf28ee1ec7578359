/** Up to which command everything was answered, as questions that go behind commands need to know. */
import { beforeEach, describe, expect, it } from "vitest";
import { Call } from "../../src/client/call.js";
import { CommandWindow } from "../../src/client/command-window.js";
import { OP, type SequencedCommand } from "../../src/protocol/index.js";

class AnyCall extends Call {
  isGivenUp = false;

  override get isUnwanted(): boolean {
    return this.isGivenUp;
  }

  command(mark: number): SequencedCommand {
    return { op: OP.release, sequence: this.sequence, mark, acknowledged: [], token: 1 };
  }

  onResult(): void {}

  onSessionLost(): void {}
}

let window: CommandWindow;

beforeEach(() => {
  window = new CommandWindow();
});

function enqueue(count: number): AnyCall[] {
  const calls = Array.from({ length: count }, () => new AnyCall());
  for (const call of calls) window.enqueue(call);
  return calls;
}

function sendAll(): void {
  while (window.next() !== undefined);
}

describe("what was answered", () => {
  it("is everything where nothing was asked", () => {
    expect([window.answeredUpTo, window.lastEnqueued]).toEqual([0, 0]);
  });

  it("goes up to the first command that was not, sent or not", () => {
    const [first, second, third] = enqueue(3) as [AnyCall, AnyCall, AnyCall];
    expect([window.answeredUpTo, window.lastEnqueued]).toEqual([0, 3]);
    sendAll();
    window.remove(second);
    expect(window.answeredUpTo).toBe(0);
    window.remove(first);
    expect(window.answeredUpTo).toBe(2);
    window.remove(third);
    expect(window.answeredUpTo).toBe(3);
    enqueue(1);
    expect([window.answeredUpTo, window.lastEnqueued]).toEqual([3, 4]);
  });

  it("counts what was given up before it was sent, once that is noticed", () => {
    const [first, second] = enqueue(2) as [AnyCall, AnyCall];
    first.isGivenUp = true;
    expect(window.next()).toBe(second);
    expect(window.answeredUpTo).toBe(1);
    window.remove(second);
    expect(window.answeredUpTo).toBe(2);
  });

  it("is counted further in the next session, whose sequences begin anew", () => {
    enqueue(3);
    const sent = window.next();
    if (sent !== undefined) sent.copies = 1;
    window.reset(() => true);
    // The one that was sent will never be answered; the others are still to be sent.
    expect(window.answeredUpTo).toBe(1);
    sendAll();
    window.remove(window.get(1) as Call);
    expect(window.answeredUpTo).toBe(2);
    window.reset(() => false);
    expect(window.answeredUpTo).toBe(window.lastEnqueued);
  });

  it("is counted without what the session before it certainly did not do", () => {
    const [first, second, third] = enqueue(3) as [AnyCall, AnyCall, AnyCall];
    sendAll();
    for (const call of [first, second, third]) call.copies = 1;
    first.copies = 2;
    window.endedInOrder();
    expect(window.reset(() => true)).toEqual([first]);
    expect([second.sequence, third.sequence, window.answeredUpTo]).toEqual([0, 0, 1]);
    expect([window.next(), window.next()]).toEqual([second, third]);
    expect([second.sequence, third.sequence]).toEqual([1, 2]);
  });

  it("is nothing while commands of the process before are open", () => {
    const call = new AnyCall();
    call.sequence = 7;
    window.restore(8, [call], []);
    enqueue(1);
    expect(window.answeredUpTo).toBeLessThan(0);
    window.remove(call);
    expect(window.answeredUpTo).toBe(0);
  });
});
