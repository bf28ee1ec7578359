/** A steal ends what others have of its keys, and is granted before every waiter. */
import { describe, expect, test } from "vitest";
import { ERROR_NUMBERS } from "../../../src/errors/index.js";
import { END_REASON, MESSAGE, RECALL_STATE, STATUS } from "../../../src/protocol/index.js";
import {
  type Client,
  ClusterLog,
  exclusive,
  permits,
  resultOf,
  shared,
  type Taken,
} from "../plans/cluster-log.js";
import { SECRET } from "../plans/everything.js";

const { granted, queued } = STATUS;
const lost = ({ sequence, token }: Taken, stamp = 10_000) => {
  return { kind: MESSAGE.lost, sequence, token, stamp, reason: END_REASON.stolen };
};

/** All that is said to anybody. */
function steal(log: ClusterLog, thief: Client, ...keys: string[]) {
  return log.apply(thief.acquiring(exclusive(...keys), 0, { options: { steal: true } }));
}

describe("a steal", () => {
  test("ends the holds of its keys, whose sessions are notified, and is granted at once", () => {
    const log = new ClusterLog();
    const [a, b, c, thief] = ["a", "b", "c", "thief"].map((name) => log.open(name)) as Client[];
    const [x, y] = [a?.take(shared("k")), b?.take(shared("k"))] as [Taken, Taken];
    c?.acquire(exclusive("k"));
    const said = steal(log, thief as Client, "k");
    expect(said.slice(0, 2)).toEqual([lost(x), lost(y)]);
    const told = log.said.slice(-said.length).map(({ session }) => session);
    expect(told.slice(0, 3)).toEqual([a?.session, b?.session, thief?.session]);
    expect(resultOf(said)).toEqual({ status: granted, token: y.token + 1 });
    // Who waits goes on waiting, behind the thief.
    expect(log.line("k")).toEqual(["thief", "|", "c"]);
  });

  test("ends whole holds: in their other keys the next ones are let in", () => {
    const log = new ClusterLog();
    const [a, b, thief] = [log.open("a"), log.open("b"), log.open("thief")];
    a.take([...exclusive("x", "y"), ...permits("s", 2, 2)]);
    b.acquire(exclusive("y"));
    b.acquire(permits("s", 1), 500, { task: 2 });
    steal(log, thief, "x");
    expect([log.line("x"), log.line("y"), log.line("s")]).toEqual([
      ["thief", "|"],
      ["b", "|"],
      ["b", "|"],
    ]);
  });

  test("leaves nothing that keeps the keys closed, whatever the policies of the hold", () => {
    const log = new ClusterLog();
    const [a, thief] = [log.open("a"), log.open("thief")];
    a.take(exclusive("k", "other"), { options: { minHoldMs: 9_000, lockDelayMs: 9_000 } });
    steal(log, thief, "k");
    expect(log.table.counts()).toMatchObject({ holds: 1, cooldowns: 0, keys: 1 });
  });

  test("opens what keeps its own keys closed, and not the others of the same hold", () => {
    const log = new ClusterLog();
    const [a, thief] = [log.open("a"), log.open("thief")];
    a.end(a.take(exclusive("x", "y", "z"), { options: { minHoldMs: 9_000 } }));
    expect(resultOf(steal(log, thief, "y"))).toMatchObject({ status: granted });
    const cooldowns = (key: string) => log.table.inspect(key).cooldowns.length;
    expect(["x", "y", "z"].map(cooldowns)).toEqual([1, 0, 1]);
    steal(log, thief, "x", "z");
    expect(log.table.counts()).toMatchObject({ holds: 2, cooldowns: 0 });
    expect(log.table.nextDueAt).toBe(25_000);
  });

  test("opens the shared rests of several holds at once", () => {
    const log = new ClusterLog();
    const [a, b, thief] = [log.open("a"), log.open("b"), log.open("thief")];
    const asking = { options: { minHoldMs: 9_000 } };
    const [first] = [a.take(shared("k"), asking), b.take(shared("k"), asking)];
    a.end(first);
    steal(log, thief, "k");
    expect(log.table.inspect("k")).toMatchObject({ cooldowns: [], holds: [{ task: 1 }] });
  });

  test("ends what a bearer has, which then cannot be adopted", () => {
    const log = new ClusterLog();
    const [a, thief] = [log.open("a"), log.open("thief")];
    const hold = a.take();
    a.handOver(hold, SECRET);
    expect(steal(log, thief, "k")).toHaveLength(1);
    const gone = { status: ERROR_NUMBERS.NOT_HELD, reason: END_REASON.stolen };
    expect(a.adopt("k", SECRET)).toEqual(gone);
  });

  test("ends an upgrade that waits under a stolen hold", () => {
    const log = new ClusterLog();
    const [a, b, thief] = [log.open("a"), log.open("b"), log.open("thief")];
    const hold = a.take(shared("k"));
    b.take(shared("k"));
    expect(a.upgrade(hold)).toEqual({ status: queued });
    const outcome = { kind: MESSAGE.outcome, sequence: 2, stamp: 10_000 };
    expect(steal(log, thief, "k")).toContainEqual({
      ...outcome,
      result: { status: ERROR_NUMBERS.NOT_HELD },
    });
    expect(log.line("k")).toEqual(["thief", "|"]);
  });

  test("of what the thief holds itself gives it a new hold for the old one", () => {
    const log = new ClusterLog();
    const a = log.open("a");
    const hold = a.take();
    const said = steal(log, a, "k");
    expect(said[0]).toEqual(lost(hold));
    expect(resultOf(said)).toEqual({ status: granted, token: hold.token + 1 });
  });

  test("of a key that nobody holds is a grant, ahead of those who wait for another key", () => {
    const log = new ClusterLog();
    const [a, b, thief] = [log.open("a"), log.open("b"), log.open("thief")];
    a.take(exclusive("y"));
    b.acquire(exclusive("x", "y"));
    expect(steal(log, thief, "x")).toMatchObject([
      { kind: MESSAGE.reply, result: { status: granted } },
      { kind: MESSAGE.contended },
    ]);
    expect(log.line("x")).toEqual(["thief", "|", "b"]);
    expect(steal(log, thief, "free")).toMatchObject([{ result: { status: granted } }]);
  });

  test("that would end more holds than one step may is refused, and ends none", () => {
    const log = new ClusterLog({ holdsPerStepMax: 2 });
    const thief = log.open("thief");
    const clients = ["a", "b", "c"].map((name) => log.open(name));
    const holds = clients.map((client) => client.take(shared("k")));
    expect(steal(log, thief, "k")).toMatchObject([{ result: { status: ERROR_NUMBERS.QUOTA } }]);
    expect(log.line("k")).toEqual(["a", "b", "c", "|"]);
    clients[0]?.end(holds[0] as Taken);
    expect(resultOf(steal(log, thief, "k"))).toMatchObject({ status: granted });
  });

  test("is remembered by those it took from until they say to have read it", () => {
    const log = new ClusterLog();
    const [a, thief] = [log.open("a"), log.open("thief")];
    const hold = a.take();
    steal(log, thief, "k");
    const { stolen: reason, unknown } = END_REASON;
    const { notReleased } = STATUS;
    expect(a.recallOne(hold)).toMatchObject({ state: RECALL_STATE.ended, reason });
    expect(resultOf(a.end(hold, { acknowledged: [hold.sequence] }))).toEqual({
      status: notReleased,
      reason: unknown,
    });
  });
});
