/** Whose the sessions are, and which credential attached them, according to the messages in the log. */
import { ERROR_NUMBERS } from "../../../../src/errors/index.js";
import { type AttachCommand, type Attached, OP, STATUS } from "../../../../src/protocol/index.js";
import { ANONYMOUS_PERSON, maySomewhere, personBy, type Reckoning } from "./reckoning.js";

export interface AttachedSession {
  readonly nonce: string;
  person: number;
  /** The credential of its newest attachment. */
  credential: number;
  epoch: number;
  isOver: boolean;
}

export interface AskedAttach {
  readonly credential: number;
  readonly command: AttachCommand;
}

/** Answered before anybody looks at who asks. */
const BEFORE_ALL: readonly number[] = [ERROR_NUMBERS.INVALID_ARGUMENT, ERROR_NUMBERS.UNAVAILABLE];

export class AttachLaws {
  readonly #reckoning: Reckoning;
  readonly #sessions = new Map<number, AttachedSession>();

  constructor(reckoning: Reckoning) {
    this.#reckoning = reckoning;
  }

  of(session: number): AttachedSession | undefined {
    return this.#sessions.get(session);
  }

  *sessionsOf(person: number): Generator<number> {
    for (const [session, known] of this.#sessions) {
      if (known.person === person && !known.isOver) yield session;
    }
  }

  end(session: number): void {
    const known = this.#sessions.get(session);
    if (known !== undefined) known.isOver = true;
  }

  /** Why nothing of its current attachment may have an effect. */
  problemOfActing(session: number): string | undefined {
    const known = this.#sessions.get(session);
    if (known === undefined) return undefined;
    if (personBy(this.#reckoning.now, known.credential) === known.person) return undefined;
    return `is served by credential ${known.credential}, which is gone`;
  }

  /** @param asked the copies of the command in its entry. Returns what is wrong with the answer */
  attach(message: Attached, asked: readonly AskedAttach[]): string | undefined {
    let problem: string | undefined;
    for (const one of asked) {
      problem = this.#problemOf(message, one);
      if (problem !== undefined) continue;
      if (message.status === STATUS.ok) this.#note(message, one);
      return undefined;
    }
    return problem;
  }

  #note({ session, epoch }: Attached, { credential, command }: AskedAttach): void {
    const person = personBy(this.#reckoning.now, credential) as number;
    const known = this.#sessions.get(session);
    if (known === undefined) {
      const { nonce } = command;
      this.#sessions.set(session, { nonce, person, credential, epoch, isOver: false });
    } else if (known.epoch !== epoch) {
      Object.assign(known, { person, credential, epoch });
    }
  }

  #problemOf(message: Attached, { credential, command }: AskedAttach): string | undefined {
    const { status } = message;
    if (BEFORE_ALL.includes(status)) return undefined;
    const person = personBy(this.#reckoning.now, credential);
    const isOpen = command.op === OP.open;
    const mayOpen = maySomewhere(this.#reckoning.now, person, "acquire");
    const isUnknown = person === undefined || (isOpen && !mayOpen && person === ANONYMOUS_PERSON);
    if ((status === ERROR_NUMBERS.UNAUTHENTICATED) !== isUnknown) {
      return `gets ${status} with credential ${credential} of person ${person}`;
    }
    if (isUnknown) return undefined;
    if (isOpen && !mayOpen) {
      return status === ERROR_NUMBERS.FORBIDDEN ? undefined : `is opened by person ${person}`;
    }
    const known = isOpen ? this.#findBy(command.nonce) : this.#sessions.get(command.session);
    const isIts = known === undefined || [person, ANONYMOUS_PERSON].includes(known.person);
    if (status === STATUS.ok) return isIts ? undefined : `is attached by person ${person}`;
    if (status !== ERROR_NUMBERS.FORBIDDEN || known === undefined || !isIts) return undefined;
    const isMeant = known.nonce === command.nonce;
    return isMeant ? `is refused to person ${person}, whose it is` : undefined;
  }

  #findBy(wanted: string): AttachedSession | undefined {
    return [...this.#sessions.values()].find(({ nonce, isOver }) => nonce === wanted && !isOver);
  }
}
