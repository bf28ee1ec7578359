/**
 * The platform of browsers and of other runtimes with a native WebSocket: only web standards. Must
 * never import `node:*` or `ws`.
 */
import { SUBPROTOCOL } from "../../protocol/index.js";
import type { Page, Platform, Timer, Transport, TransportEvents } from "./platform.js";

/** The part of the DOM's WebSocket that is used here; this package is built without DOM types. */
interface NativeSocket {
  binaryType: string;
  readonly readyState: number;
  onopen: (() => void) | null;
  onmessage: ((event: { readonly data: unknown }) => void) | null;
  onclose: ((event: { readonly code: number; readonly reason: string }) => void) | null;
  send(data: Uint8Array): void;
  close(code?: number, reason?: string): void;
}

type NativeSocketClass = new (url: string, protocol: string) => NativeSocket;

/** With types of the DOM, its own functions refuse memory that threads may share; none of this is. */
type Unshared = Uint8Array<ArrayBuffer>;

const OPEN = 1;

class NativeTransport implements Transport {
  readonly #socket: NativeSocket;

  constructor(url: string, events: TransportEvents) {
    const { WebSocket } = globalThis as unknown as { WebSocket: NativeSocketClass };
    this.#socket = new WebSocket(url, SUBPROTOCOL);
    this.#socket.binaryType = "arraybuffer";
    this.#socket.onopen = () => events.onOpen();
    this.#socket.onmessage = ({ data }) => {
      if (data instanceof ArrayBuffer) events.onFrame(new Uint8Array(data));
      else this.#socket.close(4003, "binary messages only");
    };
    this.#socket.onclose = ({ code, reason }) => events.onClose(code, reason);
  }

  send(frame: Uint8Array): void {
    if (this.#socket.readyState === OPEN) this.#socket.send(frame);
  }

  close(code: number, reason: string): void {
    // A page may close only with 1000 or 3000 – 4999; other codes are moved into the private range.
    this.#socket.close(code === 1000 ? code : 3000 + code, reason);
  }

  setKeepsProcess(): void {
    // A page does not end by itself.
  }
}

/**
 * Runs one task per call, in order, after the work of this turn and without a timer's minimum
 * delay.
 */
function taskQueue(): (task: () => void) => void {
  const tasks: (() => void)[] = [];
  const channel = new MessageChannel();
  const port = channel.port1 as unknown as { onmessage: (() => void) | null };
  port.onmessage = () => tasks.shift()?.();
  return (task) => {
    tasks.push(task);
    channel.port2.postMessage(0);
  };
}

/**
 * A page may not open every URL that nodes advertise (`ws:` from a page that came by `https:`), and
 * the constructor throws then. For the client that is a node that cannot be reached.
 */
function openSocket(url: string, events: TransportEvents): Transport {
  try {
    return new NativeTransport(url, events);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    setTimeout(() => events.onClose(1006, reason), 0);
    return { send: nothing, close: nothing, setKeepsProcess: nothing };
  }
}

function nothing(): void {}

function startTimer(delayMs: number, task: () => void): Timer {
  const id = setTimeout(task, delayMs);
  return { cancel: () => clearTimeout(id), setKeepsProcess: () => undefined };
}

export async function readPage(
  url: string,
  signal: AbortSignal,
  token: string | undefined,
): Promise<Page> {
  const headers = token === undefined ? {} : { Authorization: `Bearer ${token}` };
  const response = await fetch(url, { signal, headers, redirect: "error" });
  return { status: response.status, text: await response.text() };
}

/** Browsers give this only to pages that came through TLS or from this machine. */
async function sha256(bytes: Uint8Array): Promise<Uint8Array> {
  const { subtle } = globalThis.crypto as { subtle?: typeof globalThis.crypto.subtle };
  if (subtle === undefined) throw new TypeError("SHA-256 needs a page that came through https:");
  return new Uint8Array(await subtle.digest("SHA-256", bytes as Unshared));
}

/** A function, so that importing this file has no effect. */
export function browserPlatform(): Platform {
  return {
    monotonicMs: () => performance.now(),
    wallMs: () => Date.now(),
    random: () => Math.random(),
    randomBytes: (target) => {
      globalThis.crypto.getRandomValues(target as Unshared);
    },
    sha256,
    soon: taskQueue(),
    setTimer: startTimer,
    open: openSocket,
  };
}
