/**
 * The platform of Node: `ws`, `setImmediate`, signals. The only file of the SDK that imports `ws`
 * or uses `process`; it is loaded only when Node runs it (`load-platform.ts`).
 */
import { setMaxListeners } from "node:events";
import { uptime } from "node:os";
import { isMainThread } from "node:worker_threads";
import { WebSocket } from "ws";
import type { ErrorCode } from "../../errors/index.js";
import { SERVER_FRAME_BYTES_MAX, SUBPROTOCOL } from "../../protocol/index.js";
import { DIAL_OPTIONS, endsHandshake, handshakeProblem, readPage } from "../../reach/index.js";
import { sentenceIn } from "../../text/index.js";
import { isLocal, localAddress } from "./endpoints.js";
import {
  connectLocal,
  isForbidden,
  LOCAL_URL,
  localProblem,
  readLocalPage,
} from "./node-socket.js";
import { type ClientTls, clientTls } from "./node-tls.js";
import { NODE_TRACING } from "./node-tracing.js";
import type {
  Platform,
  ReadPage,
  TaskContext,
  Timer,
  TlsSettings,
  Transport,
  TransportEvents,
} from "./platform.js";
import { realImmediate } from "./real-immediate.js";

/** The kernel gives up connecting only after minutes; the session moves on long before. */
const HANDSHAKE_TIMEOUT_MS = 10_000;

/** How long the other side has to answer a close; the library alone would wait half a minute. */
const CLOSE_TIMEOUT_MS = 250;

/** How much is read of the text with which a node refuses a connection. */
const REFUSAL_BYTES_MAX = 1_000;
/** The HTTP status with which a node refuses a certificate. */
const FORBIDDEN = 403;

/** With types of the DOM, its functions refuse memory that threads may share; none of this is. */
type Unshared = Uint8Array<ArrayBuffer>;

/** The part of a socket that decides whether the process may end. */
interface Referable {
  ref(): unknown;
  unref(): unknown;
}

class NodeTransport implements Transport {
  readonly #socket: WebSocket;
  #referable: Referable | undefined;
  #keepsProcess = true;
  #closed = false;
  #closeTimer: NodeJS.Timeout | undefined;

  constructor(url: string, events: TransportEvents, tls: ClientTls | undefined) {
    let failure = "";
    let refusal: ErrorCode | undefined;
    // The node judges by its own clock, and only if both say so, no later attempt goes better.
    const refuse = (): void => {
      const problem = tls?.certificateProblem();
      if (problem === undefined) return;
      failure = problem;
      refusal = "UNAUTHENTICATED";
    };
    const isSecure = url.startsWith("wss:");
    const isSocket = isLocal(url);
    this.#socket = new WebSocket(isSocket ? LOCAL_URL : url, SUBPROTOCOL, {
      ...(isSocket ? { createConnection: () => connectLocal(localAddress(url).path) } : {}),
      ...(isSecure && tls !== undefined ? { secureContext: tls.secureContext } : {}),
      ...DIAL_OPTIONS,
      perMessageDeflate: false,
      maxPayload: SERVER_FRAME_BYTES_MAX,
      handshakeTimeout: HANDSHAKE_TIMEOUT_MS,
      finishRequest: (request) => {
        request.once("socket", (socket) => {
          socket.once("connect", () => events.onProgress());
          socket.once("secureConnect", () => events.onProgress());
          this.#referable = socket;
          if (!this.#keepsProcess) socket.unref();
        });
        request.end();
      },
    });
    this.#socket.on("open", () => events.onOpen());
    this.#socket.on("message", (data: Uint8Array, isBinary: boolean) => {
      if (isBinary) events.onFrame(data);
      else this.#socket.close(1003, "binary messages only");
    });
    this.#socket.on("unexpected-response", (_, response) => {
      failure = `HTTP status ${response.statusCode}`;
      response.once("data", (body: Uint8Array) => {
        const text = new TextDecoder().decode(body.subarray(0, REFUSAL_BYTES_MAX));
        const sentence = sentenceIn(text);
        if (sentence !== "") failure = sentence;
        if (response.statusCode === FORBIDDEN) refuse();
        this.#socket.terminate();
      });
      response.once("end", () => this.#socket.terminate());
    });
    this.#socket.on("error", (error: Error & { code?: string }) => {
      // What the node said first is the cause of it.
      if (failure !== "") return;
      const hasCertificate = tls?.hasCertificate === true;
      const { hostname: host } = new URL(isSocket ? LOCAL_URL : url);
      failure =
        (isSocket ? localProblem(error) : undefined) ??
        handshakeProblem(error, { isSecure, host, hasCertificate }) ??
        (error.message === "" ? (error.code ?? error.name) : error.message);
      if (isSocket && isForbidden(error)) refusal = "FORBIDDEN";
      else if (isSecure && endsHandshake(error)) refuse();
    });
    this.#socket.on("close", (code: number, reason: Uint8Array) => {
      this.#closed = true;
      clearTimeout(this.#closeTimer);
      const text = new TextDecoder().decode(reason);
      events.onClose(code, text === "" ? failure : text, refusal);
    });
  }

  send(frame: Uint8Array): void {
    // `ws` masks a view into a copy, so the caller may fill its buffer again at once.
    if (this.#socket.readyState === WebSocket.OPEN) this.#socket.send(frame);
  }

  close(code: number, reason: string): void {
    if (this.#closed || this.#closeTimer !== undefined) return;
    if (this.#socket.readyState === WebSocket.CONNECTING) this.#socket.terminate();
    else this.#socket.close(code, reason);
    this.#closeTimer = setTimeout(() => this.#socket.terminate(), CLOSE_TIMEOUT_MS);
  }

  setKeepsProcess(keeps: boolean): void {
    if (keeps === this.#keepsProcess) return;
    this.#keepsProcess = keeps;
    if (keeps) this.#referable?.ref();
    else this.#referable?.unref();
  }
}

class NodeTimer implements Timer {
  readonly #timeout: NodeJS.Timeout;

  constructor(delayMs: number, task: () => void) {
    this.#timeout = setTimeout(task, delayMs);
    this.#timeout.unref();
  }

  cancel(): void {
    clearTimeout(this.#timeout);
  }

  setKeepsProcess(keeps: boolean): void {
    if (keeps) this.#timeout.ref();
    else this.#timeout.unref();
  }
}

const EXIT_SIGNALS = ["SIGTERM", "SIGINT"] as const;

/** The tasks of all clients, so that the process does not end before the last of them is done. */
const exitTasks = new Set<() => Promise<void>>();

/** Runs all tasks on the first signal, then lets the signal have its usual effect. */
function warn(text: string): void {
  process.emitWarning(text, "HoldfastWarning");
}

function onExitSignal(name: NodeJS.Signals): void {
  const tasks = [...exitTasks];
  exitTasks.clear();
  listenForExit(false);
  // Looked up now: a listener that is called once is gone after its call, and the application it
  // belongs to is about to end in its own time.
  const isObeyedByOthers = process.listenerCount(name) > 0;
  void Promise.allSettled(tasks.map((task) => task())).then(() => {
    if (!isObeyedByOthers) process.kill(process.pid, name);
  });
}

function listenForExit(listens: boolean): void {
  for (const name of EXIT_SIGNALS) {
    // Before all other listeners, so that it sees them all.
    if (listens) process.prependListener(name, onExitSignal);
    else process.off(name, onExitSignal);
  }
}

function onExit(task: () => Promise<void>): () => void {
  if (!isMainThread) {
    warn(
      "releaseOnExit has no effect in a worker thread, which gets no signals: call close() there",
    );
    return () => undefined;
  }
  if (exitTasks.size === 0) listenForExit(true);
  exitTasks.add(task);
  return () => {
    if (exitTasks.delete(task) && exitTasks.size === 0) listenForExit(false);
  };
}

async function loadTaskContext<Task>(): Promise<TaskContext<Task>> {
  const { createTaskContext } = await import("./node-task-context.js");
  return createTaskContext<Task>();
}

/**
 * The clock that counts sleep. On Linux `uptime` reads CLOCK_BOOTTIME (from a file, in hundredths
 * of a second); on macOS and Windows the monotonic clock of Node itself goes on in a suspended
 * machine (mach_continuous_time, QueryPerformanceCounter). Other runtimes that call themselves Node
 * have their own clocks, of which nothing is known.
 */
function sleepClock(): (() => number) | undefined {
  if ("bun" in process.versions || "deno" in process.versions) return undefined;
  if (process.platform === "linux") return () => uptime() * 1_000;
  const ticksAsleep = process.platform === "darwin" || process.platform === "win32";
  return ticksAsleep ? () => performance.now() : undefined;
}

const sinceBootMs = sleepClock();

const PLATFORM: Omit<Platform, "open"> = Object.freeze({
  monotonicMs: () => performance.now(),
  wallMs: () => Date.now(),
  ...(sinceBootMs === undefined ? {} : { sinceBootMs }),
  random: () => Math.random(),
  randomBytes: (target: Uint8Array) => {
    globalThis.crypto.getRandomValues(target as Unshared);
  },
  sha256: async (bytes: Uint8Array) =>
    new Uint8Array(await globalThis.crypto.subtle.digest("SHA-256", bytes as Unshared)),
  soon: (task: () => void) => {
    (realImmediate ?? setImmediate)(task);
  },
  allowListeners: (signal: AbortSignal) => setMaxListeners(0, signal),
  setTimer: (delayMs: number, task: () => void) => new NodeTimer(delayMs, task),
  loadTaskContext,
  onExit,
  warn,
  tracing: NODE_TRACING,
});

/** Throws `INVALID_ARGUMENT` for certificates that cannot be used. */
export function platformWith(settings: TlsSettings): Platform {
  const tls = clientTls(settings);
  return { ...PLATFORM, open: (url, events) => new NodeTransport(url, events, tls) };
}

/** Throws like `platformWith`. */
export function readPageWith(settings: TlsSettings): ReadPage {
  const tls = clientTls(settings);
  return async (url, signal, token) => {
    if (isLocal(url)) return readLocalPage(url, signal);
    try {
      return await readPage(url, signal, tls, token);
    } catch (error) {
      const { cause } = error as Error;
      const isRefusal = cause instanceof Error && endsHandshake(cause);
      const problem = isRefusal ? tls?.certificateProblem() : undefined;
      throw problem === undefined ? error : new Error(problem, { cause });
    }
  };
}
