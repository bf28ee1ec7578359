/**
 * Whether the node behind a connection still answers. While something is awaited from it, silence
 * is judged in seconds, whatever the lease: the client pings a node of which it has heard nothing
 * for a while, and leaves one that does not answer that either. A frozen process, a machine that is
 * gone and a link that swallows everything look the same. A node that answers is alive: how long it
 * may take for the rest is not decided here.
 *
 * It must never send anything while nothing is awaited: idle clients are many.
 */
import { CLIENT_FRAME_BYTES_MAX, OP } from "../../protocol/index.js";
import { FrameWriter } from "./frame-writer.js";
import type { Transport } from "./platform.js";

/** Together half of the five seconds within which another node is to serve. */
const PING_AFTER_MS = 1_250;
const ANSWER_WITHIN_MS = 1_250;
/**
 * An answer may have arrived while this process itself stood still, and timers run before sockets
 * are read: so the node is looked at twice.
 */
const SECOND_LOOK_MS = 50;

const NEVER = Number.POSITIVE_INFINITY;

/** Its answers need not be told apart, and no other request of the connection has this number. */
const PING_ID = Number.MAX_SAFE_INTEGER - 2;

export class LinkLiveness {
  #isAwaited = false;
  /** When the last frame came, or the wait began. */
  #quietSinceMs = NEVER;
  /** When the unanswered ping was sent; `Infinity`: there is none. */
  #pingedMs = NEVER;
  #isDoubted = false;
  /** When `onAlarm` has something to do. */
  dueMs = NEVER;

  /** Something is awaited from the node, or nothing any more. */
  setAwaited(isAwaited: boolean, nowMs: number): void {
    if (isAwaited === this.#isAwaited) return;
    this.#isAwaited = isAwaited;
    this.heard(nowMs);
  }

  /** A frame came, or the connection began. */
  heard(nowMs: number): void {
    this.#quietSinceMs = nowMs;
    this.#pingedMs = NEVER;
    this.#isDoubted = false;
    this.dueMs = this.#isAwaited ? nowMs + PING_AFTER_MS : NEVER;
  }

  /** How long the node has been silent when it is to be left; `undefined` while it may stay. */
  onAlarm(nowMs: number, transport: Transport | undefined): number | undefined {
    if (nowMs < this.dueMs) return undefined;
    if (this.#pingedMs === NEVER) {
      this.#pingedMs = nowMs;
      this.dueMs = nowMs + ANSWER_WITHIN_MS;
      if (transport !== undefined) sendPing(transport);
      return undefined;
    }
    if (this.#isDoubted) return nowMs - this.#quietSinceMs;
    this.#isDoubted = true;
    this.dueMs = nowMs + SECOND_LOOK_MS;
    return undefined;
  }
}

function sendPing(transport: Transport): void {
  const frame = new FrameWriter((bytes) => transport.send(bytes));
  frame.begin(CLIENT_FRAME_BYTES_MAX);
  frame.add({ op: OP.ping, id: PING_ID });
  frame.end();
}
