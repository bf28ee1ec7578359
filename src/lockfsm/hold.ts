/**
 * A granted request: all its keys under one token ("Records"). Its places stand in the keys' lists
 * of holds. It keeps the sequence that it answers, not the stored reply, which is forgotten as soon
 * as the client has read it.
 */
import type { Place } from "./key.js";
import type { Session } from "./session.js";

export class Hold {
  readonly token: number;
  readonly session: Session;
  readonly owner: number;
  /** Of the acquire that it answers. */
  readonly sequence: number;
  readonly grantedAt: number;
  firstPlace: Place | undefined = undefined;
  previous: Hold | undefined = undefined;
  next: Hold | undefined = undefined;
  /** It is in this snapshot, or is not to be in it. */
  savedIn: number;

  constructor(token: number, session: Session, owner: number, sequence: number, grantedAt: number) {
    this.token = token;
    this.session = session;
    this.owner = owner;
    this.sequence = sequence;
    this.grantedAt = grantedAt;
    this.savedIn = session.saving.epoch;
  }
}
