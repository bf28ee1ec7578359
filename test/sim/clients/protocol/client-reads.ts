/** The reads of one client, and what the last of them showed in the hands of others. */
import {
  type Answer,
  type KeyView,
  OP,
  type Query,
  STATUS,
} from "../../../../src/protocol/index.js";
import type { ClientWatch } from "../client-watch.js";
import type { ClientConnection } from "./client-connection.js";

export class ClientReads {
  tokens: readonly number[] = [];
  sequences: readonly number[] = [];
  sessions: readonly number[] = [];
  readonly #reader: number;
  readonly #watch: ClientWatch;
  #lastId = 0;

  constructor(reader: number, watch: ClientWatch) {
    this.#reader = reader;
    this.#watch = watch;
  }

  inspect(key: string, connection: ClientConnection): Query {
    this.#lastId += 1;
    const id = this.#lastId;
    this.#watch.onRead(this.#reader, id);
    const query = { op: OP.inspect, id, key } as const;
    connection.say((events, served) => events.onQuery(served, query));
    return query;
  }

  /** `own`: the session of the reader. */
  onAnswer(answer: Answer, own: number): void {
    this.#watch.onAnswer(this.#reader, OP.inspect, answer);
    if (answer.status !== STATUS.ok) return;
    const { holds } = answer.payload as KeyView;
    const others = holds.filter(({ session }) => session !== own);
    this.sequences = others.map(({ sequence }) => sequence);
    this.tokens = others.map(({ token }) => token);
    this.sessions = others.flatMap(({ session }) => (session === 0 ? [] : [session]));
  }
}
