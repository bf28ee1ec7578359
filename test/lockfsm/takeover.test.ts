import { describe, expect, test } from "vitest";
import { ERROR_NUMBERS } from "../../src/errors.js";
import { END_REASON, MESSAGE, STATUS } from "../../src/protocol/index.js";
import { ClusterLog, exclusive, resultOf, shared } from "./cluster-log.js";

const { ok, granted, queued, released } = STATUS;

describe("a takeover of a session by another process", () => {
  test("gives every hold a new token, larger than all before, in the order of the old ones", () => {
    const log = new ClusterLog();
    const a = log.open("a");
    const [x, y] = [a.take(exclusive("x")), a.take(exclusive("y"))];
    expect(a.takeOver(2)).toMatchObject({ status: ok, session: a.session, epoch: 2 });
    const tokens = ["x", "y"].map((key) => log.table.inspect(key).holds[0]?.token);
    expect(tokens).toEqual([y + 1, y + 2]);
    expect(log.table.verify("x", x)).toEqual({ isCurrent: false, newestToken: y + 1 });
  });

  test("finds what it holds by the tokens that the process before had", () => {
    const log = new ClusterLog();
    const a = log.open("a");
    const token = a.take();
    a.takeOver(2);
    expect(a.recall([1], [token])).toMatchObject([
      {
        sequences: [{ sequence: 1, result: { status: granted, token } }],
        tokens: [{ token, held: true, current: token + 1 }],
      },
    ]);
    expect(resultOf(a.release(token))).toEqual({ status: released });
    const reason = END_REASON.released;
    expect(a.recall([1], [])).toMatchObject([{ tokens: [{ token, held: false, reason }] }]);
  });

  test("takes the say from the process before, and goes on with its waits", () => {
    const log = new ClusterLog();
    const [a, b] = [log.open("a"), log.open("b")];
    const token = b.take();
    a.acquire();
    const late = a.acquiring(exclusive("other"));
    a.takeOver(2);
    expect(log.apply(late)).toEqual([]);
    b.release(token);
    expect(log.said.at(-1)).toMatchObject({ session: a.session, epoch: 2 });
    expect(log.line("k")).toEqual(["a", "|"]);
  });

  test("by the same attempt is answered again and changes nothing", () => {
    const log = new ClusterLog();
    const a = log.open("a");
    a.take();
    const first = a.takeOver(2);
    const { holds } = log.table.inspect("k");
    expect(a.takeOver(2)).toEqual(first);
    expect(a.takeOver(1)).toBeUndefined();
    expect(log.table.inspect("k").holds).toEqual(holds);
  });

  test("is a resume where the process is the same: with that, tokens stay", () => {
    const log = new ClusterLog();
    const a = log.open("a");
    const token = a.take();
    a.resume(2);
    expect(log.table.inspect("k").holds[0]?.token).toBe(token);
  });

  // Its first transmission may have come after the process wrote its token down, and before the one
  // that was answered.
  test("again and again leaves the four tokens known that it had before, and none before those", () => {
    const log = new ClusterLog();
    const a = log.open("a");
    const token = a.take();
    a.keepalive({ acknowledged: [1] });
    for (let attempt = 2; attempt <= 6; attempt += 1) a.takeOver(attempt);
    const current = { held: true, current: token + 5 };
    const asked = [0, 1, 2, 3, 4, 5].map((at) => token + at);
    expect(a.recall([], asked)).toMatchObject([
      {
        tokens: [
          { held: false, reason: END_REASON.unknown },
          ...[current, current, current, current, current],
        ],
      },
    ]);
  });

  test("again and again leaves the token known under which a grant was not read yet", () => {
    const log = new ClusterLog();
    const a = log.open("a");
    const token = a.take();
    for (let attempt = 2; attempt <= 7; attempt += 1) a.takeOver(attempt);
    const found = (count: number) => {
      const asked = Array.from({ length: count }, (_, at) => token + at);
      const [message] = a.recall([1], asked);
      return message?.kind === MESSAGE.recalled && message.tokens.map(({ held }) => held);
    };
    expect(found(7)).toEqual([true, false, true, true, true, true, true]);
    a.keepalive({ acknowledged: [1] });
    a.takeOver(8);
    expect(found(8)).toEqual([false, false, false, true, true, true, true, true]);
  });

  test("keeps value, cap and count of each hold, its pending revoke, and upgrades that wait", () => {
    const log = new ClusterLog();
    const [a, b] = [log.open("a", 60_000), log.open("b", 60_000)];
    const options = { value: "v", maxHoldMs: 90_000, reentrant: true };
    const token = a.take(shared("k"), { options });
    a.acquire(shared("k"), 0, { options });
    const other = b.take(shared("k"));
    a.upgrade(token);
    b.revokeToken(token, { graceMs: 80_000 });
    const before = log.table.inspect("k").holds.find(({ sessionName }) => sessionName === "a");
    a.takeOver(2);
    const after = log.table.inspect("k").holds.find(({ sessionName }) => sessionName === "a");
    expect(after).toEqual({ ...before, token: other + 1 });
    const result = { status: STATUS.upgraded, token: other + 2, key: "k" };
    expect(b.release(other)).toMatchObject([{}, { kind: MESSAGE.outcome, sequence: 3, result }]);
  });

  test("is forbidden without the nonce, and no use for a session that ended", () => {
    const log = new ClusterLog();
    const a = log.open("a");
    const token = a.take();
    expect(a.takeOver(2, "wrong")).toMatchObject({ status: ERROR_NUMBERS.FORBIDDEN, epoch: 0 });
    expect(log.table.inspect("k").holds[0]?.token).toBe(token);
    a.close();
    expect(a.takeOver(3)).toMatchObject({ status: ERROR_NUMBERS.SESSION_EXPIRED });
  });

  test("of more holds than one step may renew is refused, and renews none", () => {
    const log = new ClusterLog({ holdsPerStepMax: 1 });
    const a = log.open("a");
    const tokens = [a.take(exclusive("x")), a.take(exclusive("y"))];
    expect(a.takeOver(2)).toMatchObject({ status: ERROR_NUMBERS.QUOTA });
    expect(resultOf(a.release(tokens[0] as number))).toEqual({ status: released });
    expect(a.takeOver(2)).toMatchObject({ status: ok, epoch: 2 });
    expect(a.acquire(exclusive("y"), 500, { owner: 2 })).toEqual({ status: queued });
  });
});
