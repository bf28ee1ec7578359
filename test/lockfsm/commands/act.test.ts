/** Compare and act (semantics.md, 8.10). */
import { expect, test } from "vitest";
import { ERROR_NUMBERS } from "../../../src/errors/index.js";
import { type ActStep, END_REASON, STATUS, WAIT_FOREVER } from "../../../src/protocol/index.js";
import { ClusterLog, exclusive, OTHER_OWNER, OWNER, resultOf } from "../plans/cluster-log.js";

const taking = (key: string, after: string, ttlMs = 9_000): ActStep => {
  return { owner: OWNER, key, before: undefined, after, ttlMs };
};
const changing = (key: string, before: string, after: string, ttlMs?: number): ActStep => {
  return { owner: OWNER, key, before, after, ttlMs };
};
const ending = (key: string, before: string): ActStep => {
  return { owner: OWNER, key, before, after: undefined, ttlMs: undefined };
};
const free = (key: string): ActStep => {
  return { owner: OWNER, key, before: undefined, after: undefined, ttlMs: undefined };
};
const NOT_SO = { status: STATUS.acted, tokens: [] };

test("an act takes, rewrites and ends leases of different keys in one step", () => {
  const log = new ClusterLog();
  const a = log.open("a");
  const first = resultOf(a.act(taking("k", "one"), taking("l", "x"), free("m")));
  expect(first).toMatchObject({ status: STATUS.acted });
  const [token = 0, other = 0, none] = first !== undefined && "tokens" in first ? first.tokens : [];
  expect(other).toBeGreaterThan(token);
  expect(none).toBe(0);
  expect(resultOf(a.act(changing("k", "one", "two"), ending("l", "x"), taking("m", "y")))).toEqual({
    status: STATUS.acted,
    tokens: [token, 0, expect.any(Number)],
  });
  expect(log.table.inspect("k").holds).toMatchObject([{ token, value: "two" }]);
  expect(log.table.inspect("l").holds).toEqual([]);
});

test.each([
  ["another value", [changing("k", "other", "two")]],
  ["another owner", [{ ...changing("k", "one", "two"), owner: OTHER_OWNER }]],
  ["a key that is held", [taking("k", "one")]],
  ["a key that is to be free", [free("k")]],
  ["a key that nobody has", [changing("free", "one", "two")]],
])("an act that finds %s does nothing in any key", (_what, [step]) => {
  const log = new ClusterLog();
  const a = log.open("a");
  a.act(taking("k", "one"));
  expect(resultOf(a.act(taking("l", "x"), step as ActStep))).toEqual(NOT_SO);
  expect(log.table.inspect("l").holds).toEqual([]);
  expect(log.table.inspect("k").holds).toMatchObject([{ value: "one" }]);
});

test("a lease lasts as long as its last act says, and no act revives it", () => {
  const log = new ClusterLog();
  const a = log.open("a", 600_000);
  a.act(taking("k", "v", 5_000));
  log.pass(4_999);
  expect(resultOf(a.act(changing("k", "v", "v", 5_000)))).not.toEqual(NOT_SO);
  log.pass(4_999);
  expect(log.table.inspect("k").holds).toHaveLength(1);
  log.stamp += 1;
  expect(resultOf(a.act(changing("k", "v", "v", 5_000)))).toEqual(NOT_SO);
});

test("an act does not overtake who waits, and its end grants them", () => {
  const log = new ClusterLog();
  const [a, b] = [log.open("a"), log.open("b")];
  a.act(taking("k", "v"));
  b.acquire(exclusive("k"), WAIT_FOREVER);
  expect(resultOf(a.act(ending("k", "v")))).toEqual({ status: STATUS.acted, tokens: [0] });
  expect(log.line("k")).toEqual(["b", "|"]);
  expect(resultOf(a.act(taking("k", "v")))).toEqual(NOT_SO);
});

test("any session of the identity finds the lease, and why it ended is remembered", () => {
  const log = new ClusterLog();
  const [a, b] = [log.open("a"), log.open("b")];
  a.act(taking("k", "v"));
  expect(resultOf(b.act(ending("k", "v")))).toEqual({ status: STATUS.acted, tokens: [0] });
  expect(b.extend(["k"], 5_000)).toEqual({
    status: ERROR_NUMBERS.NOT_HELD,
    reason: END_REASON.released,
  });
});

test("an act without an end needs the setting for it, and one too long names the limit", () => {
  const log = new ClusterLog();
  const a = log.open("a");
  expect(resultOf(a.act(taking("k", "v", 0)))).toEqual({ status: ERROR_NUMBERS.INVALID_ARGUMENT });
  expect(resultOf(a.act(taking("k", "v", 600_000_000)))).toMatchObject({
    status: ERROR_NUMBERS.INVALID_ARGUMENT,
    limit: 86_400_000,
  });
});
