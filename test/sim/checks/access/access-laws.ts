/**
 * The law of access: no command takes effect that the grants at its position in the log forbid, and
 * none is refused that they allow. No copy of an order takes effect after a later order. The law
 * goes by the messages in the order of the log, with a reckoning of grants of its own
 * (`reckoning.ts`), and never by what the table has. Where a decision depends on holds that no
 * message reported (the holds of bearers), only reported effects are judged; a command that is
 * refused wrongly there is found by the naive model.
 */
import { ERROR_NUMBERS } from "../../../../src/errors/index.js";
import type { TableCommand } from "../../../../src/lockfsm/index.js";
import {
  type AccessCommand,
  type AttachCommand,
  type Attached,
  attachKeyOf,
  END_REASON,
  MESSAGE,
  needsAcquire,
  OP,
  type Result,
  type SequencedCommand,
  type SessionMessage,
  STATUS,
} from "../../../../src/protocol/index.js";
import { AttachLaws } from "./attach-laws.js";
import { digestOf } from "./digest.js";
import { CarriedOutOrders } from "./promised-orders.js";
import {
  ANONYMOUS_PERSON,
  may,
  mayEverywhere,
  maySomewhere,
  personBy,
  personShowing,
  Reckoning,
} from "./reckoning.js";
import type { Speakers } from "./speakers.js";

/** What is held, as the laws of locks know it. */
export interface KnownHolds {
  /** `undefined`: nothing has that number. */
  keysOf(session: number, sequence: number): readonly string[] | undefined;
}

const REFUSED: readonly number[] = [ERROR_NUMBERS.FORBIDDEN, ERROR_NUMBERS.UNAUTHENTICATED];
const GRANTED: readonly number[] = [STATUS.granted, STATUS.upgraded, STATUS.leased];

export class AccessLaws {
  readonly reckoning: Reckoning;
  readonly #sessions: AttachLaws;
  readonly #speakers: Speakers | undefined;
  readonly #orders: CarriedOutOrders | undefined;
  complaint: string | undefined;
  #index = 0;
  /** This entry's commands by session, epoch and sequence; orders without a session in order. */
  #commands = new Map<
    string,
    { readonly credential: number; readonly command: SequencedCommand }[]
  >();
  #attaches = new Map<string, { readonly credential: number; readonly command: AttachCommand }[]>();
  /** What waits, by session and sequence. */
  readonly #waiting = new Map<string, SequencedCommand>();
  /** Keys of the holds that a steal has ended whose answer comes next. */
  #stolen: (readonly string[])[] = [];
  /** Whose order ends holds, until the next answer. */
  #force: number | undefined;
  /** Sessions of a person who is no more, whose end was not told yet. */
  readonly #dismissed = new Set<number>();
  #justDismissed: number[] = [];

  constructor(speakers?: Speakers, reckoning = new Reckoning()) {
    this.#speakers = speakers;
    this.#orders = speakers && new CarriedOutOrders(speakers.orders);
    this.reckoning = reckoning;
    this.#sessions = new AttachLaws(reckoning);
  }

  /** The laws of a cluster that is restored from this one: nobody has a session. */
  outlived(index: number): AccessLaws {
    return new AccessLaws(this.#speakers, this.reckoning.outlived(index));
  }

  /** Sessions of removed identities that still stand in the table. */
  get dismissedCount(): number {
    return this.#dismissed.size;
  }

  /** Since the last call: their holds may be taken away from now on, without a word before. */
  takeDismissed(): readonly number[] {
    const taken = this.#justDismissed;
    if (taken.length > 0) this.#justDismissed = [];
    return taken;
  }

  /** Whether who shows that, or nothing, may have a session. */
  mayServe(token: string | undefined): boolean {
    const { now } = this.reckoning;
    const digest = token === undefined ? undefined : digestOf(token);
    return maySomewhere(now, personShowing(now, digest), "acquire");
  }

  /** Whose it is. */
  personOf(session: number): number | undefined {
    return this.#sessions.of(session)?.person;
  }

  begin(index: number, commands: readonly TableCommand[]): void {
    this.#index = index;
    this.#commands = new Map();
    this.#attaches = new Map();
    this.#stolen = [];
    this.#force = undefined;
    for (const { session, epoch, command } of commands) {
      if (command === undefined) continue;
      if ("nonce" in command) {
        const key = attachKeyOf(command);
        this.#checkSpeaker(`attach ${key}`, epoch);
        push(this.#attaches, key, { credential: epoch, command });
      } else if ("sequence" in command) {
        const isOrder = session === 0;
        if (isOrder) this.#checkSpeaker(`order ${command.sequence}`, epoch);
        const key = `${session}/${isOrder ? 0 : epoch}/${command.sequence}`;
        push(this.#commands, key, { credential: epoch, command });
      }
    }
  }

  attached(message: Attached): void {
    this.#force = undefined;
    const asked = this.#attaches.get(message.key) ?? [];
    this.#note(`session ${message.session}`, this.#sessions.attach(message, asked));
  }

  hear(session: number, epoch: number, message: SessionMessage, holds: KnownHolds): void {
    switch (message.kind) {
      case MESSAGE.reply:
        this.#reply(session, epoch, message.sequence, message.result, holds);
        return;
      case MESSAGE.outcome:
        this.#outcome(session, message.sequence, message.result);
        return;
      case MESSAGE.renewed:
      case MESSAGE.recalled:
        this.#note(`session ${session}`, this.#sessions.problemOfActing(session));
        return;
      case MESSAGE.lost:
        if (message.reason === END_REASON.stolen) {
          this.#stolen.push(holds.keysOf(session, message.sequence) ?? []);
        } else if (message.reason === END_REASON.revoked) {
          this.#forced(holds.keysOf(session, message.sequence));
        }
        return;
      case MESSAGE.revoking:
        if (message.sequence > 0) this.#forced(holds.keysOf(session, message.sequence));
        return;
      case MESSAGE.ended:
        this.#sessions.end(session);
        this.#dismissed.delete(session);
        return;
      default:
    }
  }

  #reply(
    session: number,
    epoch: number,
    sequence: number,
    result: Result,
    holds: KnownHolds,
  ): void {
    const asked = this.#commands.get(`${session}/${epoch}/${sequence}`) ?? [];
    // Copies of an order are each carried out; of a session's commands only one is.
    const record = session === 0 ? asked.shift() : asked[0];
    const stolen = this.#stolen;
    this.#stolen = [];
    this.#force = undefined;
    if (record === undefined) return;
    const { command, credential } = record;
    const name = `${session}/${sequence}`;
    let person: number | undefined;
    if (session === 0) person = personBy(this.reckoning.now, credential);
    else {
      this.#note(name, this.#sessions.problemOfActing(session));
      person = this.#sessions.of(session)?.person;
    }
    this.#judge(name, person, command, result, () => {
      return "target" in command ? holds.keysOf(session, command.target) : undefined;
    });
    if (command.op === OP.close && result.status === STATUS.ok) this.#sessions.end(session);
    if (result.status === STATUS.queued) this.#waiting.set(name, command);
    if (result.status === STATUS.granted) {
      for (const keys of stolen) this.#demand(`${name} steals`, person, "operate", keys);
    }
    if (result.status === STATUS.revoked) this.#force = person;
    if (!isAccessCommand(command) || result.status !== STATUS.ok) return;
    if (session === 0) this.#note(name, this.#orders?.carryOut(sequence));
    this.#carryOut(command);
  }

  #carryOut(command: AccessCommand): void {
    const gone = this.reckoning.carryOut(this.#index, command);
    if (gone === undefined) return;
    for (const session of this.#sessions.sessionsOf(gone)) {
      this.#dismissed.add(session);
      this.#justDismissed.push(session);
    }
  }

  #judge(
    name: string,
    person: number | undefined,
    command: SequencedCommand,
    result: Result,
    heldKeys: () => readonly string[] | undefined,
  ): void {
    const isAllowed = this.#isAllowed(person, command, result, heldKeys);
    const isRefused = REFUSED.includes(result.status);
    if (isAllowed === undefined || isAllowed === !isRefused) return;
    const what = isRefused ? "is refused, and allowed" : "takes effect, and is forbidden";
    this.#complain(`${name}, op ${command.op} of person ${person}, ${what}: ${result.status}`);
  }

  /** `undefined`: that depends on what it would take. */
  #isAllowed(
    person: number | undefined,
    command: SequencedCommand,
    result: Result,
    heldKeys: () => readonly string[] | undefined,
  ): boolean | undefined {
    const { now } = this.reckoning;
    switch (command.op) {
      case OP.end:
      case OP.close:
      case OP.downgrade:
      case OP.extend:
      case OP.giveBack:
        return true;
      case OP.act:
        return command.steps.every(
          (step) => !needsAcquire(step) || may(now, person, "acquire", step.key),
        );
      case OP.take:
        return command.items.every(({ key }) => may(now, person, "acquire", key));
      case OP.acquire: {
        const isSteal = command.options?.steal === true;
        const level = isSteal ? "operate" : "acquire";
        if (!command.items.every(({ key }) => may(now, person, level, key))) return false;
        return !isSteal || mayEverywhere(now, person, "operate") ? true : undefined;
      }
      case OP.upgrade:
        return may(now, person, "acquire", command.key);
      case OP.update:
      case OP.handOver:
        return (heldKeys() ?? []).every((key) => may(now, person, "acquire", key));
      case OP.adopt:
        if (result.status === STATUS.adopted) {
          return result.items.every(({ key }) => may(now, person, "acquire", key));
        }
        return may(now, person, "acquire", command.key) ? undefined : false;
      case OP.revoke:
        if (mayEverywhere(now, person, "operate")) return true;
        if (command.key === undefined) {
          return maySomewhere(now, person, "operate") ? undefined : false;
        }
        return may(now, person, "operate", command.key) ? undefined : false;
      case OP.endSession:
        if (mayEverywhere(now, person, "operate")) return true;
        return this.#isOwn(person, command.session);
      case OP.setLimit:
        return may(now, person, "operate", command.key);
      default:
        return mayEverywhere(now, person, "admin");
    }
  }

  #isOwn(person: number | undefined, session: number): boolean | undefined {
    const target = this.#sessions.of(session);
    if (person === undefined || person === ANONYMOUS_PERSON) return false;
    if (target?.person !== person) return false;
    // It may still stand in the table.
    return target.isOver ? undefined : true;
  }

  #outcome(session: number, sequence: number, { status }: Result): void {
    const name = `${session}/${sequence}`;
    const command = this.#waiting.get(name);
    this.#waiting.delete(name);
    const isGranted = GRANTED.includes(status);
    const isRefused = status === ERROR_NUMBERS.FORBIDDEN;
    if (command === undefined || !(isGranted || isRefused)) return;
    const keys = "items" in command ? command.items.map(({ key }) => key) : [];
    if (command.op === OP.upgrade) keys.push(command.key);
    const person = this.#sessions.of(session)?.person;
    const { now } = this.reckoning;
    const isAllowed = keys.every((key) => may(now, person, "acquire", key));
    if (isAllowed === isGranted) return;
    const what = isGranted ? "is granted, and forbidden" : "is refused, and allowed";
    this.#complain(`${name}, which waited for ${keys.join()} of person ${person}, ${what}`);
  }

  /** A hold is ended, or is to end, by the order that was answered last. */
  #forced(keys: readonly string[] | undefined): void {
    if (this.#force === undefined || keys === undefined) return;
    this.#demand("a revoke takes effect", this.#force, "operate", keys);
  }

  #demand(
    what: string,
    person: number | undefined,
    level: "operate",
    keys: readonly string[],
  ): void {
    const missing = keys.find((key) => !may(this.reckoning.now, person, level, key));
    if (missing !== undefined) this.#complain(`${what}, and ${missing} is not person ${person}'s`);
  }

  #checkSpeaker(what: string, credential: number): void {
    this.#note(what, this.#speakers?.problemOf(what, credential, this.reckoning));
  }

  #note(name: string, problem: string | undefined): void {
    if (problem !== undefined) this.#complain(`${name} ${problem}`);
  }

  #complain(what: string): void {
    this.complaint ??= what;
  }
}

function isAccessCommand(command: SequencedCommand): command is AccessCommand {
  return command.op >= OP.putIdentity && command.op <= OP.setGrant;
}

function push<T>(lists: Map<string, T[]>, key: string, item: T): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [item]);
  else list.push(item);
}
