/** The window of unacknowledged appends counts messages and bytes, and is full by either. */
import { describe, expect, it } from "vitest";
import { InflightWindow } from "../../../src/raft/progress/inflight.js";

describe("the window", () => {
  it("keeps count of messages and bytes through any number of turns of its ring", () => {
    const window = new InflightWindow(3, 100);
    let last = 0;
    for (let turn = 0; turn < 10; turn += 1) {
      for (const bytes of [40, 30]) {
        last += 1;
        window.add(last, bytes, turn);
      }
      expect([window.messages, window.roomBytes]).toEqual([2, 30]);
      expect(window.oldestSentMs).toBe(turn);
      expect(window.acknowledge(last - 2)).toBe(false);
      expect(window.acknowledge(last - 1)).toBe(true);
      expect([window.messages, window.roomBytes]).toEqual([1, 70]);
      window.acknowledge(last);
      expect([window.messages, window.roomBytes]).toEqual([0, 100]);
    }
  });

  it("has no room for bytes while it has none for a message", () => {
    const window = new InflightWindow(1, 100);
    window.add(1, 10, 0);
    expect(window.roomBytes).toBe(0);
    expect(() => window.add(2, 10, 0)).toThrow(/already in flight/);
    window.clear();
    expect(window.roomBytes).toBe(100);
  });
});
