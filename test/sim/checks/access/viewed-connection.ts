/**
 * One connection of a client to a node, as the law of access sees it: what it has shown, whom it may
 * speak for, and what it is shown for that. A read is judged by the states of the log that it may have
 * seen; what it shows must all be visible in one of them.
 */
import { ERROR_NUMBERS } from "../../../../src/errors/index.js";
import {
  type Answer,
  attachKeyOf,
  type Changes,
  type ChangesView,
  type ClientRequest,
  isAttachCommand,
  isQuery,
  type KeysView,
  MESSAGE,
  OP,
  type Query,
  type Reply,
  type ServerMessage,
  type SessionsView,
  STATUS,
  type WatchQuery,
  type WhoAmIView,
} from "../../../../src/protocol/index.js";
import type { SocketEnding } from "../../world/network/node-socket.js";
import type { Fail } from "../violation.js";
import type { AccessLaws } from "./access-laws.js";
import { digestOf } from "./digest.js";
import {
  type AccessState,
  may,
  mayAll,
  mayEverywhere,
  maySomewhere,
  nameOf,
  personShowing,
} from "./reckoning.js";
import type { Speakers } from "./speakers.js";

const RULES = {
  reads: "no read is answered to a client that may not see it",
  signIns: "who has a valid token is let in, and nobody else",
} as const;

const REFUSED: readonly number[] = [ERROR_NUMBERS.FORBIDDEN, ERROR_NUMBERS.UNAUTHENTICATED];
/** With which a node closes a connection whose credential it does not know, or not any more. */
const NOT_LET_IN = "unknown credential: it was removed or replaced, or belongs to another cluster";
/** The code of a closing for a breach of rules. */
const POLICY = 1008;

/** What is known of the cluster to whose node the connection leads. */
export interface ViewedCluster {
  readonly laws: AccessLaws;
  readonly speakers: Speakers;
  /** The last entry that is committed. */
  readonly committedIndex: () => number;
  /** The same when the process of the node began. */
  readonly startedIndex: number;
  readonly fail: Fail;
}

interface Asked {
  readonly query: Query;
  /** It is answered with what was so then, or at a later entry. */
  readonly from: number;
}

export class ViewedConnection {
  readonly #cluster: ViewedCluster;
  readonly #asked = new Map<number, Asked>();
  readonly #watched = new Map<number, WatchQuery>();
  #isAttached = false;
  /** SHA-256 of the token that it has shown, accepted or not. */
  #shown: string | undefined;
  #shownAt = 0;
  /** The second one says that the token was accepted. */
  #hellos = 0;
  /** The same, if it was accepted. */
  #digest: string | undefined;

  constructor(cluster: ViewedCluster) {
    this.#cluster = cluster;
  }

  said(request: ClientRequest): void {
    const { speakers, committedIndex } = this.#cluster;
    if (isAttachCommand(request)) {
      speakers.onSaid(`attach ${attachKeyOf(request)}`, this.#digest);
    } else if (isQuery(request)) {
      this.#asked.set(request.id, { query: request, from: committedIndex() });
      if (request.op === OP.watch) this.#watched.set(request.id, request);
      if (request.op !== OP.signIn) return;
      this.#shown = digestOf(request.token);
      this.#shownAt = committedIndex();
    } else if ("sequence" in request && !this.#isAttached) {
      speakers.onSaid(`order ${request.sequence}`, this.#digest);
      speakers.orders.onSaid(request.sequence);
    }
  }

  heard(message: ServerMessage): void {
    if (message.kind === MESSAGE.attached && message.status === STATUS.ok) this.#isAttached = true;
    else if (message.kind === MESSAGE.changes) this.#told(message);
    else if (message.kind === MESSAGE.reply) this.#replied(message);
    else if (message.kind === MESSAGE.hello) {
      this.#hellos += 1;
      if (this.#hellos === 2) this.#onLetIn();
    } else if (message.kind === MESSAGE.answer) {
      const asked = this.#asked.get(message.id);
      this.#asked.delete(message.id);
      if (asked?.query.op === OP.signIn) this.#onKeptOut(message);
      else if (asked !== undefined) this.#answered(asked, message);
    }
  }

  #replied({ sequence, result }: Reply): void {
    if (this.#isAttached || result.status !== STATUS.ok) return;
    this.#cluster.speakers.orders.onAnswered(sequence);
  }

  /** Whether a closing by the node is due to a credential that is gone. */
  excuses({ code, reason }: SocketEnding): boolean {
    if (code !== POLICY || reason !== NOT_LET_IN || this.#shown === undefined) return false;
    return this.#isUnknownSince(this.#shownAt);
  }

  #onLetIn(): void {
    const { laws, startedIndex } = this.#cluster;
    this.#digest = this.#shown;
    const states = laws.reckoning.since(startedIndex);
    if (states.some((state) => personShowing(state, this.#shown) !== undefined)) return;
    this.#complain(RULES.signIns, `a token is accepted that was gone behind ${startedIndex}`);
  }

  #onKeptOut({ status }: Answer): void {
    if (!REFUSED.includes(status) || this.#isUnknownSince(this.#shownAt)) return;
    this.#complain(RULES.signIns, `a token is refused that there is since ${this.#shownAt}`);
  }

  #isUnknownSince(index: number): boolean {
    const states = this.#cluster.laws.reckoning.since(index);
    return states.some((state) => personShowing(state, this.#shown) === undefined);
  }

  #answered({ query, from }: Asked, { status, payload }: Answer): void {
    // A watch begins with what its node knows, and is judged again when the node knows more.
    const states = this.#cluster.laws.reckoning.since(query.op === OP.watch ? 0 : from);
    if (REFUSED.includes(status)) {
      if (!states.every((state) => this.#mayAsk(state, query))) return;
      this.#complain(RULES.reads, `op ${query.op} is refused (${status}), and allowed`);
    } else if (status === STATUS.ok) {
      if (states.some((state) => this.#maySee(state, query, payload))) return;
      const what = JSON.stringify({ ...query, payload });
      this.#complain(RULES.reads, `answered behind ${from}: ${what.slice(0, 300)}`);
    }
  }

  #told({ id, status, payload }: Changes): void {
    const watched = this.#watched.get(id);
    if (watched === undefined || status !== STATUS.ok) return;
    const { reckoning } = this.#cluster.laws;
    if (reckoning.isUntouched) return;
    for (const { key, revision } of (payload as ChangesView).changes) {
      // At that index or when it was reported: a client that may see a key may see its past, too.
      const isVisible = reckoning.since(revision.index - 1).some((state) => {
        return may(state, personShowing(state, this.#digest), "observe", key);
      });
      if (isVisible) continue;
      this.#complain(RULES.reads, `a watch reports what became of ${key} at ${revision.index}`);
    }
  }

  #mayAsk(state: AccessState, query: Query): boolean {
    const person = personShowing(state, this.#digest);
    if (person === undefined) return false;
    switch (query.op) {
      case OP.inspect:
      case OP.explain:
      case OP.verify:
      case OP.history:
        return may(state, person, "observe", query.key);
      case OP.watch:
        return query.isPrefix
          ? mayAll(state, person, "observe", query.key)
          : may(state, person, "observe", query.key);
      case OP.query:
      case OP.waitGraph:
      case OP.settings:
        return maySomewhere(state, person, "observe");
      case OP.sessions:
        return mayEverywhere(state, person, "observe");
      case OP.access:
        return mayEverywhere(state, person, "admin");
      case OP.checkAccess:
        return mayEverywhere(state, person, "admin") || query.name === nameOf(state, person);
      default:
        return true;
    }
  }

  #maySee(state: AccessState, query: Query, payload: unknown): boolean {
    const person = personShowing(state, this.#digest);
    if (person === undefined) return false;
    if (query.op === OP.sessions && !mayEverywhere(state, person, "observe")) {
      const { sessions } = payload as SessionsView;
      const { laws } = this.#cluster;
      return sessions.every(({ session }) => laws.personOf(session) === person);
    }
    if (!this.#mayAsk(state, query)) return false;
    if (query.op === OP.whoAmI) return (payload as WhoAmIView).name === nameOf(state, person);
    if (query.op !== OP.query) return true;
    return (payload as KeysView).keys.every(({ key }) => may(state, person, "observe", key));
  }

  #complain(rule: string, what: string): void {
    this.#cluster.fail(rule, what);
  }
}
