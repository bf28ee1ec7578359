/** A session passes to another process: its holds, waits and replies, and who may act for it. */
import { describe, expect, test } from "vitest";
import { ERROR_NUMBERS } from "../../../src/errors.js";
import { END_REASON, MESSAGE, OP, RECALL_STATE, STATUS } from "../../../src/protocol/index.js";
import {
  ClusterLog,
  exclusive,
  permits,
  resultOf,
  shared,
  TAKER,
  unattached,
} from "../plans/cluster-log.js";

const { ok, granted, queued, released } = STATUS;
const OTHER = "0e".repeat(16);
const takenBy = (taker: string, generation = 1) => ({
  ...{ status: ERROR_NUMBERS.TAKEN_OVER, epoch: 0, generation, taker },
});

describe("a takeover of a session by another process", () => {
  test("gives every hold a new token, larger than all before, in the order of the old ones", () => {
    const log = new ClusterLog();
    const a = log.open("a");
    const [x, y] = [a.take(exclusive("x")), a.take(exclusive("y"))];
    const session = { session: a.session, generation: 1, epoch: 2, highestSequence: 2 };
    expect(a.takeOver()).toMatchObject({ status: ok, ...session, index: log.index });
    const tokens = ["x", "y"].map((key) => log.table.inspect(key).holds[0]?.token);
    expect(tokens).toEqual([y.token + 1, y.token + 2]);
    const verified = log.table.verify("x", x.token);
    expect(verified).toEqual({ isCurrent: false, newestToken: y.token + 1 });
  });

  test("leaves lone holds what they are, and keeps the order among others of their keys", () => {
    const log = new ClusterLog();
    const [a, b] = [log.open("a"), log.open("b")];
    const lone = Array.from({ length: 5 }, (_, at) =>
      a.take(exclusive(`lone${at}`), { owner: at }),
    );
    const several = a.take([...shared("k"), ...permits("s", 1, 2)], { owner: 9 });
    const last = b.take(shared("k"));
    a.takeOver();
    for (const [at, { sequence }] of lone.entries()) {
      const row = log.state.keys.get(`lone${at}`);
      expect(typeof row).toBe("number");
      expect(a.recallOne(sequence)).toMatchObject({ token: last.token + 1 + at });
    }
    const token = last.token + 1 + lone.length;
    expect(a.recallOne(several)).toMatchObject({ state: RECALL_STATE.held, token });
    expect(log.line("k")).toEqual(["b", "a", "|"]);
    expect(log.table.inspect("k").holds.map((hold) => hold.token)).toEqual([last.token, token]);
  });

  test("knows its holds by their numbers, and goes on with the one that comes next", () => {
    const log = new ClusterLog();
    const a = log.open("a");
    const hold = a.take();
    a.takeOver();
    expect(a.recallOne(hold)).toMatchObject({ token: hold.token + 1 });
    expect(resultOf(a.end(hold))).toEqual({ status: released });
    expect(a.sequence).toBe(2);
  });

  test("takes the say from the process before, which is told, and goes on with its waits", () => {
    const log = new ClusterLog();
    const [a, b] = [log.open("a"), log.open("b")];
    const hold = b.take();
    a.acquire();
    const late = a.acquiring(exclusive("other"));
    a.takeOver();
    const message = {
      ...{ kind: MESSAGE.ended, session: a.session, taker: TAKER },
      reason: END_REASON.takenOver,
    };
    expect(log.said.at(-1)).toEqual({ session: a.session, epoch: 1, message });
    expect(log.apply(late)).toEqual([]);
    b.end(hold);
    expect(log.said.at(-1)).toMatchObject({ session: a.session, epoch: 2 });
    expect(log.line("k")).toEqual(["a", "|"]);
  });

  test("that was sent again is answered again and changes nothing", () => {
    const log = new ClusterLog();
    const a = log.open("a");
    a.take();
    const first = a.takeOver({ attempt: 3 });
    const { holds } = log.table.inspect("k");
    const said = log.said.length;
    log.stamp += 100;
    const again = a.takeOver({ generation: 0, attempt: 3 });
    expect(again).toEqual({ ...first, index: log.index });
    expect(a.takeOver({ generation: 0, attempt: 2 })).toBeUndefined();
    expect(log.said).toHaveLength(said);
    expect(log.table.inspect("k").holds.map(({ token }) => token)).toEqual(
      holds.map(({ token }) => token),
    );
  });

  test("that was sent once more than the table knew attaches again: the tokens stay", () => {
    const log = new ClusterLog();
    const a = log.open("a");
    const hold = a.take();
    a.takeOver();
    const again = a.takeOver({ generation: 0, attempt: 2 });
    expect(again).toMatchObject({ status: ok, generation: 1, epoch: 3 });
    expect(a.recallOne(hold)).toMatchObject({ token: hold.token + 1 });
  });

  test("loses to the one that came first, and is told who that is", () => {
    const log = new ClusterLog();
    const a = log.open("a");
    const hold = a.take();
    a.takeOver();
    log.stamp += 5_000;
    expect(a.takeOver({ generation: 0, taker: OTHER })).toMatchObject(takenBy(TAKER));
    expect(a.takeOver({ generation: 7, taker: TAKER })).toMatchObject(takenBy(TAKER));
    expect(a.recallOne(hold)).toMatchObject({ token: hold.token + 1 });
  });

  test("may follow one that it knows of, at most once a second", () => {
    const log = new ClusterLog();
    const a = log.open("a");
    a.takeOver();
    log.stamp += 999;
    expect(a.takeOver({ taker: OTHER })).toMatchObject({ status: ERROR_NUMBERS.BUSY });
    log.stamp += 1;
    expect(a.takeOver({ taker: OTHER })).toMatchObject({ status: ok, generation: 2, epoch: 3 });
    expect(a.takeOver({ generation: 0 })).toMatchObject(takenBy(OTHER, 2));
  });

  test("makes a resume of the process before useless, and an open as well", () => {
    const log = new ClusterLog();
    const a = log.open("a");
    a.takeOver();
    const { session, nonce } = a;
    const before = log.attached.length;
    log.apply(
      unattached({ op: OP.resume, session, nonce, generation: 0, attempt: 99 }),
      unattached({ op: OP.open, nonce, attempt: 99, ttlMs: 15_000, name: "a", metadata: "" }),
    );
    expect(log.attached.slice(before)).toMatchObject([takenBy(TAKER), takenBy(TAKER)]);
  });

  test("counts the attempts of its own process", () => {
    const log = new ClusterLog();
    const a = log.open("a");
    a.resume(50);
    a.takeOver({ attempt: 1 });
    expect(a.resume(2)).toMatchObject({ status: ok, generation: 1, epoch: 4 });
    a.generation = 2;
    expect(a.resume(3)).toMatchObject({ status: ERROR_NUMBERS.FORBIDDEN });
  });

  test("keeps value and cap of each hold, and its pending revoke", () => {
    const log = new ClusterLog();
    const [a, b] = [log.open("a", 60_000), log.open("b", 60_000)];
    const hold = a.take(shared("k"), { options: { value: "v", maxHoldMs: 90_000 } });
    const other = b.take(shared("k"));
    b.revokeToken(hold.token, { graceMs: 80_000 });
    const [before] = log.table.inspect("k").holds;
    a.takeOver();
    const after = log.table.inspect("k").holds.at(-1);
    expect(after).toEqual({ ...before, token: other.token + 1 });
  });

  test("drops upgrades that wait, without an outcome, and lets those in who waited after them", () => {
    const log = new ClusterLog();
    const [a, b, c] = [log.open("a"), log.open("b"), log.open("c")];
    const hold = a.take(shared("k"));
    b.take(shared("k"));
    a.upgrade(hold);
    c.acquire(shared("k"));
    const before = log.said.length;
    a.takeOver();
    expect(log.said.slice(before)).toMatchObject([
      { session: a.session, message: { kind: MESSAGE.ended } },
      { session: c.session, message: { kind: MESSAGE.outcome, result: { status: granted } } },
    ]);
    expect(a.recallOne(2)).toEqual({ sequence: 2, state: RECALL_STATE.forgotten });
    expect(a.upgrade(hold)).toEqual({ status: queued });
  });

  test("is forbidden without the nonce, and no use for a session that ended", () => {
    const log = new ClusterLog();
    const a = log.open("a");
    const hold = a.take();
    expect(a.takeOver({ nonce: "wrong" })).toMatchObject({
      status: ERROR_NUMBERS.FORBIDDEN,
      epoch: 0,
    });
    expect(log.table.inspect("k").holds[0]?.token).toBe(hold.token);
    a.close();
    expect(a.takeOver()).toMatchObject({ status: ERROR_NUMBERS.SESSION_EXPIRED });
  });

  test("of more holds than one step may renew is refused, and renews none", () => {
    const log = new ClusterLog({ holdsPerStepMax: 1 });
    const a = log.open("a");
    const [x] = [a.take(exclusive("x")), a.take(exclusive("y"))];
    expect(a.takeOver()).toMatchObject({ status: ERROR_NUMBERS.QUOTA });
    expect(resultOf(a.end(x))).toEqual({ status: released });
    expect(a.takeOver()).toMatchObject({ status: ok, epoch: 2 });
    expect(a.acquire(exclusive("y"), 500, { owner: 2 })).toEqual({ status: queued });
  });

  test("with numbers that cannot be is invalid", () => {
    const log = new ClusterLog();
    const a = log.open("a");
    const status = ERROR_NUMBERS.INVALID_ARGUMENT;
    for (const taking of [{ attempt: 0 }, { generation: -1 }, { generation: 2 ** 32 - 1 }]) {
      expect(a.takeOver(taking)).toMatchObject({ status });
    }
  });
});
