import { describe, expect, test } from "vitest";
import { ERROR_NUMBERS } from "../../src/errors.js";
import {
  END_REASON,
  RECALL_STATE,
  STATUS,
  TOKEN_MIN,
  WAIT_FOREVER,
} from "../../src/protocol/index.js";
import { ClusterLog, exclusive, resultOf, shared } from "./cluster-log.js";

const { notReleased, granted, queued } = STATUS;

describe("a command that comes again", () => {
  test("is answered as before, by the stamp of the entry that executed it", () => {
    const log = new ClusterLog();
    const a = log.open("a");
    const command = a.acquiring();
    const first = log.apply(command);
    log.stamp += 100;
    expect(log.apply(command, command)).toEqual([...first, ...first]);
    expect(log.table.counts().holds).toBe(1);
  });

  test("while it waits is told so, and after its wait how that ended", () => {
    const log = new ClusterLog();
    const [a, b] = [log.open("a"), log.open("b")];
    const token = a.take();
    const command = b.acquiring();
    const [first] = log.apply(command);
    expect(first).toMatchObject({ sequence: 1, result: { status: queued } });
    expect(log.apply(command)).toEqual([first]);
    log.stamp += 100;
    a.release(token);
    const [again] = log.apply(command);
    expect(again).toMatchObject({ stamp: 10_000, result: { status: granted, token: token + 1 } });
    expect(log.table.counts()).toMatchObject({ holds: 1, waiters: 0 });
  });

  test("below the mark has no answer and no effect", () => {
    const log = new ClusterLog();
    const a = log.open("a");
    const late = a.acquiring();
    a.take(exclusive("x"), { mark: 2 });
    expect(log.apply(late)).toEqual([]);
    expect(log.line("k")).toEqual(["|"]);
  });

  test("after it was acknowledged has no answer and no effect, whatever the mark", () => {
    const log = new ClusterLog();
    const a = log.open("a");
    const command = a.acquiring();
    log.apply(command);
    a.release(TOKEN_MIN, { acknowledged: [1] });
    expect(log.apply(command)).toEqual([]);
    a.keepalive({ mark: 3 });
    expect(log.apply(command)).toEqual([]);
    expect(log.table.counts().holds).toBe(0);
  });
});

describe("a grant", () => {
  test("is kept past the mark until it is acknowledged", () => {
    const log = new ClusterLog();
    const a = log.open("a");
    const command = a.acquiring();
    const first = log.apply(command);
    for (let at = 0; at < 100; at += 1) a.release(1, { mark: a.sequence + 1 });
    expect(log.apply(command)).toEqual(first);
    a.keepalive({ acknowledged: [1] });
    expect(log.apply(command)).toEqual([]);
  });

  test("keeps the reason of its end as long", () => {
    const log = new ClusterLog();
    const a = log.open("a");
    const token = a.take();
    a.cancel(1);
    const reason = END_REASON.cancelled;
    expect(resultOf(a.release(token, { mark: 3 }))).toEqual({ status: notReleased, reason });
    a.keepalive({ acknowledged: [1] });
    const unknown = { status: notReleased, reason: END_REASON.unknown };
    expect(resultOf(a.release(token, { mark: 3 }))).toEqual(unknown);
  });
});

test("a wait outlives the mark, and so does its outcome", () => {
  const log = new ClusterLog();
  const [a, b] = [log.open("a"), log.open("b")];
  const token = a.take();
  const waiting = b.acquiring();
  log.apply(waiting);
  b.keepalive({ mark: 2, acknowledged: [1] });
  expect(resultOf(log.apply(waiting))).toEqual({ status: queued });
  a.release(token);
  expect(resultOf(log.apply(waiting))).toEqual({ status: granted, token: token + 1 });
  b.keepalive({ mark: 2, acknowledged: [1] });
  expect(log.apply(waiting)).toEqual([]);
});

describe("too many unanswered commands", () => {
  test("are refused until the mark moves; the refusal is the answer for ever", () => {
    const log = new ClusterLog({ inFlightMax: 3 });
    const a = log.open("a");
    for (let at = 0; at < 3; at += 1) a.release(1);
    const refused = a.acquiring();
    const tooMany = { status: ERROR_NUMBERS.TOO_MANY_IN_FLIGHT };
    expect(resultOf(log.apply(refused))).toEqual(tooMany);
    expect(a.acquire(exclusive("k"), 0, { mark: 4 })).toMatchObject({ status: granted });
    expect(resultOf(log.apply(refused))).toEqual(tooMany);
  });

  test("do not count waiting acquires", () => {
    const log = new ClusterLog({ inFlightMax: 3 });
    const [a, b] = [log.open("a"), log.open("b")];
    a.take();
    for (let owner = 1; owner <= 50; owner += 1) {
      expect(b.acquire(exclusive("k"), WAIT_FOREVER, { owner })).toEqual({ status: queued });
    }
  });

  test("are dropped without answer where even refusals would pile up", () => {
    const log = new ClusterLog({ inFlightMax: 3 });
    const a = log.open("a");
    for (let at = 0; at < 6; at += 1) expect(a.release(1)).toHaveLength(1);
    const dropped = a.acquiring();
    expect(log.apply(dropped)).toEqual([]);
    a.keepalive({ mark: 7 });
    expect(resultOf(log.apply(dropped))).toMatchObject({ status: granted });
  });

  test("never keep a session from closing", () => {
    const log = new ClusterLog({ inFlightMax: 1 });
    const a = log.open("a");
    for (let at = 0; at < 5; at += 1) a.release(1);
    expect(resultOf(a.close())).toEqual({ status: STATUS.ok });
  });

  test("a client that acknowledges nothing gets no new acquire, and may still release", () => {
    const log = new ClusterLog({ unacknowledgedMax: 2 });
    const a = log.open("a");
    const token = a.take(exclusive("x"));
    a.take(exclusive("y"), { mark: 2 });
    const refused = a.acquire(exclusive("z"), 0, { mark: 3 });
    expect(refused).toEqual({ status: ERROR_NUMBERS.TOO_MANY_IN_FLIGHT });
    expect(resultOf(a.release(token, { mark: 4 }))).toEqual({ status: STATUS.released });
    const read = { mark: 5, acknowledged: [1, 2] };
    expect(a.acquire(exclusive("z"), 0, read)).toMatchObject({ status: granted });
  });

  test("a client that acknowledges nothing gets no new upgrade or claim either", () => {
    const tooMany = { status: ERROR_NUMBERS.TOO_MANY_IN_FLIGHT };
    const log = new ClusterLog({ unacknowledgedMax: 3 });
    const a = log.open("a");
    const token = a.take(shared("x"));
    let mark = 1;
    const raise = (acknowledged: number[] = []) => {
      mark += 2;
      const upgraded = a.upgrade(token, "x", 0, { mark: mark - 1, acknowledged });
      a.downgrade(token, undefined, { mark });
      return upgraded;
    };
    expect(raise()).toMatchObject({ status: STATUS.upgraded });
    expect(raise()).toMatchObject({ status: STATUS.upgraded });
    for (let again = 0; again < 5; again += 1) expect(raise()).toEqual(tooMany);
    const b = log.open("b");
    const ticket = b.take(exclusive("y"));
    const secret = "0".repeat(32);
    b.detach(ticket, secret);
    expect(a.claim(ticket, secret)).toEqual(tooMany);
    expect(raise([1])).toMatchObject({ status: STATUS.upgraded });
  });
});

test("recall tells what became of sequences and tokens, and of grants that were lost", () => {
  const log = new ClusterLog();
  const [a, b] = [log.open("a"), log.open("b")];
  const x = a.take(exclusive("x"));
  const y = a.take(exclusive("y"));
  b.take(exclusive("z"));
  a.acquire(exclusive("z"));
  a.cancel(2);
  a.release(77, { acknowledged: [1] });
  const { done, dropped, unseen } = RECALL_STATE;
  expect(a.recall([1, 2, 3, 4, 9], [x, 123])).toMatchObject([
    {
      number: 9,
      stamp: 10_000,
      sequences: [
        { sequence: 1, state: dropped },
        { sequence: 2, state: done, stamp: 10_000, result: { status: granted, token: y } },
        { sequence: 3, state: RECALL_STATE.queued },
        { sequence: 4, state: done, result: { status: STATUS.released } },
        { sequence: 9, state: unseen },
      ],
      tokens: [
        { token: x, held: true },
        { token: 123, held: false, reason: END_REASON.unknown },
        { token: y, held: false, reason: END_REASON.cancelled },
      ],
    },
  ]);
});

test("sequences may arrive in any order and are each executed once", () => {
  const log = new ClusterLog();
  const a = log.open("a");
  const commands = Array.from({ length: 200 }, (_, at) => a.acquiring(exclusive(`k${at}`)));
  const shuffled = commands.map((_, at) => commands[(at * 77) % 200] as (typeof commands)[number]);
  const first = log.apply(...shuffled);
  expect(log.table.counts().holds).toBe(200);
  expect(log.apply(...shuffled)).toEqual(first);
  a.keepalive({
    mark: 101,
    acknowledged: commands.map((_, at) => at + 1).filter((n) => n % 3 > 0),
  });
  const left = log.apply(...commands).map((message) => "sequence" in message && message.sequence);
  expect(left).toEqual(commands.map((_, at) => at + 1).filter((n) => n % 3 === 0));
});
