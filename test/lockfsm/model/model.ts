/**
 * The lock table again, as naively as the rules can be written: arrays, linear scans, nothing kept
 * that could be counted. It shares no code with `src/lockfsm`; only the words of the protocol. What
 * both say and show must be equal after every entry.
 *
 * Read as a second specification it begins here: an entry, its commands, each executed once. What a
 * command does stands in the files next to this one, by subject. One thing is kept that follows
 * from the rest: in which keys a request was found eligible. The order in which that is found is
 * the order of grants, and a step may end before everything was found.
 */
import type {
  RefoundOptions,
  TableCommand,
  TableEntry,
  TableSettings,
} from "../../../src/lockfsm/index.js";
import {
  type CloseCommand,
  END_REASON,
  type EndReason,
  isOrder,
  isStateOrder,
  MESSAGE,
  OP,
  type OrderCommand,
  type Origin,
  RECALL_MAX,
  type SequencedCommand,
  type SessionCommand,
  STATUS,
} from "../../../src/protocol/index.js";
import { accessOf, changeAccess, mayDo } from "./access.js";
import { acquire } from "./acquiring.js";
import { act } from "./acting.js";
import { hasReached, isEligible, queueOf } from "./claims.js";
import { dueTimes, endSession, resolveSuspects, sweep } from "./ending.js";
import {
  adopt,
  changeSetting,
  downgrade,
  end,
  endByOperator,
  handOver,
  revoke,
  setLimit,
  update,
  upgrade,
} from "./holding.js";
import { extend, giveBack, take } from "./leases.js";
import { recall } from "./recalling.js";
import { error, keysOf, type ModelSession, type NamedCycle, nobody } from "./records.js";
import { refound } from "./refounding.js";
import { answer, countUnreadEnds, forbid, noteRead } from "./replies.js";
import { credentialOf, isCutOff } from "./rights.js";
import { open, renew, resume } from "./sessions.js";
import { Model, type ModelOutbox } from "./state.js";
import { closureOf, countsOf, edgesOf, inspect, keysInUse, sessionsOf } from "./views.js";

export class NaiveTable {
  readonly #model: Model;

  /** `nextToken`: 0 for a table that gives its first one by the clock. */
  constructor(settings: TableSettings, nextToken = 0) {
    this.#model = new Model(settings);
    this.#model.nextToken = nextToken;
  }

  /** `named`: the cycles that the table named in this entry. */
  apply(entry: TableEntry, outbox: ModelOutbox, named: readonly NamedCycle[]): void {
    const model = this.#model;
    model.named = named;
    model.index = entry.index;
    model.stamp = entry.stamp;
    model.outbox = outbox;
    model.begin(entry.wallMs);
    sweep(model);
    for (const command of entry.commands) {
      model.budget = model.settings.grantsPerStepMax;
      execute(model, command);
      resolveSuspects(model);
      model.forgetUnused();
    }
    checkReached(model);
  }

  get stamp(): number {
    return this.#model.stamp;
  }

  get nextDueAt(): number | undefined {
    const { stamp, quietUntil } = this.#model;
    const times = dueTimes(this.#model).map(({ at }) => at);
    if (stamp < quietUntil) times.push(quietUntil);
    return times.length === 0 ? undefined : Math.min(...times);
  }

  /** The table of a cluster that is restored from this one. */
  refounded(options: RefoundOptions): NaiveTable {
    const founded = new NaiveTable(this.#model.settings);
    refound(founded.#model, this.#model, options);
    return founded;
  }

  get hasQueuedWork(): boolean {
    return this.#model.work.length > 0;
  }

  /** The cycles that the table named, or did not. */
  get complaints(): readonly string[] {
    return this.#model.complaints;
  }

  counts = () => countsOf(this.#model);
  accessCounts = () => {
    const { identities, refused } = this.#model;
    return { identities: identities.length - 2, refused };
  };
  access = () => accessOf(this.#model);
  get accessRevision(): number {
    return this.#model.accessRevision;
  }
  keysInUse = () => keysInUse(this.#model);
  inspect = (key: string) => inspect(this.#model, key);
  sessions = () => sessionsOf(this.#model);
  /** Who waits for whom, directly or not. */
  closure = () => closureOf(edgesOf(this.#model));
}

/** When no work is left, what was found eligible is what the grant rule says is eligible. */
function checkReached(model: Model): void {
  for (const key of keysInUse(model)) {
    for (const request of queueOf(model, key)) {
      const isReached = hasReached(request, key);
      const isRight = isReached === isEligible(model, request, key);
      const isLeftForLater = !isReached && model.work.length > 0;
      if (!isRight && !isLeftForLater) {
        throw new Error(`model: ${request.sequence} in ${keysOf(request)}, reached: ${isReached}`);
      }
    }
  }
}

const UNKNOWN: Origin = { node: 0, address: "" };

function execute(model: Model, { session: id, epoch, command, origin }: TableCommand): void {
  const from = origin ?? UNKNOWN;
  if (command === undefined) return;
  if (command.op === OP.open) open(model, command, epoch, from);
  else if (command.op === OP.resume) resume(model, command, epoch, from);
  else if (id === 0 && isOrder(command)) orderBy(model, epoch, command);
  else executeOf(model, id, epoch, command);
}

/** An order without a session, on a connection with that credential. */
function orderBy(model: Model, credential: number, command: OrderCommand): void {
  const identity = credentialOf(model, credential)?.identity;
  const asker = nobody(identity ?? { name: "", grants: [], isRemoved: true });
  const orderCount = model.orders[countedAs(command)];
  const isOutdated = isStateOrder(command) && command.mark !== orderCount;
  if (isOutdated && mayDo(model, asker.identity, asker, command)) {
    answer(model, asker, command.sequence, error("OUTDATED_ORDER", { orderCount }));
  } else judge(model, asker, command);
}

function countedAs({ op }: { readonly op: number }): "limits" | "rest" {
  return op === OP.setLimit ? "limits" : "rest";
}

/** Nothing is done and nothing told for somebody who may not. */
function judge(
  model: Model,
  session: ModelSession,
  command: Exclude<SequencedCommand, CloseCommand>,
): void {
  if (mayDo(model, session.identity, session, command)) perform(model, session, command);
  else forbid(model, session, command);
}

/** The reason of the end that is due. */
function reasonOf({ forced, expiresAt }: ModelSession): EndReason {
  return forced !== undefined && forced.at < expiresAt ? END_REASON.revoked : END_REASON.expired;
}

function executeOf(model: Model, id: number, epoch: number, command: SessionCommand): void {
  const { stamp } = model;
  const session = model.sessions.find((other) => other.id === id);
  const isAlive = session !== undefined && model.isAlive(session);
  if (session !== undefined && (session.epoch !== epoch || isCutOff(model, session))) return;
  if (!isAlive) {
    const reason = session === undefined ? END_REASON.unknown : reasonOf(session);
    model.outbox?.toSession(id, epoch, { kind: MESSAGE.ended, session: id, reason });
    return;
  }
  if (command.op === OP.recall && command.sequences.length > RECALL_MAX) return;
  noteRead(session, command);
  if (command.op === OP.keepalive) {
    renew(model, session);
    model.say(session, { kind: MESSAGE.renewed, number: command.number, stamp });
  } else if (command.op === OP.recall) {
    renew(model, session);
    recall(model, session, command);
  } else if (command.sequence === session.highest + 1) {
    renew(model, session);
    session.highest = command.sequence;
    executeNext(model, session, command);
  }
}

/** It is the turn of this command, which is answered now and never again. */
function executeNext(model: Model, session: ModelSession, command: SequencedCommand): void {
  const { sequence } = command;
  if (command.op === OP.close) {
    answer(model, session, sequence, { status: STATUS.ok });
    endSession(model, session, END_REASON.closed);
    return;
  }
  if (!mayDo(model, session.identity, session, command)) {
    forbid(model, session, command);
    return;
  }
  const isTakingAct =
    command.op === OP.act &&
    command.steps.some(({ before, after }) => {
      return before === undefined || (after !== undefined && after !== before);
    });
  const bringsHold =
    isTakingAct || [OP.acquire, OP.take, OP.upgrade, OP.adopt].some((op) => op === command.op);
  const needsToken = bringsHold || command.op === OP.handOver;
  if (bringsHold && countUnreadEnds(session) >= model.settings.unacknowledgedMax) {
    answer(model, session, sequence, error("TOO_MANY_IN_FLIGHT"));
  } else if (needsToken && model.hasNoTokens) {
    answer(model, session, sequence, error("TOKENS_EXHAUSTED"));
  } else perform(model, session, command);
}

function perform(
  model: Model,
  session: ModelSession,
  command: Exclude<SequencedCommand, CloseCommand>,
): void {
  if (isStateOrder(command)) model.orders[countedAs(command)] += 1;
  switch (command.op) {
    case OP.acquire:
      acquire(model, session, command);
      break;
    case OP.take:
      take(model, session, command);
      break;
    case OP.extend:
      extend(model, session, command);
      break;
    case OP.giveBack:
      giveBack(model, session, command);
      break;
    case OP.act:
      act(model, session, command);
      break;
    case OP.end:
      end(model, session, command);
      break;
    case OP.downgrade:
      downgrade(model, session, command);
      break;
    case OP.upgrade:
      upgrade(model, session, command);
      break;
    case OP.update:
      update(model, session, command);
      break;
    case OP.revoke:
      revoke(model, session, command);
      break;
    case OP.endSession:
      endByOperator(model, session, command);
      break;
    case OP.setLimit:
      setLimit(model, session, command);
      break;
    case OP.handOver:
      handOver(model, session, command);
      break;
    case OP.adopt:
      adopt(model, session, command);
      break;
    case OP.changeSetting:
      changeSetting(model, session, command);
      break;
    default:
      answer(model, session, command.sequence, changeAccess(model, command));
  }
}
