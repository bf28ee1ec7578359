/**
 * Attacks on sessions that once succeeded, as far as they can be shown at the level of the
 * table: what a successor, a caller that leaves, an expired lease or a refusal must not be able
 * to cause.
 */
import { describe, expect, test } from "vitest";
import { ERROR_NUMBERS } from "../../../src/errors.js";
import {
  END_REASON,
  MESSAGE,
  OP,
  RECALL_STATE,
  STATUS,
  WAIT_FOREVER,
} from "../../../src/protocol/index.js";
import { Client, ClusterLog, exclusive, resultOf, shared } from "../plans/cluster-log.js";

const FIRST = "f1".repeat(16);
const SECOND = "5e".repeat(16);
const SECRET = "0d".repeat(16);

/** Another process, which has the session's secret and knows it as it was exported. */
const successorOf = (log: ClusterLog, { session, nonce }: Client) =>
  new Client(log, session, nonce);

/** The modes in which the key is held. */
const modesIn = (log: ClusterLog, key = "k") =>
  log.table.inspect(key).holds.map(({ mode }) => mode);

describe("two successors of one exported session", () => {
  test.each([1, 2, 7])(
    "never both have it: the second is told of the first, at attempt %d",
    (attempt) => {
      const log = new ClusterLog();
      const a = log.open("a");
      const hold = a.take();
      const [f, g] = [successorOf(log, a), successorOf(log, a)];
      expect(f.takeOver({ taker: FIRST })).toMatchObject({ status: STATUS.ok, generation: 1 });
      expect(g.takeOver({ taker: SECOND, attempt })).toMatchObject({
        ...{ status: ERROR_NUMBERS.TAKEN_OVER, generation: 1, taker: FIRST },
      });
      const held = f.recallOne(hold);
      expect(held).toMatchObject({ state: RECALL_STATE.held, token: hold.token + 1 });
    },
  );

  test("have no token in common when the second takes over by force, and the first is told", () => {
    const log = new ClusterLog();
    const a = log.open("a");
    const hold = a.take();
    const [f, g] = [successorOf(log, a), successorOf(log, a)];
    f.takeOver({ taker: FIRST });
    log.stamp += 1_000;
    g.takeOver({ taker: SECOND, generation: 1 });
    expect(log.said.at(-1)).toMatchObject({
      epoch: 2,
      message: { kind: MESSAGE.ended, reason: END_REASON.takenOver, taker: SECOND },
    });
    expect(g.recallOne(hold)).toMatchObject({ token: hold.token + 2 });
    expect(f.end(hold)).toEqual([]);
    expect(f.resume(9)).toMatchObject({ status: ERROR_NUMBERS.TAKEN_OVER, taker: SECOND });
    expect(modesIn(log)).toEqual(["exclusive"]);
  });
});

describe("what a process had not got through before it was exported", () => {
  test("a detach that comes after the takeover has no effect: the heir keeps the hold", () => {
    const log = new ClusterLog();
    const a = log.open("a");
    const hold = a.take();
    const late = a.make({
      ...{ op: OP.detach, sequence: 2, mark: 1, acknowledged: [] },
      ...{ target: hold.sequence, secret: SECRET, ticketTtlMs: 5_000 },
    });
    const heir = successorOf(log, a);
    heir.takeOver();
    expect(log.apply(late)).toEqual([]);
    log.pass(6_000);
    expect(heir.recallOne(hold)).toMatchObject({ state: RECALL_STATE.held });
    // Under the heir's own epoch the number is still free.
    expect(resultOf(heir.update(hold, "mine"))).toEqual({ status: STATUS.ok });
  });

  test("a hold that was to be detached leaves no ghost: the heir ends it by its number", () => {
    const log = new ClusterLog();
    const a = log.open("a");
    const hold = a.take();
    const heir = successorOf(log, a);
    heir.takeOver();
    expect(resultOf(heir.end(hold))).toEqual({ status: STATUS.released });
    expect(modesIn(log)).toEqual([]);
    // Whether or not it ended before: to end what is loose is idempotent.
    const again = heir.end(hold);
    expect(resultOf(again)).toEqual({ status: STATUS.notReleased, reason: END_REASON.unknown });
  });

  test("a hold that was to be downgraded is shared for the heir and for the table alike", () => {
    const log = new ClusterLog();
    const a = log.open("a");
    const hold = a.take();
    const heir = successorOf(log, a);
    heir.takeOver();
    for (const times of [1, 2]) {
      expect(resultOf(heir.downgrade(hold, "k")), `${times}`).toEqual({ status: STATUS.ok });
      const items = [{ key: "k", mode: "shared", permits: 0, slots: [] }];
      expect(heir.recallOne(hold)).toMatchObject({ state: RECALL_STATE.held, items });
    }
    expect(modesIn(log)).toEqual(["shared"]);
  });
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
  test.each(["an upgrade", "a resume", "a takeover"])("is told after %s of its hold", (what) => {
    const log = new ClusterLog();
    const [a, b] = [log.open("a"), log.open("b")];
    const hold = a.take(shared("k"));
    let token = hold.token;
    if (what === "an upgrade") {
      a.upgrade(hold);
      token += 1;
    } else if (what === "a takeover") {
      a.takeOver();
      token += 1;
    }
    b.acquire(exclusive("k"), 0, { options: { steal: true } });
    if (what === "a resume") a.resume(2);
    const lost = { state: RECALL_STATE.ended, token, reason: END_REASON.stolen };
    expect(a.recallOne(hold)).toMatchObject(lost);
    a.keepalive({ acknowledged: [hold.sequence] });
    expect(a.recallOne(hold)).toMatchObject({ state: RECALL_STATE.forgotten });
  });
});

describe("release, then acquire of one owner", () => {
  test("is no deadlock though the release was refused: the acquire waits for its turn", () => {
    const log = new ClusterLog();
    const a = log.open("a");
    const hold = a.take();
    const head = { mark: 1, acknowledged: [] };
    const items = exclusive("k");
    const acquire = a.make({
      ...{ op: OP.acquire, sequence: 3, ...head, owner: 1, items, waitMs: WAIT_FOREVER },
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
