/**
 * A table with something of everything that a table can remember: each kind of record, each field of
 * it with a value of its own, and work that was begun and is to be gone on with. For tests of what
 * must be kept: snapshots, hashes, replays.
 */

import { SEARCH_STEPS_MAX } from "../../../src/lockfsm/records/state.js";
import { OP, RECALL_STATE, WAIT_FOREVER } from "../../../src/protocol/index.js";
import {
  Client,
  ClusterLog,
  exclusive,
  OTHER_OWNER,
  OTHER_REQUEST,
  OWNER,
  permits,
  shared,
  type Taken,
  unattached,
} from "./cluster-log.js";

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
  /** By the name of its key. */
  readonly hold: (name: string) => Taken;
}

export function everything(): Everything {
  const log = new ClusterLog({ waitersMax: 40 });
  const [a, b, c] = [log.open("a", 600_000), openWithMetadata(log), log.open("c", 90_000)];
  const [d, ended, operator] = [
    log.open("d", 80_000),
    log.open("ended"),
    log.open("operator", 500_000),
  ];
  const holds = new Map<string, Taken>();
  giveRights(log, c);
  const all: Building = { log, a, b, c, d, ended, operator, holds };
  holdAndWait(all);
  convert(all);
  useSemaphores(all);
  changeHands(all);
  lease(all);
  loseAndRefuse(all);
  leaveWork(all);
  const hold = (name: string): Taken => {
    const found = holds.get(name);
    if (found === undefined) throw new Error(`no hold of ${name}`);
    return found;
  };
  return { log, a, b, c, d, ended, operator, hold };
}

/** `c` is of one identity; another one has a session, and is removed while work is left over. */
function giveRights(log: ClusterLog, c: Client): void {
  let orders = 0;
  const head = () => ({ sequence: 1, mark: orders++, acknowledged: [] });
  const all = { key: "", isPrefix: true, level: "acquire" as const };
  const expiring = { kind: "token", digest: "ab".repeat(32), expiresWallMs: 8_000 } as const;
  const other = { kind: "certificate", digest: undefined, expiresWallMs: 0 } as const;
  const { session, nonce } = c;
  log.apply(
    unattached({ op: OP.putIdentity, ...head(), name: "ci" }),
    unattached({ op: OP.putCredential, ...head(), name: "ci", label: "token", ...expiring }),
    unattached({ op: OP.putCredential, ...head(), name: "ci", label: "file", ...other }),
    unattached({ op: OP.setGrant, ...head(), name: "ci", ...all }),
    unattached({ op: OP.setGrant, ...head(), name: "ci", ...all, key: "run", isPrefix: false }),
    unattached({ op: OP.putIdentity, ...head(), name: "leaver" }),
    unattached({ op: OP.putCredential, ...head(), name: "leaver", label: "file", ...other }),
    unattached({ op: OP.setGrant, ...head(), name: "leaver", ...all }),
    unattached({ op: OP.resume, session, nonce, attempt: 2 }, 1),
    unattached(
      { op: OP.open, nonce: "leaver", attempt: 1, ttlMs: 60_000, name: "leaver", metadata: "" },
      3,
    ),
  );
  c.epoch = 2;
}

type Building = Omit<Everything, "hold"> & { readonly holds: Map<string, Taken> };

function openWithMetadata(log: ClusterLog): Client {
  const command = { op: OP.open, nonce: "b", attempt: 1, ttlMs: 20_000, name: "b" } as const;
  log.apply({ session: 0, epoch: 0, command: { ...command, metadata: '{"zone":1}' } });
  return new Client(log, log.attached.at(-1)?.session ?? 0, "b");
}

function holdAndWait({ log, a, b, c, holds }: Building): void {
  const policies = { value: "here", maxHoldMs: 600_000, minHoldMs: 2_000, lockDelayMs: 3_000 };
  holds.set("lock", a.take(exclusive("lock"), { options: policies }));
  const asked = { priority: 2, detect: false, value: "next", lockDelayMs: 5, minHoldMs: 6 };
  b.acquire(exclusive("lock"), 9_000, { options: { ...asked, maxHoldMs: 7_000 } });
  c.acquire(exclusive("lock", "beside"), WAIT_FOREVER, { task: 7 });
  log.stamp += 7;
  const up = a.take(shared("up"), { task: 4 });
  holds.set("up", up);
  b.take(shared("up"), { task: 4 });
  a.upgrade(up, "up", 30_000);
  // What most holds of a large table are: a row, and no more.
  holds.set("alone", c.take(exclusive("alone"), { task: 9 }));
  const solo = c.take(shared("solo"), { task: 3 });
  holds.set("solo", solo);
  c.upgrade(solo, "solo");
}

/**
 * Upgrades: one that is granted after a wait, one that a downgrade ends, one that lost its hold.
 */
function convert({ b, d, holds }: Building): void {
  const raised = d.take(shared("raised"), { task: 11 });
  const other = b.take(shared("raised"), { task: 11 });
  holds.set("raised", raised);
  d.upgrade(raised, "raised");
  b.end(other);
  const mixed = d.take([...exclusive("firm"), ...shared("raising")], { task: 12 });
  b.take(shared("raising"), { task: 12 });
  d.upgrade(mixed, "raising");
  d.downgrade(mixed, "raising");
  d.upgrade(mixed, "raising");
  d.end(mixed);
}

function useSemaphores({ log, a, b, c, d, operator, holds }: Building): void {
  log.stamp += 7;
  operator.setLimit("set", 5);
  operator.setLimit("unused", 3);
  holds.set("set", a.take(permits("set", 2), { task: 3 }));
  b.take([...permits("set", 1), ...shared("both")], { task: 2 });
  d.acquire(permits("set", 4), WAIT_FOREVER, { task: 3 });
  c.take(permits("open", 3, 3), { task: 2 });
  d.acquire(permits("open", 1, 2), 0);
  const options = { minHoldMs: 8_000 };
  b.end(b.take([...shared("closed"), ...permits("ghost", 2, 4)], { task: 5, options }));
  b.end(b.take(exclusive("shut"), { task: 5, options }));
}

function changeHands({ log, a, b, c, d, operator, holds }: Building): void {
  log.stamp += 7;
  a.handOver(a.take([...exclusive("left"), ...permits("left slots", 2, 2)]), SECRET, 40_000);
  a.handOver(a.take(exclusive("given"), { task: 6 }), OTHER_OWNER, 55_000, false);
  const moved = a.take([...exclusive("adopted"), ...permits("slots", 1, 2)], { task: 6 });
  a.handOver(moved, SECRET);
  const adopted = b.adopt("adopted", SECRET, 6);
  if (adopted !== undefined && "token" in adopted) {
    holds.set("adopted", { sequence: b.sequence, token: adopted.token });
  }
  const taken = d.take(exclusive("taken"));
  d.resume(2);
  for (const { sequence } of [taken, holds.get("raised") ?? taken]) {
    const told = d.recallOne(sequence);
    const isHeld = told?.state === RECALL_STATE.held;
    if (isHeld) holds.set(sequence === taken.sequence ? "taken" : "raised", told);
  }
  const revoked = c.take(exclusive("revoked"), { task: 4 });
  holds.set("revoked", revoked);
  operator.revokeToken(revoked.token, { graceMs: 50_000, reason: "moving" });
  operator.revokeKey("lock", { graceMs: 55_000, reason: "all of you" });
  operator.endSession(b.session, { graceMs: 30_000, reason: "leave" });
}

/** Leases with and without end, repeated, extended and ended; waits that went over, and one that did not. */
function lease({ log, a, b, c, d, operator }: Building): void {
  log.stamp += 7;
  const policies = { value: "leased", maxHoldMs: 600_000, lockDelayMs: 4_000 };
  c.lease([...exclusive("leased"), ...permits("leases", 1, 2)], {
    ...{ owner: OWNER, name: "cron", ttlMs: 50_000, options: policies },
  });
  operator.changeSetting("endlessLeases", 1);
  a.lease(shared("endless", "lease a"), { ttlMs: 0 });
  log.stamp += 7;
  a.lease(shared("lease a", "endless"), { ttlMs: 0 });
  d.lease(exclusive("lease b"), { owner: OTHER_OWNER, name: "other", ttlMs: 30_000 });
  b.lease(exclusive("leased"), { owner: OTHER_OWNER, name: "moved", waitMs: WAIT_FOREVER });
  log.stamp += 7;
  d.acquire(exclusive("leased"), 70_000, { task: 13 });
  const again = { owner: OTHER_OWNER, ttlMs: 60_000, options: { priority: 3, value: "later" } };
  d.lease(exclusive("leased"), { ...again, waitMs: 80_000 });
  a.lease(exclusive("lease b"), { request: OTHER_REQUEST, waitMs: WAIT_FOREVER });
  a.lease(exclusive("lease c", "lease d"), { isSplit: true, ttlMs: 9_000, name: "split" });
  a.extend(["lease c"], 45_000, "exactly");
  a.giveBack(["lease d"]);
  operator.revokeKey("lease b", { graceMs: 20_000, reason: "moving" });
  d.lease(exclusive("lease e"), { owner: OTHER_OWNER });
  operator.revokeKey("lease e", { now: true });
}

function loseAndRefuse({ log, a, b, c, d, operator }: Building): void {
  log.stamp += 7;
  operator.revokeToken(d.take(exclusive("lost"), { task: 2 }).token, { now: true });
  d.take(exclusive("stolen"), { task: 2 });
  c.acquire(exclusive("stolen"), 0, { task: 5, options: { steal: true } });
  a.take(exclusive("mine"), { task: 8 });
  a.acquire(exclusive("mine"), WAIT_FOREVER, { task: 8 });
  c.acquire(exclusive("lock"), 0, { task: 9 });
  const gone = d.take(exclusive("gone"));
  d.end(gone);
  d.end(gone);
  b.acquire(exclusive("mine"), 1, { task: 8 });
  d.acquire(exclusive("mine"), 1, { task: 8 });
  log.pass(1);
  d.keepalive({ mark: 3, acknowledged: [d.sequence] });
  operator.changeSetting("priorityStepMs", 500);
}

/** All in one entry: the next one goes on with it. */
function leaveWork({ log, a, b, c, ended, operator, holds }: Building): void {
  log.stamp += 7;
  operator.setLimit("many", 8);
  a.take(permits("many", 8), { task: 9 });
  for (const [at, wanted] of [3, 1, 5, 2].entries()) {
    b.acquire(permits("many", wanted), WAIT_FOREVER, { task: 20 + at });
  }
  const run = a.take(exclusive("run"), { task: 10 });
  holds.set("run", run);
  for (let task = 30; task < 33; task += 1) c.acquire(shared("run"), WAIT_FOREVER, { task });
  for (const key of ["e1", "e2"]) ended.take(exclusive(key));
  b.acquire(exclusive("e2"), WAIT_FOREVER, { task: 40 });
  ended.acquire(exclusive("run"), WAIT_FOREVER, { task: 2 });
  ended.acquire(shared("run"), 5_000, { task: 3 });
  log.stamp += 7;
  log.state.searchStepsMax = 0;
  log.apply(
    operator.make({ op: OP.changeSetting, ...next(operator), name: "grantsPerStepMax", value: 1 }),
    operator.make({ op: OP.changeSetting, ...next(operator), name: "unitsPerEntryMax", value: 1 }),
    a.acquiring(exclusive("taken", "stolen"), 45_000, { task: 4 }),
    operator.make({ op: OP.setLimit, ...next(operator), key: "many", limit: 2 }),
    a.make({ op: OP.end, ...next(a), target: run.sequence }),
    ended.make({ op: OP.close, ...next(ended) }),
    operator.make({ op: OP.removeIdentity, ...next(operator), name: "leaver" }),
  );
  log.state.searchStepsMax = SEARCH_STEPS_MAX;
}

function next(client: Client) {
  client.sequence += 1;
  return { sequence: client.sequence, mark: 1, acknowledged: [] };
}
