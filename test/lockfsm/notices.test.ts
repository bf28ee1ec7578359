import { describe, expect, test } from "vitest";
import { ERROR_NUMBERS } from "../../src/errors.js";
import { END_REASON, MESSAGE, STATUS, WAIT_FOREVER } from "../../src/protocol/index.js";
import { type Client, ClusterLog, exclusive, resultOf, shared } from "./cluster-log.js";

/** The tokens of all holds that were told that somebody waits. */
function contended(log: ClusterLog): number[] {
  return log.said.flatMap(({ message }) =>
    message.kind === MESSAGE.contended ? [message.token] : [],
  );
}

describe("that somebody waits is told", () => {
  test("to the holder when the first request begins to wait behind it, and not again", () => {
    const log = new ClusterLog();
    const [a, b, c] = [log.open("a"), log.open("b"), log.open("c")];
    const token = a.take();
    expect(contended(log)).toEqual([]);
    b.acquire();
    expect(log.said.at(-1)).toMatchObject({ session: a.session, message: { token } });
    c.acquire();
    b.cancel(1);
    c.cancel(1);
    b.acquire();
    expect(contended(log)).toEqual([token]);
  });

  test("to each who shares the key, and to each new hold once", () => {
    const log = new ClusterLog();
    const [a, b, c] = [log.open("a"), log.open("b"), log.open("c")];
    const tokens = [a.take(shared("k")), b.take(shared("k"))];
    c.acquire(exclusive("k"));
    expect(contended(log)).toEqual(tokens);
    a.acquire(exclusive("k"), 500, { owner: 2 });
    a.release(tokens[0] as number);
    b.release(tokens[1] as number);
    // The third one has it now, and somebody waits behind it from its grant on.
    expect(contended(log)).toEqual([...tokens, (tokens[1] as number) + 1]);
  });

  test("to nobody because of a request that does not wait", () => {
    const log = new ClusterLog();
    const [a, b] = [log.open("a"), log.open("b")];
    a.take();
    b.acquire(exclusive("k"), 0);
    b.acquire(exclusive("k"), 0, { options: { priority: 60 } });
    expect(contended(log)).toEqual([]);
  });

  test("to nobody because of those who go together with it", () => {
    const log = new ClusterLog();
    const [a, b, c] = [log.open("a"), log.open("b"), log.open("c")];
    a.take(shared("x"));
    const y = b.take(exclusive("y"));
    c.acquire(shared("x", "y"));
    expect(contended(log)).toEqual([y]);
  });

  test("to the others when a hold is to be upgraded, and not to that hold itself", () => {
    const log = new ClusterLog();
    const [a, b, c] = [log.open("a"), log.open("b"), log.open("c")];
    const [x, y] = [a.take(shared("k")), b.take(shared("k"))];
    a.upgrade(x);
    expect(contended(log)).toEqual([y]);
    c.acquire(exclusive("k"));
    expect(contended(log)).toEqual([y, x]);
  });

  test("on recall too", () => {
    const log = new ClusterLog();
    const [a, b] = [log.open("a"), log.open("b")];
    const [x, y] = [a.take(exclusive("x")), a.take(exclusive("y"))];
    b.acquire(exclusive("x"));
    expect(a.recall([], [x, y])).toMatchObject([
      { tokens: [{ isContended: true }, { isContended: false }] },
    ]);
  });

  test("to a long row of holders by several entries, to each once", () => {
    const log = new ClusterLog({ grantsPerStepMax: 3, unitsPerEntryMax: 5 });
    const a = log.open("a");
    const tokens = Array.from({ length: 20 }, (_, owner) => a.take(shared("k"), { owner }));
    log.open("b").acquire(exclusive("k"));
    expect(contended(log)).toEqual(tokens.slice(0, 3));
    expect(log.finishWork()).toBeGreaterThan(2);
    expect(contended(log)).toEqual(tokens);
  });
});

describe("a hold that ended against the will of its session", () => {
  function lost(): { log: ClusterLog; a: Client; token: number } {
    const log = new ClusterLog();
    const a = log.open("a", 60_000);
    const token = a.take(exclusive("k"), { options: { maxHoldMs: 1_000 } });
    log.pass(1_000);
    return { log, a, token };
  }

  test("leaves its reason in the session, whether or not the grant was acknowledged", () => {
    const { a, token } = lost();
    const told = { token, held: false, reason: END_REASON.maxHold };
    expect(a.recall([1], [])).toMatchObject([{ tokens: [told] }]);
    a.keepalive({ mark: 2, acknowledged: [1] });
    expect(a.recall([], [token])).toMatchObject([{ tokens: [told] }]);
    const { notReleased } = STATUS;
    expect(resultOf(a.release(token))).toEqual({ status: notReleased, reason: told.reason });
  });

  test("has an unknown end once its token was acknowledged", () => {
    const { a, token } = lost();
    a.keepalive({ acknowledged: [token] });
    const told = { token, held: false, reason: END_REASON.unknown };
    expect(a.recall([], [token])).toMatchObject([{ tokens: [told] }]);
  });

  test("is not remembered where its session released it itself", () => {
    const log = new ClusterLog();
    const a = log.open("a");
    const token = a.take();
    a.keepalive({ acknowledged: [1] });
    a.release(token);
    const told = { token, held: false, reason: END_REASON.unknown };
    expect(a.recall([], [token])).toMatchObject([{ tokens: [told] }]);
  });

  test("counts with what was not read, beyond which nothing new is given", () => {
    const log = new ClusterLog({ unacknowledgedMax: 2 });
    const [a, operator] = [log.open("a"), log.open("operator")];
    const tokens = [1, 2].map((sequence) => {
      const token = a.take(exclusive(`k${sequence}`));
      a.keepalive({ acknowledged: [sequence] });
      operator.revokeToken(token, { now: true });
      return token;
    });
    const read = { acknowledged: tokens.slice(0, 1) };
    expect(a.acquire()).toEqual({ status: ERROR_NUMBERS.TOO_MANY_IN_FLIGHT });
    expect(a.acquire(exclusive("k"), 0, read)).toMatchObject({ status: STATUS.granted });
  });

  test("is forgotten as the oldest of more than a thousand", () => {
    const log = new ClusterLog({ inFlightMax: 5_000 });
    const [a, operator] = [log.open("a"), log.open("operator")];
    const tokens = Array.from({ length: 1_001 }, (_, at) => a.take(exclusive(`k${at}`)));
    for (const token of tokens) operator.revokeToken(token, { now: true });
    const [first, second] = tokens as [number, number];
    expect(a.recall([], [first, second])).toMatchObject([
      { tokens: [{ reason: END_REASON.unknown }, { reason: END_REASON.revoked }] },
    ]);
  });
});

test("a request with a head start overtakes those who came so much later, and no others", () => {
  const log = new ClusterLog();
  const names = ["holder", "old", "young", "urgent", "late"];
  const [holder, old, young, urgent, late] = names.map((name) => log.open(name)) as [
    Client,
    Client,
    Client,
    Client,
    Client,
  ];
  const token = holder.take();
  old.acquire();
  log.stamp += 4_000;
  young.acquire();
  log.stamp += 1_000;
  urgent.acquire(exclusive("k"), WAIT_FOREVER, { options: { priority: 3 } });
  log.stamp += 4_000;
  // Its head start is as long, but the urgent one has waited for longer than that.
  late.acquire(exclusive("k"), WAIT_FOREVER, { options: { priority: 3 } });
  expect(log.line("k")).toEqual(["holder", "|", "old", "urgent", "young", "late"]);
  holder.release(token);
  expect(log.line("k")).toEqual(["old", "|", "urgent", "young", "late"]);
});
