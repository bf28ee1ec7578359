import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Claim, claimOf, Gate, HoldfastError } from "../../src/fence/index.js";
import { claimHistories, verdicts } from "./claim-history.js";

const exclusive = (token: number): Claim => ({ token, mode: "exclusive" });
const shared = (token: number): Claim => ({ token, mode: "shared" });
const permits = (token: number, ...slots: number[]): Claim => ({ token, mode: "permits", slots });

function passes(gate: Gate, claim: Claim): boolean {
  try {
    gate.admit(claim);
    return true;
  } catch (error) {
    if (!(error instanceof HoldfastError) || error.code !== "STALE_TOKEN") throw error;
    return false;
  }
}

describe("a gate", () => {
  test("lets an exclusive holder write again and again, and refuses one older than any seen", () => {
    const gate = new Gate();
    expect([5, 5, 8, 7, 8, 9].map((token) => passes(gate, exclusive(token)))).toEqual([
      true,
      true,
      true,
      false,
      true,
      true,
    ]);
    expect(passes(gate, shared(12))).toBe(true);
    expect(passes(gate, exclusive(11))).toBe(false);
  });

  test("lets shared holders in together, in any order, until an exclusive one came", () => {
    const gate = new Gate();
    expect(passes(gate, shared(7))).toBe(true);
    expect(passes(gate, shared(5))).toBe(true);
    expect(passes(gate, exclusive(6))).toBe(false);
    expect(passes(gate, exclusive(9))).toBe(true);
    expect(passes(gate, shared(7))).toBe(false);
    // Downgraded: the same hold, under the same token.
    expect(passes(gate, shared(9))).toBe(true);
  });

  test("keeps each slot of a semaphore apart, and lets a claim in with all of its slots or not", () => {
    const gate = new Gate();
    expect(passes(gate, permits(5, 0, 1))).toBe(true);
    expect(passes(gate, permits(8, 1))).toBe(true);
    expect(passes(gate, permits(5, 0))).toBe(true);
    expect(passes(gate, permits(6, 0, 1))).toBe(false);
    expect(passes(gate, permits(5, 0))).toBe(true);
    expect(passes(gate, permits(7, 2))).toBe(true);
  });

  test("refuses the late holder of what was a lock and is a semaphore now, and the other way", () => {
    const gate = new Gate();
    gate.admit(permits(9, 3));
    expect(passes(gate, exclusive(8))).toBe(false);
    expect(passes(gate, shared(8))).toBe(false);
    gate.admit(exclusive(12));
    expect(passes(gate, permits(11, 0))).toBe(false);
  });

  test("says what was refused, and what stood against it", () => {
    const gate = new Gate({ name: "orders/1001" });
    gate.admit(exclusive(34));
    expect(() => gate.admit(exclusive(33))).toThrow(
      expect.objectContaining({
        name: "HoldfastError",
        code: "STALE_TOKEN",
        retryable: false,
        details: { resource: "orders/1001", token: 33, mode: "exclusive", newest: 34 },
        message: expect.stringContaining('exclusive token 33 came to "orders/1001" after token 34'),
      }),
    );
  });

  test("goes on from a state that was saved, and refuses what is none", () => {
    const before = new Gate();
    before.admit(exclusive(5));
    before.admit(shared(7));
    const saved = JSON.stringify(before.state);
    const after = new Gate({ state: JSON.parse(saved) });
    expect(after.state).toEqual({ exclusive: 5, shared: 7, slots: {} });
    expect(passes(after, exclusive(6))).toBe(false);
    expect(passes(after, shared(5))).toBe(true);
    after.admit(permits(9, 4));
    const again = new Gate({ state: JSON.parse(JSON.stringify(after.state)) });
    expect(passes(again, permits(8, 4))).toBe(false);
    for (const state of [
      {},
      null,
      { ...before.state, shared: "7" },
      { ...before.state, slots: 1 },
    ]) {
      expect(() => new Gate({ state: state as never })).toThrow(TypeError);
    }
  });

  test("takes nothing for a claim that is none", () => {
    const gate = new Gate();
    const wrong: [unknown, string][] = [
      [{ token: "7", mode: "exclusive" }, "token 7 is not a number"],
      [{ token: 0, mode: "exclusive" }, "token 0 is not a whole number"],
      [{ token: 1.5, mode: "shared" }, "token 1.5 is not a whole number"],
      [{ token: 2 ** 53, mode: "shared" }, "is not a whole number"],
      [{ token: Number.NaN, mode: "exclusive" }, "token NaN"],
      [{ token: 7 }, "mode undefined is not exclusive, shared or permits"],
      [{ token: 7, mode: "Exclusive" }, 'mode "Exclusive"'],
      [{ token: 7, mode: "permits" }, "permits need 1 to 1024 slots"],
      [{ token: 7, mode: "permits", slots: [] }, "permits need 1 to 1024 slots"],
      [{ token: 7, mode: "permits", slots: [-1] }, "slot -1"],
      [{ token: 7, mode: "permits", slots: ["0"] }, "slot 0"],
    ];
    for (const [claim, problem] of wrong) {
      expect(() => gate.admit(claim as Claim)).toThrow(problem);
    }
    expect(gate.state).toEqual({ exclusive: 0, shared: 0, slots: {} });
  });

  test("judges as one who remembers everything, and never refuses who still holds", () => {
    fc.assert(
      fc.property(claimHistories("both"), (history) => {
        const gate = new Gate();
        const found = history.map(({ claim }) => passes(gate, claim));
        expect(found).toEqual(verdicts(history));
        history.forEach(({ isLive }, index) => {
          if (isLive) expect(found[index]).toBe(true);
        });
      }),
      { numRuns: 2_000 },
    );
  });
});

test("a lock of several keys claims each of them in its own way", () => {
  const lock = {
    token: 40,
    items: [
      { key: "a", mode: "exclusive" as const, slots: [] },
      { key: "pool", mode: "permits" as const, slots: [1, 4] },
    ],
  };
  expect(claimOf(lock, "a")).toMatchObject({ token: 40, mode: "exclusive" });
  expect(claimOf(lock, "pool")).toEqual({ token: 40, mode: "permits", slots: [1, 4] });
  expect(() => claimOf(lock, "b")).toThrow(
    'the lock does not have the key "b"; it has "a", "pool"',
  );
});

/** A task that ends when the test says so. */
function heldTask(log: string[], name: string) {
  let end: () => void = () => {};
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  const task = async (): Promise<string> => {
    log.push(`${name} begins`);
    await ended;
    log.push(`${name} ends`);
    return name;
  };
  return { task, end };
}

/** Long enough for everything that does not wait for anything else. */
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe("run", () => {
  test("keeps a newer holder out until the older one's write has ended, then refuses the older", async () => {
    const gate = new Gate();
    const log: string[] = [];
    const [older, newer] = [heldTask(log, "older"), heldTask(log, "newer")];
    const first = gate.run(exclusive(5), older.task);
    const second = gate.run(exclusive(9), newer.task);
    const late = gate.run(exclusive(5), () => log.push("late begins"));
    const refused = expect(late).rejects.toMatchObject({ code: "STALE_TOKEN" });
    await settled();
    expect(log).toEqual(["older begins"]);
    older.end();
    expect(await first).toBe("older");
    await settled();
    expect(log).toEqual(["older begins", "older ends", "newer begins"]);
    newer.end();
    await Promise.all([second, refused]);
    expect(log).toEqual(["older begins", "older ends", "newer begins", "newer ends"]);
  });

  test("runs shared holders and different slots side by side", async () => {
    const gate = new Gate();
    const log: string[] = [];
    const [one, other, alone] = ["one", "other", "alone"].map((name) => heldTask(log, name));
    if (one === undefined || other === undefined || alone === undefined) throw new Error("three");
    const all = [
      gate.run(shared(5), one.task),
      gate.run(shared(4), other.task),
      gate.run(exclusive(9), alone.task),
    ];
    await settled();
    expect(log).toEqual(["one begins", "other begins"]);
    one.end();
    other.end();
    alone.end();
    await Promise.all(all);
    expect(log.slice(-2)).toEqual(["alone begins", "alone ends"]);

    const slots = new Gate();
    const [left, right] = [heldTask(log, "left"), heldTask(log, "right")];
    const both = [slots.run(permits(5, 0), left.task), slots.run(permits(6, 1), right.task)];
    await settled();
    expect(log.slice(-2)).toEqual(["left begins", "right begins"]);
    left.end();
    right.end();
    await Promise.all(both);
  });

  test("passes a failure on, and blocks nobody by it", async () => {
    const gate = new Gate();
    const failing = gate.run(exclusive(5), () => {
      throw new Error("the disk is full");
    });
    const next = gate.run(exclusive(6), () => "written");
    await expect(failing).rejects.toThrow("the disk is full");
    expect(await next).toBe("written");
  });
});
