/**
 * Nodes that answer as a transcript says, on ports of the loopback interface. They compare each
 * request with the step at which the transcript is, and keep a sentence for each that differs.
 */
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { freePorts } from "../../lab/free-ports.js";
import { type ReadRequest, readRequest } from "./request.js";
import type { Answer, Step, Transcript, WatchEvent } from "./transcript.js";

const NODES = 3;
/** What a wait without end asks for at least, since a poll may last so long. */
const ENDLESS_MS_MIN = 60_000;
/** Between two bytes of an answer that drips. */
const DRIP_MS = 200;
const CLUSTER_ID = "0c".repeat(16);
export const ACCESS_TOKEN = "token-of-the-transcripts";

export class Replay implements AsyncDisposable {
  readonly #transcript: Transcript;
  readonly #servers: readonly Server[];
  readonly #differences: string[] = [];
  readonly #tellToFinish: () => void;
  #deadPorts: readonly number[] = [];
  #at = 0;
  #node: number | undefined;
  #owner: string | undefined;
  #request: string | undefined;
  #waitMs = Number.POSITIVE_INFINITY;

  private constructor(transcript: Transcript, tellToFinish: () => void) {
    this.#transcript = transcript;
    this.#tellToFinish = tellToFinish;
    this.#servers = Array.from({ length: NODES }, (_, node) => {
      return createServer((message, response) => {
        this.#answer(node, message, response).catch((error: unknown) => {
          this.#differences.push(String(error));
          response.destroy();
        });
      });
    });
  }

  /** @param tellToFinish called when the client should give the lock back */
  static async start(transcript: Transcript, tellToFinish: () => void): Promise<Replay> {
    const replay = new Replay(transcript, tellToFinish);
    replay.#deadPorts = await freePorts(transcript.deadNodes ?? 0);
    for (const server of replay.#servers) await once(server.listen(0, "127.0.0.1"), "listening");
    return replay;
  }

  /** The nodes, as clients take them from HOLDFAST_ENDPOINTS. */
  get endpoints(): string {
    const ports = this.#servers.map((server) => (server.address() as AddressInfo).port);
    // As they stand in the environment of the SDK, too.
    const schemes = ["http", "ws", "http"];
    const all = ports.map((port, at) => `${schemes[at]}://127.0.0.1:${port}`);
    return [...all, ...this.#deadPorts.map((port) => `http://127.0.0.1:${port}`)].join(",");
  }

  /** What was not as the transcript says; to be read when the client has ended. */
  get differences(): readonly string[] {
    const missing = this.#transcript.steps.slice(this.#at).filter(({ times }) => times !== "any");
    return [...this.#differences, ...missing.map(({ asks }) => `no request to ${asks} came`)];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const server of this.#servers) {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    }
  }

  async #answer(node: number, message: IncomingMessage, response: ServerResponse): Promise<void> {
    if (message.url === "/status") {
      // What every node shows, whatever the transcript is about.
      response.writeHead(200, { Connection: "close" }).end(`{"clusterId":"${CLUSTER_ID}"}\n`);
      return;
    }
    const request = await readRequest(message);
    const step = this.#stepFor(request);
    if (step === undefined) {
      const where = `step ${this.#at + 1}`;
      this.#differences.push(`${where}: ${message.method} ${message.url} is not expected`);
      response.writeHead(500, { Connection: "close" }).end();
      return;
    }
    if (step.node !== undefined && (step.node === "same") !== (node === this.#node)) {
      this.#differences.push(`step ${this.#at}: asked at node ${node} after ${this.#node}`);
    }
    this.#node = node;
    this.#compare(request, step);
    if ((await isAnswered(response, step.answer)) && step.then === "finish") this.#tellToFinish();
  }

  /** The step that the request is, at which the transcript then is. */
  #stepFor({ asks }: ReadRequest): Step | undefined {
    const { steps } = this.#transcript;
    for (let at = this.#at; at < steps.length; at += 1) {
      const step = steps[at] as Step;
      if (step.asks === asks) {
        this.#at = step.times === "any" ? at : at + 1;
        return step;
      }
      if (step.times !== "any") return undefined;
    }
    return undefined;
  }

  #compare(request: ReadRequest, step: Step): void {
    const { lock, looks, watches } = this.#transcript;
    const expected = (what: string, actual: unknown, isRight: boolean): void => {
      if (!isRight) this.#differences.push(`${step.asks}: ${what} is ${JSON.stringify(actual)}`);
    };
    const { authorization, owner, keys, ttlMs, waitMs, item } = request;
    expected("the credential", authorization, authorization === `Bearer ${ACCESS_TOKEN}`);
    if (watches !== undefined) {
      expected("the prefix", request.prefix, request.prefix === watches.prefix);
      expected("the last id", request.lastEventId, request.lastEventId === step.after);
      expected("the owner", owner, owner === undefined);
      return;
    }
    if (lock === undefined) {
      expected("the key", keys, keys.join() === looks);
      expected("the owner", owner, owner === undefined);
      return;
    }
    if (step.owner === "new") {
      expected("the new owner", owner, owner !== this.#owner);
      expected("the new request", request.request, request.request !== this.#request);
      this.#owner = this.#request = undefined;
      this.#waitMs = Number.POSITIVE_INFINITY;
    }
    this.#owner ??= owner;
    expected("the owner", owner, owner === this.#owner && (owner?.length ?? 0) >= 32);
    const isTake = step.asks === "take";
    const wanted = isTake ? lock.keys : lock.keys.slice(0, 1);
    expected("the keys", keys, JSON.stringify(keys) === JSON.stringify(wanted));
    const wantedTtlMs = step.ttlMs ?? lock.ttlMs;
    if (step.asks !== "giveBack") expected("the TTL", ttlMs, ttlMs === wantedTtlMs);
    if (!isTake) return;
    this.#request ??= request.request;
    const isSame = request.request === this.#request && (this.#request?.length ?? 0) >= 32;
    expected("the request", request.request, isSame);
    const maxMs = lock.waitMs ?? Number.POSITIVE_INFINITY;
    const minMs = maxMs === 0 ? 0 : maxMs === Number.POSITIVE_INFINITY ? ENDLESS_MS_MIN : 1;
    const askedMs = waitMs ?? 0;
    expected("the wait", waitMs, askedMs >= minMs && askedMs <= Math.min(maxMs, this.#waitMs));
    this.#waitMs = askedMs;
    const { key: _key, ...rest } = item;
    const plain = { mode: "exclusive" };
    const settings = JSON.stringify(Object.entries({ ...plain, ...rest }).sort());
    const right = JSON.stringify(Object.entries({ ...plain, ...step.with }).sort());
    expected("what is wanted", rest, settings === right);
  }
}

/** Returns whether the client has the whole answer. */
async function isAnswered(response: ServerResponse, answer: Answer): Promise<boolean> {
  const { status = 200, headers = {}, body, text = `${JSON.stringify(body)}\n`, events } = answer;
  if (answer.breaks === "never answers") return false;
  if (answer.breaks === "at once") {
    response.destroy();
    return false;
  }
  await delay(answer.afterMs ?? 0);
  if (events !== undefined) {
    response.writeHead(200, { "Content-Type": "text/event-stream", Connection: "close" });
    for (const event of events) response.write(eventText(event));
    if (answer.breaks === "at end") response.end();
    return true;
  }
  const type = answer.text === undefined ? "application/json" : "text/html";
  const length = Buffer.byteLength(text);
  response.writeHead(status, {
    "Content-Type": status < 400 || answer.text !== undefined ? type : "application/problem+json",
    "Content-Length": length,
    Connection: "close",
    ...headers,
  });
  if (answer.breaks === "drips") {
    for (let at = 0; at < length && !response.destroyed; at += 1) {
      response.write(text.slice(at, at + 1));
      await delay(DRIP_MS);
    }
    return false;
  }
  if (answer.breaks === "half way") {
    response.write(text.slice(0, length / 2), () => response.destroy());
    return false;
  }
  await new Promise<void>((resolve) => response.end(text, resolve));
  return true;
}

/** As a node writes it: a sign of life is a comment, with the id up to which nothing is missing. */
function eventText({ id, event, data }: WatchEvent): string {
  if (event === undefined) return `: keepalive\nid: ${id}\n\n`;
  return `id: ${id}\nevent: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
}
