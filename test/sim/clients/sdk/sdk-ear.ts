/**
 * Listens to what an SDK and a node say to each other, as bytes, and tells the checks: every word that
 * is heard, every command when it is first said, and what the SDK acknowledges. It changes nothing,
 * and knows nothing of what the SDK makes of it.
 */
import { decodeServerFrame } from "../../../../src/net/framing/index.js";
import {
  type Attached,
  decodeFrame,
  isAttachCommand,
  isOperation,
  isQuery,
  MESSAGE,
  RECALL_STATE,
  type Recalled,
  type Request,
  type Result,
  type ServerMessage,
  type SessionMessage,
  STATUS,
} from "../../../../src/protocol/index.js";
import type { SocketEnding } from "../../world/node-socket.js";
import type { Ear } from "../../world/sdk-platform.js";
import type { ClientWatch } from "../client-watch.js";
import type { WorldClient } from "../world-client.js";
import { ReadWords } from "./read-words.js";

/** The node says that the client broke the protocol. */
const BREACHES: readonly number[] = [1002, 1003, 1007, 1008, 1009];

/** What is known of the sessions of one client, over all its processes and connections. */
export class SdkEars {
  readonly client: WorldClient;
  readonly watch: ClientWatch;
  /** Commands that an entry answered, and ends of waits. */
  answeredCount = 0;
  readonly #sessions = new Map<number, ReadWords>();
  readonly #epochs = new Set<string>();

  constructor(client: WorldClient, watch: ClientWatch) {
    this.client = client;
    this.watch = watch;
  }

  listen(): Ear {
    return new SdkEar(this);
  }

  of(session: number): ReadWords {
    let words = this.#sessions.get(session);
    if (words === undefined) {
      words = new ReadWords();
      this.#sessions.set(session, words);
    }
    return words;
  }

  /** Whether this attachment is heard of for the first time. */
  isNew(session: number, epoch: number): boolean {
    const name = `${session}/${epoch}`;
    if (this.#epochs.has(name)) return false;
    this.#epochs.add(name);
    return true;
  }

  complain(rule: string, what: string): void {
    this.watch.onBroken(this.client, rule, what);
  }
}

class SdkEar implements Ear {
  readonly #of: SdkEars;
  #session = 0;
  #epoch = 0;

  constructor(ears: SdkEars) {
    this.#of = ears;
  }

  onSent(frame: Uint8Array): void {
    decodeFrame(frame, {
      request: (request) => this.#onRequest(request),
      invalid: (op, id, reason) => {
        this.#of.complain("the protocol is kept", `${op} ${id} is invalid: ${reason}`);
      },
    });
  }

  onHeard(frame: Uint8Array): void {
    for (const message of decodeServerFrame(frame)) this.#onMessage(message);
  }

  onClosed({ code, reason }: SocketEnding): void {
    if (BREACHES.includes(code)) {
      this.#of.complain("the protocol is kept", `sent away with ${code}: ${reason}`);
    }
  }

  #onRequest(request: Request): void {
    if (isAttachCommand(request) || isQuery(request) || isOperation(request)) return;
    const words = this.#of.of(this.#session);
    if ("sequence" in request) {
      if (words.onSaid(request)) this.#of.watch.onInvoke(this.#session, request.sequence);
    }
    const problem = words.problemOf(request);
    if (problem !== undefined) {
      const what = `session ${this.#session} ${problem}`;
      this.#of.complain("acknowledged is read", what);
    }
  }

  #onMessage(message: ServerMessage): void {
    switch (message.kind) {
      case MESSAGE.attached:
        this.#onAttached(message);
        return;
      case MESSAGE.hello:
      case MESSAGE.leader:
      case MESSAGE.move:
      case MESSAGE.answer:
      case MESSAGE.changes:
        return;
      default:
        if (this.#session !== 0) this.#onWord(asSaid(message));
    }
  }

  #onAttached(message: Attached): void {
    this.#of.watch.onAttached(this.#of.client, message);
    if (message.status !== STATUS.ok) return;
    const { session, epoch, highestSequence } = message;
    this.#session = session;
    this.#of.of(session).onAttached(highestSequence);
    // An attempt that is answered again hears what is said from now on.
    this.#epoch = this.#of.isNew(session, epoch) ? epoch : 0;
  }

  #onWord(message: SessionMessage): void {
    const { client, watch } = this.#of;
    const words = this.#of.of(this.#session);
    if (message.kind === MESSAGE.reply && message.stamp === 0) {
      // It is sent again under its sequence, and may be executed then.
      words.onRefused(message.sequence);
      return;
    }
    words.onHeard(message);
    if (message.kind === MESSAGE.reply || message.kind === MESSAGE.outcome) {
      this.#of.answeredCount += 1;
    }
    watch.onMessage(client, this.#session, this.#epoch, message);
  }
}

/** As the table said it: on the wire a count of one is written where there are slots. */
function asSaid(message: SessionMessage): SessionMessage {
  if (message.kind === MESSAGE.reply || message.kind === MESSAGE.outcome) {
    return { ...message, result: resultAsSaid(message.result) };
  }
  if (message.kind !== MESSAGE.recalled) return message;
  const sequences: Recalled["sequences"] = message.sequences.map((told) => {
    if (told.state !== RECALL_STATE.done) return told;
    return { ...told, result: resultAsSaid(told.result) };
  });
  return { ...message, sequences };
}

function resultAsSaid(result: Result): Result {
  if (result.status !== STATUS.granted || result.count !== 1) return result;
  const { status, token, slots } = result;
  return slots === undefined ? { status, token } : { status, token, slots };
}
