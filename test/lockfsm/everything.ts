/**
 * A table with something of everything that a table can remember: each kind of record, each field of
 * it with a value of its own, and work that was begun and is to be gone on with. For tests of what
 * must be kept: snapshots, hashes, replays.
 */

import { SEARCH_STEPS_MAX } from "../../src/lockfsm/state.js";
import { OP, WAIT_FOREVER } from "../../src/protocol/index.js";
import { Client, ClusterLog, exclusive, permits, shared } from "./cluster-log.js";

export const SECRET = "5e".repeat(16);

export interface Everything {
  readonly log: ClusterLog;
  readonly a: Client;
  readonly b: Client;
  readonly c: Client;
  readonly d: Client;
  /** It was closed, and not all that it had is gone yet. */
  readonly ended: Client;
  readonly operator: Client;
  /** Of holds, by the names of their keys. */
  readonly tokens: Readonly<Record<string, number>>;
  /** Sequences of `d` whose outcome was acknowledged: they have no answer any more. */
  readonly read: readonly number[];
}

export function everything(): Everything {
  const log = new ClusterLog({ waitersMax: 40 });
  const [a, b, c] = [log.open("a", 600_000), openWithMetadata(log), log.open("c", 90_000)];
  const [d, ended, operator] = [
    log.open("d", 80_000),
    log.open("ended"),
    log.open("operator", 500_000),
  ];
  const all: Building = { log, a, b, c, d, ended, operator, tokens: {}, read: [] };
  holdAndWait(all);
  useSemaphores(all);
  changeHands(all);
  loseAndRefuse(all);
  leaveWork(all);
  return all;
}

type Building = Omit<Everything, "tokens" | "read"> & {
  readonly tokens: Record<string, number>;
  readonly read: number[];
};

function openWithMetadata(log: ClusterLog): Client {
  const command = { op: OP.open, nonce: "b", attempt: 1, ttlMs: 20_000, name: "b" } as const;
  log.apply({ session: 0, epoch: 0, command: { ...command, metadata: '{"zone":1}' } });
  return new Client(log, log.attached.at(-1)?.session ?? 0, "b");
}

function holdAndWait({ log, a, b, c, d, tokens, read }: Building): void {
  const policies = { value: "here", maxHoldMs: 600_000, minHoldMs: 2_000, lockDelayMs: 3_000 };
  tokens["lock"] = a.take(exclusive("lock"), { options: policies });
  const asked = { priority: 2, detect: false, value: "next", lockDelayMs: 5, minHoldMs: 6 };
  b.acquire(exclusive("lock"), 9_000, { options: { ...asked, maxHoldMs: 7_000 } });
  c.acquire(exclusive("lock", "beside"), WAIT_FOREVER, { owner: 7, options: { reentrant: true } });
  log.stamp += 7;
  tokens["again"] = a.take(exclusive("again"), { owner: 2 });
  for (let times = 0; times < 3; times += 1) {
    a.acquire(exclusive("again"), 0, { owner: 2, options: { reentrant: true } });
  }
  a.cancel(a.sequence);
  a.release(tokens["again"]);
  tokens["up"] = a.take(shared("up"), { owner: 4 });
  b.take(shared("up"), { owner: 4 });
  a.upgrade(tokens["up"], "up", 30_000);
  // What most holds of a large table are: a row, and no more.
  tokens["alone"] = c.take(exclusive("alone"), { owner: 9 });
  tokens["solo"] = c.take(shared("solo"), { owner: 3 });
  c.upgrade(tokens["solo"], "solo");
  // Its first token is known by two grants that were not read.
  tokens["counted"] = d.take(shared("counted"), { owner: 11 });
  d.acquire(shared("counted"), 0, { owner: 11, options: { reentrant: true } });
  d.upgrade(tokens["counted"], "counted");
  read.push(d.sequence);
  d.keepalive({ acknowledged: [d.sequence] });
}

function useSemaphores({ log, a, b, c, d, operator, tokens }: Building): void {
  log.stamp += 7;
  operator.setLimit("set", 5);
  operator.setLimit("unused", 3);
  tokens["set"] = a.take(permits("set", 2), { owner: 3 });
  b.take([...permits("set", 1), ...shared("both")], { owner: 2 });
  d.acquire(permits("set", 4), WAIT_FOREVER, { owner: 3 });
  c.take(permits("open", 3, 3), { owner: 2 });
  d.acquire(permits("open", 1, 2), 0);
  const options = { minHoldMs: 8_000 };
  b.release(b.take([...shared("closed"), ...permits("ghost", 2, 4)], { owner: 5, options }));
  b.release(b.take(exclusive("shut"), { owner: 5, options }));
}

function changeHands({ log, a, b, c, d, operator, tokens }: Building): void {
  log.stamp += 7;
  tokens["ticket"] = a.take([...exclusive("ticket"), ...permits("open tickets", 2, 2)], {
    owner: 6,
  });
  a.detach(tokens["ticket"], SECRET, 40_000);
  const handedOver = a.take([...exclusive("claimed"), ...permits("slots", 1, 2)], { owner: 6 });
  a.detach(handedOver, SECRET);
  const claimed = b.claim(handedOver, SECRET, 6);
  if (claimed !== undefined && "token" in claimed) tokens["claimed"] = claimed.token;
  tokens["taken"] = d.take(exclusive("taken"));
  d.takeOver(2);
  tokens["revoked"] = c.take(exclusive("revoked"), { owner: 4 });
  operator.revokeToken(tokens["revoked"], { graceMs: 50_000, reason: "moving" });
  operator.revokeKey("lock", { graceMs: 55_000, reason: "all of you" });
  operator.endSession(b.session, { graceMs: 30_000, reason: "leave" });
}

function loseAndRefuse({ log, a, c, d, operator, read }: Building): void {
  log.stamp += 7;
  operator.revokeToken(d.take(exclusive("lost"), { owner: 2 }), { now: true });
  d.take(exclusive("stolen"), { owner: 2 });
  c.acquire(exclusive("stolen"), 0, { owner: 5, options: { steal: true } });
  a.take(exclusive("mine"), { owner: 8 });
  a.acquire(exclusive("mine"), WAIT_FOREVER, { owner: 8 });
  c.acquire(exclusive("lock"), 0, { owner: 9 });
  const gone = d.take(exclusive("gone"));
  d.release(gone);
  d.release(gone);
  d.take(exclusive("read"));
  read.push(d.sequence);
  d.keepalive({ acknowledged: read });
  operator.changeSetting("priorityStepMs", 500);
}

/** All in one entry: the next one goes on with it. */
function leaveWork({ log, a, b, c, ended, operator, tokens }: Building): void {
  log.stamp += 7;
  operator.setLimit("many", 8);
  a.take(permits("many", 8), { owner: 9 });
  for (const [at, wanted] of [3, 1, 5, 2].entries()) {
    b.acquire(permits("many", wanted), WAIT_FOREVER, { owner: 20 + at });
  }
  tokens["run"] = a.take(exclusive("run"), { owner: 10 });
  for (let owner = 30; owner < 33; owner += 1) c.acquire(shared("run"), WAIT_FOREVER, { owner });
  for (const key of ["e1", "e2"]) ended.take(exclusive(key));
  b.acquire(exclusive("e2"), WAIT_FOREVER, { owner: 40 });
  ended.acquire(exclusive("run"), WAIT_FOREVER, { owner: 2 });
  ended.acquire(shared("run"), 5_000, { owner: 3 });
  log.stamp += 7;
  log.state.searchStepsMax = 0;
  log.apply(
    operator.make({ op: OP.changeSetting, ...next(operator), name: "grantsPerStepMax", value: 1 }),
    operator.make({ op: OP.changeSetting, ...next(operator), name: "unitsPerEntryMax", value: 1 }),
    a.acquiring(exclusive("taken", "stolen"), 45_000, { owner: 4 }),
    operator.make({ op: OP.setLimit, ...next(operator), key: "many", limit: 2 }),
    a.make({ op: OP.release, ...next(a), token: tokens["run"] as number }),
    ended.make({ op: OP.close, ...next(ended) }),
  );
  log.state.searchStepsMax = SEARCH_STEPS_MAX;
}

function next(client: Client) {
  client.sequence += 1;
  return { sequence: client.sequence, mark: 1, acknowledged: [] };
}
