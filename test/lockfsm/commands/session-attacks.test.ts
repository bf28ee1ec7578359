/**
 * Attacks on sessions that once succeeded, as far as they can be shown at the level of the
 * table: what a late command, a caller that leaves, an expired lease or a refusal must not be able
 * to cause.
 */
import { describe, expect, test } from "vitest";
import { ERROR_NUMBERS } from "../../../src/errors/index.js";
import { END_REASON, OP, RECALL_STATE, STATUS, WAIT_FOREVER } from "../../../src/protocol/index.js";
import { ClusterLog, exclusive, resultOf, shared } from "../plans/cluster-log.js";

const SECRET = "0d".repeat(16);

/** The modes in which the key is held. */
const modesIn = (log: ClusterLog, key = "k") =>
  log.table.inspect(key).holds.map(({ mode }) => mode);

test("a hand-over that comes after a resume has no effect: the hold stays, its number is free", () => {
  const log = new ClusterLog();
  const a = log.open("a");
  const hold = a.take();
  const late = a.make({
    ...{ op: OP.handOver, sequence: 2, mark: 1, acknowledged: [] },
    ...{ target: hold.sequence, to: SECRET, isBearer: true, ttlMs: 5_000 },
  });
  a.resume(2);
  expect(log.apply(late)).toEqual([]);
  log.pass(6_000);
  expect(a.recallOne(hold)).toMatchObject({ state: RECALL_STATE.held, token: hold.token });
  expect(resultOf(a.update(hold, "mine"))).toEqual({ status: STATUS.ok });
  expect(a.sequence).toBe(2);
});

describe("leaving an upgrade", () => {
  test("that was granted and not read takes no exclusive lock away from another task of it", () => {
    const log = new ClusterLog();
    const [a, b] = [log.open("a"), log.open("b")];
    const [hold, other] = [a.take(shared("k")), b.take(shared("k"))];
    a.upgrade(hold);
    const left = a.sequence;
    b.end(other);
    // A second task asks for the same key and is told that it is exclusive already.
    const joined = a.upgrade(hold);
    expect(joined).toMatchObject({ status: STATUS.upgraded, token: other.token + 1 });
    expect(resultOf(a.end(left))).toEqual({
      ...{ status: STATUS.notReleased, reason: END_REASON.unknown },
    });
    expect(modesIn(log)).toEqual(["exclusive"]);
    expect(b.acquire(shared("k"), 0)).toMatchObject({ status: ERROR_NUMBERS.LOCK_HELD });
  });

  test("by a downgrade ends it before or after it was granted: never shared here, exclusive there", () => {
    for (const isGranted of [false, true]) {
      const log = new ClusterLog();
      const [a, b] = [log.open("a"), log.open("b")];
      const [hold, other] = [a.take(shared("k")), b.take(shared("k"))];
      a.upgrade(hold);
      if (isGranted) b.end(other);
      a.downgrade(hold, "k");
      if (!isGranted) b.end(other);
      expect(modesIn(log)).toEqual(["shared"]);
      expect(log.table.inspect("k").waiters).toEqual([]);
      const status = isGranted ? STATUS.upgraded : ERROR_NUMBERS.CANCELLED;
      expect(a.recallOne(2)).toMatchObject({ state: RECALL_STATE.replied, result: { status } });
    }
  });
});

test("a lapse strands no upgrade: the end of each hold withdraws it, and readers go on", () => {
  const log = new ClusterLog();
  const [a, b, c] = [log.open("a"), log.open("b"), log.open("c")];
  const [hold, other] = [a.take(shared("k")), b.take(shared("k"))];
  a.upgrade(hold);
  const upgrade = a.sequence;
  c.acquire(shared("k"));
  expect(log.line("k")).toEqual(["a", "b", "|", "a", "c"]);
  a.end(hold);
  expect(log.line("k")).toEqual(["b", "c", "|"]);
  expect(a.recallOne(upgrade)).toMatchObject({ result: { status: ERROR_NUMBERS.NOT_HELD } });
  b.end(other);
  expect(modesIn(log)).toEqual(["shared"]);
});

describe("a loss that nobody has read", () => {
  test.each(["an upgrade", "a resume", "an adopt"])("is reported after %s of its hold", (what) => {
    const log = new ClusterLog();
    const [a, b] = [log.open("a"), log.open("b")];
    let hold = a.take(shared("k"));
    if (what === "an upgrade") {
      a.upgrade(hold);
      hold = { ...hold, token: hold.token + 1 };
    } else if (what === "an adopt") {
      a.handOver(hold, SECRET);
      a.adopt("k", SECRET);
      hold = { sequence: a.sequence, token: hold.token + 2 };
    }
    b.acquire(exclusive("k"), 0, { options: { steal: true } });
    if (what === "a resume") a.resume(2);
    const lost = { state: RECALL_STATE.ended, token: hold.token, reason: END_REASON.stolen };
    expect(a.recallOne(hold)).toMatchObject(lost);
    a.keepalive({ acknowledged: [hold.sequence] });
    expect(a.recallOne(hold)).toMatchObject({ state: RECALL_STATE.forgotten });
  });
});

describe("release, then acquire of one task", () => {
  test("is not a deadlock though the release was refused: the acquire waits for its turn", () => {
    const log = new ClusterLog();
    const a = log.open("a");
    const hold = a.take();
    const head = { mark: 1, acknowledged: [] };
    const items = exclusive("k");
    const acquire = a.make({
      ...{ op: OP.acquire, sequence: 3, ...head, task: 1, items, waitMs: WAIT_FOREVER },
    });
    expect(log.apply(acquire)).toEqual([]);
    expect(log.line("k")).toEqual(["a", "|"]);
    const end = a.make({ op: OP.end, sequence: 2, ...head, target: hold.sequence });
    const results = log.apply(end, acquire).map((message) => resultOf([message]));
    expect(results).toEqual([
      { status: STATUS.released },
      { status: STATUS.granted, token: hold.token + 1 },
    ]);
  });
});
