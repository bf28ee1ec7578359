/**
 * The lock table again, as naively as the rules can be written: arrays, linear scans, nothing kept
 * that could be counted. It shares no code with `src/lockfsm`; only the words of the protocol. What
 * both say and show must be equal after every entry.
 *
 * Read as a second specification it begins here: an entry, its commands, each executed once. What a
 * command does stands in the files beside this one, by subject. One thing is kept that follows from
 * the rest: in which keys a request was found eligible. The order in which that is found is the order
 * of grants, and a step may end before everything was found.
 */
import type {
  RefoundOptions,
  TableCommand,
  TableEntry,
  TableSettings,
} from "../../src/lockfsm/index.js";
import {
  type CloseCommand,
  END_REASON,
  isOrder,
  MESSAGE,
  OP,
  RECALL_MAX,
  type SequencedCommand,
  type SessionMessage,
  STATUS,
} from "../../src/protocol/index.js";
import { acquire } from "./model-acquiring.js";
import type { NamedCircle } from "./model-circles.js";
import { hasReached, isEligible, queueOf } from "./model-claims.js";
import { dueTimes, endSession, resolveSuspects, sweep } from "./model-ending.js";
import {
  cancel,
  changeSetting,
  claim,
  detach,
  downgrade,
  endByOperator,
  release,
  revoke,
  setLimit,
  update,
  upgrade,
} from "./model-holding.js";
import { error, keysOf, type ModelSession, nobody } from "./model-records.js";
import { refound } from "./model-refounding.js";
import { answer, countReplies, countUnreadEnds, noteRead, replyTo } from "./model-replies.js";
import { open, recall, renew, resume } from "./model-sessions.js";
import { Model, type ModelOutbox } from "./model-state.js";
import { closureOf, countsOf, edgesOf, inspect, keysInUse, sessionsOf } from "./model-views.js";

export class NaiveTable {
  readonly #model: Model;

  constructor(settings: TableSettings) {
    this.#model = new Model(settings);
  }

  /** `named`: the circles that the table named in this entry. */
  apply(entry: TableEntry, outbox: ModelOutbox, named: readonly NamedCircle[]): void {
    const model = this.#model;
    model.named = named;
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

  /** Of the circles that the table named, or did not. */
  get complaints(): readonly string[] {
    return this.#model.complaints;
  }

  counts = () => countsOf(this.#model);
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

function execute(model: Model, { session: id, epoch, command }: TableCommand): void {
  if (command === undefined) return;
  if (command.op === OP.open) {
    open(model, command);
    return;
  }
  if (command.op === OP.resume || command.op === OP.takeOver) {
    resume(model, command);
    return;
  }
  const { stamp } = model;
  const session = model.sessions.find((other) => other.id === id);
  const sequence = "sequence" in command ? command.sequence : undefined;
  const result = error("SESSION_EXPIRED");
  if (session === undefined && id === 0 && isOrder(command)) {
    perform(model, nobody(), command);
    return;
  }
  if (session === undefined) {
    const message: SessionMessage =
      sequence === undefined
        ? { kind: MESSAGE.ended, session: id, reason: END_REASON.unknown }
        : { kind: MESSAGE.reply, sequence, stamp, result };
    model.outbox?.toSession(id, epoch, message);
    return;
  }
  if (session.epoch !== epoch) return;
  if (!model.isAlive(session)) {
    if (sequence !== undefined) model.reply(session, sequence, result);
    return;
  }
  if (command.op === OP.recall && command.sequences.length + command.tokens.length > RECALL_MAX) {
    return;
  }
  noteRead(model, session, command);
  if (command.op === OP.keepalive) {
    renew(model, session);
    model.say(session, { kind: MESSAGE.pulse, number: command.number, stamp });
  } else if (command.op === OP.recall) {
    renew(model, session);
    recall(model, session, command);
  } else executeOnce(model, session, command);
}

function executeOnce(model: Model, session: ModelSession, command: SequencedCommand): void {
  const { sequence } = command;
  const known = replyTo(session, sequence);
  if (known !== undefined) {
    if (known.kind !== "tombstone") model.reply(session, sequence, known.result, known.stamp);
    return;
  }
  if (sequence < session.mark) return;
  if (command.op === OP.close) {
    model.reply(session, sequence, { status: STATUS.ok });
    endSession(model, session, END_REASON.closed);
    return;
  }
  const { inFlightMax, unacknowledgedMax } = model.settings;
  if (countReplies(session, ["reply", "outcome", "tombstone"]) >= 2 * inFlightMax) return;
  renew(model, session);
  session.highest = Math.max(session.highest, sequence);
  const leavesOutcome = [OP.acquire, OP.upgrade, OP.claim].some((op) => op === command.op);
  const isOverfull = leavesOutcome && countUnreadEnds(session) >= unacknowledgedMax;
  if (countReplies(session, ["reply", "outcome"]) >= inFlightMax || isOverfull) {
    answer(model, session, sequence, error("TOO_MANY_IN_FLIGHT"));
  } else perform(model, session, command);
}

function perform(
  model: Model,
  session: ModelSession,
  command: Exclude<SequencedCommand, CloseCommand>,
): void {
  switch (command.op) {
    case OP.acquire:
      acquire(model, session, command);
      break;
    case OP.release:
      release(model, session, command);
      break;
    case OP.cancel:
      cancel(model, session, command);
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
    case OP.detach:
      detach(model, session, command);
      break;
    case OP.claim:
      claim(model, session, command);
      break;
    case OP.changeSetting:
      changeSetting(model, session, command);
      break;
  }
}
