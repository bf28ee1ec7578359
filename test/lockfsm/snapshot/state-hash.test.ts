/**
 * Nodes compare the hash to find out that they differ, so it must depend on every replicated
 * field. The test finds the fields itself: every field of a record that is not listed here as
 * derived from the rest must change the hash.
 */
import { describe, expect, test } from "vitest";
import type { Hold } from "../../../src/lockfsm/records/hold.js";
import type { HoldRows } from "../../../src/lockfsm/records/hold-rows.js";
import type { Place } from "../../../src/lockfsm/records/key.js";
import { Session } from "../../../src/lockfsm/records/session.js";
import type { TableState } from "../../../src/lockfsm/records/state.js";
import { hashState } from "../../../src/lockfsm/snapshot/state-hash.js";
import { END_REASON, TOKEN_MIN } from "../../../src/protocol/index.js";
import { everything } from "../plans/everything.js";
import { rest, restoredState } from "../plans/snapshots.js";

type Fields = Record<string, unknown>;
/** A record, and under which name it is spoken of here. */
type Seen = readonly [name: string, record: Fields];

/** For each record: what follows from others, or means nothing to other nodes. */
const DERIVED: Readonly<Record<string, readonly string[]>> = {
  // Sums, units of the step under way, counts for people.
  state: [
    "otherBytes",
    "stepUnits",
    "wallMs",
    "searchStepsMax",
    "searchesDeferred",
    "searchesGivenUp",
    "deadlocks",
  ],
  session: [
    ...["heapIndex", "savedIn", "walkedIn", "holdCount", "cooldownCount", "requestCount"],
    "cooldownBytes",
    ...["lastHold", "rowNumber", "bytes"],
  ],
  endedSession: [
    ...["heapIndex", "savedIn", "walkedIn", "holdCount", "cooldownCount", "requestCount"],
    "cooldownBytes",
    ...["lastHold", "rowNumber", "bytes"],
  ],
  forcedEnd: ["heapIndex"],
  slot: ["savedIn"],
  // It belongs to its request.
  waitingSlot: ["savedIn", "sequence", "result"],
  hold: ["row"],
  loneHold: [],
  extras: [],
  lease: [],
  // No bearer waits.
  leaseWait: ["isBearer"],
  endedLease: [],
  // When it is due follows from the fields of its hold.
  holdEnd: ["heapIndex", "dueAt"],
  request: ["heapIndex", "savedIn", "isQueuedForSearch", "isListed"],
  // Before all others.
  upgrade: ["heapIndex", "savedIn", "isQueuedForSearch", "isListed", "rank"],
  options: [],
  place: [],
  permits: [],
  cooldown: ["heapIndex", "savedIn"],
  // Claims and semaphores name their keys.
  key: ["isQueuedForWork", "holdCount"],
  emptyKey: ["isQueuedForWork", "holdCount", "name"],
  semaphore: ["held", "savedIn"],
  evictFrom: [],
  settings: [],
  // What it refused is counted for people.
  access: ["grantCount"],
  identity: ["everywhere", "highest"],
  grant: [],
  // Whether it is removed follows from where it stands.
  credential: ["isRemoved"],
};

const bytes = rest(everything().log.table.snapshot(1 << 20));

/** A state of its own, which a test may change. */
function freshState(): TableState {
  return restoredState(bytes).state;
}

function recordsOf(state: TableState): Seen[] {
  const seen: Seen[] = [];
  const add = (name: string, record: object | undefined) => {
    if (record !== undefined) seen.push([name, record as Fields]);
  };
  const addPlaces = (first: Place | undefined) => {
    for (let place = first; place !== undefined; place = place.sibling) {
      add("place", place);
      add("permits", place.permits);
    }
  };
  add("state", state);
  // Frozen, as it is exchanged whole when one of them changes.
  state.settings = { ...state.settings };
  add("settings", state.settings);
  const { access } = state;
  add("access", access);
  for (const identity of [...access.identities(), ...access.removed()]) {
    // The same in every table.
    if (identity === access.local) continue;
    add("identity", identity);
    identity.setGrants(identity.grants.map((grant) => ({ ...grant })));
    for (const grant of identity.grants) add("grant", grant);
    for (const credential of identity.credentials) add("credential", credential);
  }
  for (const session of sessionsOf(state)) {
    add(session.isEnded ? "endedSession" : "session", session);
    if (!session.isEnded) add("forcedEnd", session.forcedEnd);
    addClaims(state, session, add, addPlaces);
  }
  addHolds(state, state.detached, add, addPlaces);
  for (const ended of state.leases.ended()) add("endedLease", ended);
  state.cooldowns.forEach((cooldown) => {
    add("cooldown", cooldown);
    addPlaces(cooldown.firstPlace);
  });
  state.semaphores.forEach((semaphore) => {
    add("semaphore", semaphore);
    add("evictFrom", semaphore.evictFrom);
  });
  state.keys.forEach((entry) => {
    if (typeof entry === "number") return;
    const isEmpty = entry.firstHold === undefined && entry.queue === undefined;
    add(isEmpty ? "emptyKey" : "key", entry);
  });
  return seen;
}

function sessionsOf(state: TableState): Session[] {
  const sessions: Session[] = [];
  state.sessions.forEach((session) => {
    sessions.push(session);
  });
  state.work.forEach((item) => {
    if (item instanceof Session) sessions.push(item);
  });
  return sessions.sort((left, right) => left.id - right.id);
}

type Add = (name: string, record: object | undefined) => void;
type AddPlaces = (first: Place | undefined) => void;

function addClaims(state: TableState, session: Session, add: Add, addPlaces: AddPlaces): void {
  if (!session.isEnded) {
    session.replies.forEach((slot) => {
      add(slot.state === "waiting" ? "waitingSlot" : "slot", slot);
    });
  }
  addHolds(state, session, add, addPlaces);
  for (let request = session.firstRequest; request !== undefined; request = request.next) {
    add(request.upgrades === undefined ? "request" : "upgrade", request);
    add("options", request.options);
    add("leaseWait", request.lease);
    addPlaces(request.firstPlace);
  }
}

function addHolds({ rows }: TableState, of: Session, add: Add, addPlaces: AddPlaces): void {
  for (let row = of.firstHold; row !== 0; row = rows.nextOf(row)) {
    const content = rows.contentOf(row);
    if (typeof content === "string") add("loneHold", fieldsOf(rows, row));
    else addHold(content, add, addPlaces);
  }
}

/** A row's numbers as fields. */
function fieldsOf(rows: HoldRows, row: number): object {
  return {
    get task() {
      return rows.taskOf(row);
    },
    set task(task: number) {
      rows.describe(row, task, rows.grantedAtOf(row));
    },
    get sequence() {
      return rows.sequenceOf(row);
    },
    set sequence(sequence: number) {
      rows.setSequence(row, sequence);
    },
    get token() {
      return rows.tokenOf(row);
    },
    set token(token: number) {
      rows.setToken(row, token);
    },
    get grantedAt() {
      return rows.grantedAtOf(row);
    },
    set grantedAt(grantedAt: number) {
      rows.describe(row, rows.taskOf(row), grantedAt);
    },
  };
}

function addHold(hold: Hold, add: Add, addPlaces: AddPlaces): void {
  const { extras } = hold;
  add("hold", hold);
  add("extras", extras);
  add("lease", extras?.lease);
  add("holdEnd", extras?.end);
  addPlaces(hold.firstPlace);
}

/** A record that has what none can have is not written, and so has no hash at all. */
function hashOf(state: TableState): string | undefined {
  try {
    return hashState(state);
  } catch {
    return undefined;
  }
}

/** A number, text or flag of a record: exchanged for another one, and put back. */
interface Leaf {
  readonly name: string;
  readonly field: string;
  readonly exchange: () => void;
  readonly putBack: () => void;
}

function leavesOf(state: TableState): Leaf[] {
  const leaves: Leaf[] = [];
  for (const [name, record] of recordsOf(state)) {
    for (const [field, value] of Object.entries(record)) {
      for (const another of othersOf(field, value)) {
        const exchange = () => Object.assign(record, { [field]: another });
        const putBack = () => Object.assign(record, { [field]: value });
        leaves.push({ name, field, exchange, putBack });
      }
    }
  }
  return leaves;
}

/** Copies of results and slots, which are plain data, in which one value is another. */
function othersOf(field: string, value: unknown): unknown[] {
  // No request that stands in the table has ended.
  if (value === undefined || field === "hasEnded") return [];
  if (typeof value !== "object") return [other(value)];
  if (field !== "result" && field !== "slots") return [];
  const text = JSON.stringify(value);
  return [...text.matchAll(VALUE)].map((_, at) => JSON.parse(changed(text, at)));
}

/** A number, or a text that is not the name of a field. */
const VALUE = /(?<=[:[,])(\d+|"[^"]*")(?=[,\]}])/g;

function changed(text: string, at: number): string {
  let found = -1;
  return text.replace(VALUE, (value) => {
    found += 1;
    return found === at ? JSON.stringify(other(JSON.parse(value))) : value;
  });
}

function other(value: unknown): unknown {
  if (typeof value === "number") return value + 1;
  return typeof value === "boolean" ? !value : `${String(value)}x`;
}

describe("the hash of a table", () => {
  const state = freshState();
  const hash = hashState(state);

  test("notices a change of any field of any record, but of those that follow from others", () => {
    const met = new Map(Object.keys(DERIVED).map((name) => [name, new Set<string>()]));
    const wrong = new Set<string>();
    for (const { name, field, exchange, putBack } of leavesOf(state)) {
      met.get(name)?.add(field);
      exchange();
      const isNoticed = hashOf(state) !== hash;
      putBack();
      if (isNoticed === DERIVED[name]?.includes(field)) wrong.add(`${name}.${field}`);
    }
    expect([...wrong]).toEqual([]);
    expect(hashState(state)).toBe(hash);
    for (const [name, fields] of Object.entries(DERIVED)) {
      expect([...(met.get(name) ?? [])], name).toEqual(expect.arrayContaining([...fields]));
      expect(met.get(name)?.size, name).toBeGreaterThan(0);
    }
  });

  test("notices what goes from one to another, and what is counted or queued", () => {
    const changes: Readonly<Record<string, (state: TableState) => void>> = {
      token: ({ tokens }) => tokens.take(),
      number: (one) => one.takeNumber(),
      mark: (one) => sessionsOf(one)[0]?.replies.raiseMark(5),
      loss: (one) => sessionsOf(one)[1]?.recordLoss(7, TOKEN_MIN, END_REASON.stolen),
      read: (one) => {
        for (const session of sessionsOf(one)) session.acknowledgeLoss(lossOf(session));
      },
      work: ({ work }) => work.take(),
      removed: ({ access }) => {
        for (const identity of access.removed()) access.forget(identity);
      },
      credential: (one) => {
        const { noCredential } = one.access;
        const session = sessionsOf(one).find(({ credential }) => credential !== noCredential);
        if (session !== undefined) session.change().credential = noCredential;
      },
      search: ({ searches }) => searches.take(),
      session: (one) => {
        const [hold, to] = [holdsOf(one)[0], sessionsOf(one)[2]];
        if (hold !== undefined && to !== undefined) hold.change().session = to;
      },
      upgrade: (one) => {
        for (const { firstRequest } of sessionsOf(one)) {
          for (let at = firstRequest; at !== undefined; at = at.next)
            at.change().upgrades = undefined;
        }
      },
      key: (one) => {
        const place = holdsOf(one).find(({ firstPlace }) => firstPlace?.sibling)?.firstPlace;
        if (place !== undefined) place.change().sibling = undefined;
      },
      cooldown: (one) => {
        one.cooldowns.forEach((cooldown) => {
          cooldown.change().firstPlace = undefined;
        });
      },
    };
    for (const [name, change] of Object.entries(changes)) {
      const changed = freshState();
      expect(hashState(changed)).toBe(hash);
      change(changed);
      expect(hashState(changed), name).not.toBe(hash);
    }
  });
});

function holdsOf(state: TableState): Hold[] {
  const holds: Hold[] = [];
  const { rows } = state;
  for (const { firstHold } of sessionsOf(state)) {
    for (let row = firstHold; row !== 0; row = rows.nextOf(row)) {
      const content = rows.contentOf(row);
      if (typeof content !== "string") holds.push(content);
    }
  }
  return holds;
}

function lossOf({ losses }: Session): number {
  for (const sequence of losses?.keys() ?? []) return sequence;
  return 0;
}
