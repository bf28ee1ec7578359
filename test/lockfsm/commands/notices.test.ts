/** What holders learn without asking: that another request waits, and that a hold has ended. */
import { describe, expect, test } from "vitest";
import { END_REASON, MESSAGE, RECALL_STATE, WAIT_FOREVER } from "../../../src/protocol/index.js";
import { type Client, ClusterLog, exclusive, shared, type Taken } from "../plans/cluster-log.js";

/** By session and sequence, all holds that were told that somebody waits. */
function contended(log: ClusterLog): string[] {
  return log.said.flatMap(({ session, message }) =>
    message.kind === MESSAGE.contended ? [`${session}/${message.sequence}`] : [],
  );
}

const nameOf = ({ session }: Client, { sequence }: Taken) => `${session}/${sequence}`;

describe("that somebody waits is reported", () => {
  test("to the holder when the first request begins to wait behind it, and not again", () => {
    const log = new ClusterLog();
    const [a, b, c] = [log.open("a"), log.open("b"), log.open("c")];
    const hold = a.take();
    expect(contended(log)).toEqual([]);
    b.acquire();
    expect(log.said.at(-1)).toMatchObject({
      session: a.session,
      message: { sequence: hold.sequence },
    });
    c.acquire();
    b.end(1);
    c.end(1);
    b.acquire();
    expect(contended(log)).toEqual([nameOf(a, hold)]);
  });

  test("to each who shares the key, and to each new hold once", () => {
    const log = new ClusterLog();
    const [a, b, c] = [log.open("a"), log.open("b"), log.open("c")];
    const [x, y] = [a.take(shared("k")), b.take(shared("k"))];
    c.acquire(exclusive("k"));
    const told = [nameOf(a, x), nameOf(b, y)];
    expect(contended(log)).toEqual(told);
    a.acquire(exclusive("k"), 500, { task: 2 });
    a.end(x);
    b.end(y);
    // The third one has it now, and somebody waits behind it from its grant on.
    expect(contended(log)).toEqual([...told, `${c.session}/1`]);
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
    expect(contended(log)).toEqual([nameOf(b, y)]);
  });

  test("to the others when a hold is to be upgraded, and not to that hold itself", () => {
    const log = new ClusterLog();
    const [a, b, c] = [log.open("a"), log.open("b"), log.open("c")];
    const [x, y] = [a.take(shared("k")), b.take(shared("k"))];
    a.upgrade(x);
    expect(contended(log)).toEqual([nameOf(b, y)]);
    c.acquire(exclusive("k"));
    expect(contended(log)).toEqual([nameOf(b, y), nameOf(a, x)]);
  });

  test("on recall too", () => {
    const log = new ClusterLog();
    const [a, b] = [log.open("a"), log.open("b")];
    const [x, y] = [a.take(exclusive("x")), a.take(exclusive("y"))];
    b.acquire(exclusive("x"));
    expect([a.recallOne(x), a.recallOne(y)]).toMatchObject([
      { isContended: true },
      { isContended: false },
    ]);
  });

  test("to a long row of holders by several entries, to each once", () => {
    const log = new ClusterLog({ grantsPerStepMax: 3, unitsPerEntryMax: 5 });
    const a = log.open("a");
    const holds = Array.from({ length: 20 }, (_, task) => a.take(shared("k"), { task }));
    const names = holds.map((hold) => nameOf(a, hold));
    log.open("b").acquire(exclusive("k"));
    expect(contended(log)).toEqual(names.slice(0, 3));
    expect(log.finishWork()).toBeGreaterThan(2);
    expect(contended(log)).toEqual(names);
  });
});

describe("a hold that ended against the will of its session", () => {
  test("is reported by its number and its newest token, and remembered so", () => {
    const log = new ClusterLog();
    const a = log.open("a", 60_000);
    const { sequence, token } = a.take(shared("k"), { options: { maxHoldMs: 1_000 } });
    a.upgrade(sequence);
    const told = { sequence, token: token + 1, reason: END_REASON.maxHold };
    expect(log.pass(1_000)).toEqual([{ kind: MESSAGE.lost, stamp: 11_000, ...told }]);
    a.keepalive({ mark: 3 });
    expect(a.recallOne(sequence)).toEqual({ state: RECALL_STATE.ended, ...told });
  });

  test("is not remembered where its session released it itself", () => {
    const log = new ClusterLog();
    const a = log.open("a");
    const hold = a.take();
    a.end(hold);
    expect(a.recallOne(hold)).toMatchObject({ state: RECALL_STATE.forgotten });
  });
});

test("a request with a head start overtakes only requests that came that much later", () => {
  const log = new ClusterLog();
  const names = ["holder", "old", "young", "urgent", "late"];
  const [holder, old, young, urgent, late] = names.map((name) => log.open(name)) as [
    Client,
    Client,
    Client,
    Client,
    Client,
  ];
  const hold = holder.take();
  old.acquire();
  log.stamp += 4_000;
  young.acquire();
  log.stamp += 1_000;
  urgent.acquire(exclusive("k"), WAIT_FOREVER, { options: { priority: 3 } });
  log.stamp += 4_000;
  // Its head start is as long, but the urgent one has waited for longer than that.
  late.acquire(exclusive("k"), WAIT_FOREVER, { options: { priority: 3 } });
  expect(log.line("k")).toEqual(["holder", "|", "old", "urgent", "young", "late"]);
  holder.end(hold);
  expect(log.line("k")).toEqual(["old", "|", "urgent", "young", "late"]);
});
