/**
 * The HTTP door: leases for every program that can send a request. It finds out what is asked for,
 * asks the node as the caller, and answers in JSON. It keeps nothing of a lease: what it forgets when
 * it stops is only which requests were waiting. No request may end the process, whatever goes wrong.
 *
 * The owner that a request names proves who may end its leases, so it is never logged or answered.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Client, WantedItem } from "../../client/index.js";
import { assert, HoldfastError } from "../../errors/index.js";
import type { HttpCaller, HttpDoor, HttpRefusal } from "../../net/index.js";
import { type DoorClock, SYSTEM_CLOCK } from "../clock.js";
import type { BorrowedClient, DoorClients } from "../door-clients.js";
import { WaitingEvents } from "./event-stream.js";
import type { Exchange } from "./exchange.js";
import { HttpExchange } from "./http-exchange.js";
import { extendedBody } from "./lease-bodies.js";
import { durationOf, headerText, Parameters, requiredHeader } from "./parameters.js";
import { badRequest, internalError, Problem, problemOf, stopping } from "./problems.js";
import { type PolledTake, Takes } from "./takes.js";
import { watchChanges } from "./watching.js";

/** How long a page may remember what it may ask for, in seconds. */
const PREFLIGHT_SECONDS = "600";
const REQUEST_HEADERS =
  "Authorization, Content-Type, Holdfast-Owner, Holdfast-Name, Idempotency-Key, Last-Event-ID, traceparent";
/** The least margin for clocks that run at different rates (semantics.md, 3.4). */
const TRUST_MARGIN_MS = 250;
/** The shortest poll that a caller may choose. */
const POLL_MS_MIN = 1_000;
/** Headers that mean nothing, or something else, if there are two of them. */
const SINGLE_HEADERS = [
  ...["Holdfast-Owner", "Idempotency-Key", "Holdfast-Name", "Authorization"],
  ...["Content-Type", "Last-Event-ID", "Origin"],
];
const TRACEPARENT = /^[\da-f]{2}-[\da-f]{32}-[\da-f]{16}-[\da-f]{2}$/;

export interface HttpDoorOptions {
  readonly clients: DoorClients;
  /** The description of the door, as JSON; `undefined`: this installation has none. */
  readonly description: () => string | undefined;
  /** Told of each request, if it is wanted. Never of an owner. */
  readonly log: (fields: Record<string, unknown>) => void;
  readonly isLogging: () => boolean;
  /** Told of each exception that nobody expects. */
  readonly onInternalError: (error: unknown) => void;
  /** Default: the clock of the system. */
  readonly clock?: DoorClock | undefined;
}

interface Route {
  readonly parameters: ReadonlySet<string>;
  readonly takesBody?: boolean;
  answer(exchange: Exchange, parameters: Parameters): Promise<void>;
}

type Routes = Readonly<Record<string, Readonly<Record<string, Route>>>>;

export class LeaseDoor implements HttpDoor {
  readonly #options: HttpDoorOptions;
  readonly #clock: DoorClock;
  readonly #takes: Takes;
  readonly #routes: Routes;
  /** Ends each watch, because the node stops. */
  readonly #watches = new Set<() => void>();
  readonly #waitingEvents = new WaitingEvents();
  #isDraining = false;

  constructor(options: HttpDoorOptions) {
    this.#options = options;
    this.#clock = options.clock ?? SYSTEM_CLOCK;
    this.#takes = new Takes(this.#clock);
    this.#routes = this.#createRoutes();
  }

  onRequest(request: IncomingMessage, response: ServerResponse, caller: HttpCaller): Promise<void> {
    return this.serve(new HttpExchange(request, response, caller));
  }

  /** Resolves when the answer is written. */
  async serve(exchange: Exchange): Promise<void> {
    if (this.#options.isLogging()) this.#logWhenDone(exchange);
    try {
      await this.#answer(exchange);
    } catch (error) {
      this.#fail(exchange, error);
    }
  }

  /** Ends all polls with 503; resolves when what was parked is taken over or given back. */
  async drain(): Promise<void> {
    this.#isDraining = true;
    for (const end of this.#watches) end();
    await this.#takes.drain();
  }

  async #answer(exchange: Exchange): Promise<void> {
    const { method, caller, path, query } = exchange;
    const { refusal } = caller;
    if (refusal !== undefined) throw ofRefusal(refusal);
    const routes = Object.hasOwn(this.#routes, path) ? this.#routes[path] : undefined;
    if (routes === undefined) throw new Problem(404, "INVALID_ARGUMENT", NOT_HERE);
    if (method === "OPTIONS") {
      answerPreflight(exchange, routes);
      return;
    }
    const route = Object.hasOwn(routes, method) ? routes[method] : undefined;
    if (route === undefined) {
      const methods = methodsOf(routes);
      const sentence = `${method} is not served here, only ${methods}`;
      throw new Problem(405, "INVALID_ARGUMENT", sentence, { Allow: methods });
    }
    if (this.#isDraining) throw stopping();
    requireSingleHeaders(exchange);
    if (route.takesBody !== true) await exchange.requireNoBody();
    await route.answer(exchange, new Parameters(query, route.parameters));
  }

  /** Answers an exchange that failed. What it throws itself ends the connection. */
  #fail(exchange: Exchange, error: unknown): void {
    const isGone = exchange.isCallerGone;
    // What fails because the caller has left needs no answer.
    if (isGone && isAbort(error)) return;
    const { caller } = exchange;
    const isStranger =
      !caller.isLocal && caller.token === undefined && caller.certifiedName === undefined;
    const problem = problemOf(this.#isDraining ? stoppingOr(error) : error, isStranger);
    if (problem === undefined) this.#options.onInternalError(error);
    if (isGone) return;
    if (exchange.isAnswered) exchange.breakOff();
    else exchange.fail(problem ?? internalError());
  }

  #createRoutes(): Routes {
    const lock: Record<string, Route> = {
      PUT: {
        parameters: new Set(["key", "ttl", "wait", "poll", "mode", "permits", "limit"]),
        answer: (exchange, parameters) => {
          return this.#take(exchange, wishOf(exchange, parameters));
        },
      },
      DELETE: {
        parameters: new Set(["key"]),
        answer: (exchange, parameters) => this.#giveBack(exchange, parameters),
      },
    };
    const read = (parameters: readonly string[], ask: Ask): Record<string, Route> => {
      const route: Route = {
        parameters: new Set(parameters),
        answer: (exchange, given) => this.#read(exchange, given, ask),
      };
      return { GET: route, HEAD: route };
    };
    return {
      "/v1/lock": { ...lock, ...read(["key"], lookAt) },
      "/v1/lock/extend": {
        POST: {
          parameters: new Set(["key", "ttl"]),
          answer: (exchange, parameters) => this.#extend(exchange, parameters),
        },
      },
      "/v1/locks": {
        ...read(["prefix", "after", "limit"], (client, given) => {
          const { after, limit } = { after: given.text("after"), limit: given.integer("limit") };
          return client.keysPage(given.text("prefix") ?? "", { after, limit });
        }),
        POST: {
          parameters: new Set(),
          takesBody: true,
          answer: async (exchange) => {
            await this.#take(exchange, wishInBody(exchange, await exchange.readJson()));
          },
        },
      },
      "/v1/verify": read(["key", "token"], (client, given) => {
        return client.verify(given.requiredText("key"), given.requiredInteger("token"));
      }),
      "/v1/watch": {
        GET: {
          parameters: new Set(["prefix"]),
          answer: (exchange, parameters) => this.#watch(exchange, parameters),
        },
      },
      "/v1/openapi.json": {
        GET: { parameters: new Set(), answer: (exchange) => this.#describe(exchange) },
      },
    };
  }

  async #take(exchange: Exchange, wish: PolledTake): Promise<void> {
    const borrowed = await this.#borrow(exchange);
    await this.#takes.take(exchange, borrowed, wish);
  }

  async #extend(exchange: Exchange, parameters: Parameters): Promise<void> {
    const key = parameters.requiredText("key");
    const ttlMs = reliable(parameters.requiredDuration("ttl"), 1);
    const owner = ownerOf(exchange);
    await this.#use(exchange, async ({ leases }) => {
      const [extended] = await leases.extend(key, { owner, ttlMs });
      assert(extended !== undefined, () => "an extend without a lease");
      exchange.answer(200, extendedBody(extended));
    });
  }

  async #giveBack(exchange: Exchange, parameters: Parameters): Promise<void> {
    const key = parameters.requiredText("key");
    const owner = ownerOf(exchange);
    await this.#use(exchange, async ({ leases }) => {
      const { count, waits, reason = null } = await leases.giveBack(key, { owner });
      const body = { released: count > 0, leftQueue: waits > 0, reason };
      exchange.answer(200, JSON.stringify(body));
    });
  }

  async #read(exchange: Exchange, parameters: Parameters, ask: Ask): Promise<void> {
    await this.#use(exchange, async (client) => {
      exchange.answer(200, JSON.stringify(await ask(client, parameters, exchange)));
    });
  }

  async #watch(exchange: Exchange, parameters: Parameters): Promise<void> {
    const prefix = parameters.text("prefix") ?? "";
    const ending = new AbortController();
    const end = (): void => ending.abort(new DOMException("the watch is over", "AbortError"));
    exchange.ended.addEventListener("abort", end, { once: true });
    if (exchange.ended.aborted) end();
    this.#watches.add(end);
    try {
      await this.#use(exchange, (client) => {
        const shared = { waiting: this.#waitingEvents, clock: this.#clock };
        return watchChanges(exchange, client, prefix, ending.signal, shared);
      });
    } finally {
      this.#watches.delete(end);
    }
  }

  async #describe(exchange: Exchange): Promise<void> {
    const description = this.#options.description();
    if (description === undefined) throw new Problem(404, "INVALID_ARGUMENT", NOT_HERE);
    exchange.answer(200, description);
  }

  async #borrow({ caller }: Exchange): Promise<BorrowedClient> {
    const borrowed = await this.#options.clients.borrow(caller);
    caller.identify(borrowed.identity);
    return borrowed;
  }

  async #use(exchange: Exchange, work: (client: Client) => Promise<void>): Promise<void> {
    const borrowed = await this.#borrow(exchange);
    try {
      await work(borrowed.client);
    } finally {
      borrowed.giveBack();
    }
  }

  #logWhenDone(exchange: Exchange): void {
    const { method, path, caller, headers } = exchange;
    const beganMs = this.#clock.monotonicMs();
    const { traceparent } = headers;
    exchange.whenOver((status) => {
      this.#options.log({
        ...{ method, path, address: caller.address, status },
        tookMs: Math.round(this.#clock.monotonicMs() - beganMs),
        ...(TRACEPARENT.test(String(traceparent)) ? { traceparent } : {}),
      });
    });
  }
}

type Ask = (client: Client, parameters: Parameters, exchange: Exchange) => Promise<object>;

const NOT_HERE =
  "there is nothing here: locks are under /v1/lock and /v1/locks, and /v1/openapi.json describes them";

/** The key, and with an owner the lease that it has. */
async function lookAt(
  client: Client,
  parameters: Parameters,
  { headers }: Exchange,
): Promise<object> {
  const key = parameters.requiredText("key");
  const owner = headerText(headers, "Holdfast-Owner");
  return client.inspect(key, { owner });
}

function requireSingleHeaders(exchange: Exchange): void {
  for (const name of SINGLE_HEADERS) {
    if (exchange.countOf(name) > 1) throw badRequest(`the header ${name} is given twice`);
  }
}

function ownerOf({ headers }: Exchange): string {
  return requiredHeader(headers, "Holdfast-Owner");
}

function wishOf(exchange: Exchange, parameters: Parameters): PolledTake {
  const key = parameters.requiredText("key");
  const mode = parameters.text("mode");
  const permits = parameters.integer("permits");
  const limit = parameters.integer("limit");
  const isPlain =
    permits === undefined && limit === undefined && (mode ?? "exclusive") === "exclusive";
  return {
    ...namesOf(exchange, parameters.duration("wait") ?? 0, parameters.duration("poll")),
    wanted: isPlain ? key : [itemOf({ key, mode, permits, limit })],
    ttlMs: reliable(parameters.requiredDuration("ttl"), 0),
  };
}

const BODY_MEMBERS: ReadonlySet<string> = new Set(["items", "ttl", "wait", "poll"]);
const ITEM_MEMBERS: ReadonlySet<string> = new Set(["key", "mode", "permits", "limit"]);

function wishInBody(exchange: Exchange, body: unknown): PolledTake {
  const { items, ttl, wait = 0, poll } = requireMembers("the body", body, BODY_MEMBERS);
  if (!Array.isArray(items)) throw badRequest("items must be an array of objects with a key");
  if (ttl === undefined) throw badRequest("ttl is missing");
  return {
    ...namesOf(
      exchange,
      durationOf("wait", wait),
      poll === undefined ? undefined : durationOf("poll", poll),
    ),
    wanted: items.map((item) => itemOf(requireMembers("an item", item, ITEM_MEMBERS))),
    ttlMs: reliable(durationOf("ttl", ttl), 0),
  };
}

/**
 * Refuses a lease that nobody could rely on for a moment: the margin for clocks is a tenth of it, at
 * least 250 ms. `least`: 0 where a lease without end may be meant.
 */
function reliable(ttlMs: number, least: 0 | 1): number {
  if (ttlMs > TRUST_MARGIN_MS || (ttlMs === 0 && least === 0)) return ttlMs;
  throw badRequest(
    `ttl is ${ttlMs} ms, of which nothing can be relied on: the margin for clocks is ` +
      `${TRUST_MARGIN_MS} ms; a number without a unit is in milliseconds, so write 30s for seconds`,
  );
}

function namesOf({ headers }: Exchange, waitMs: number, pollMs: number | undefined) {
  const request = headerText(headers, "Idempotency-Key");
  if (waitMs > 0 && request === undefined) {
    throw badRequest(
      "a request that waits needs an Idempotency-Key: only a repeat keeps its place",
    );
  }
  if (pollMs !== undefined && pollMs < POLL_MS_MIN) {
    throw badRequest(`poll must be at least ${POLL_MS_MIN} ms`);
  }
  const name = headerText(headers, "Holdfast-Name");
  return { owner: requiredHeader(headers, "Holdfast-Owner"), request, name, waitMs, pollMs };
}

function requireMembers(
  what: string,
  value: unknown,
  known: ReadonlySet<string>,
): Readonly<Record<string, unknown>> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw badRequest(`${what} must be an object`);
  }
  for (const name of Object.keys(value)) {
    if (!known.has(name)) throw badRequest(`${what} has ${JSON.stringify(name.slice(0, 50))}`);
  }
  return value as Readonly<Record<string, unknown>>;
}

/** The SDK checks the values. A limit without permits means one permit. */
function itemOf({ key, mode, permits, limit }: Readonly<Record<string, unknown>>): WantedItem {
  const item =
    permits === undefined && limit === undefined
      ? { key, mode }
      : { key, mode, permits: permits ?? 1, limit };
  return item as WantedItem;
}

function answerPreflight(exchange: Exchange, routes: Readonly<Record<string, Route>>): void {
  const methods = methodsOf(routes);
  const isOfPage = exchange.headers.origin !== undefined;
  exchange.answerEmpty(204, [
    ...["Allow", methods],
    ...(isOfPage
      ? [
          ...["Access-Control-Allow-Methods", methods],
          ...["Access-Control-Allow-Headers", REQUEST_HEADERS],
          ...["Access-Control-Max-Age", PREFLIGHT_SECONDS],
        ]
      : []),
  ]);
}

function methodsOf(routes: Readonly<Record<string, Route>>): string {
  return [...Object.keys(routes), "OPTIONS"].join(", ");
}

function ofRefusal({ status, code, text }: HttpRefusal): Problem {
  return new Problem(status, code, text, status === 503 ? { Connection: "close" } : {});
}

/** What fails because its client was closed, or it was aborted, fails because the node stops. */
function stoppingOr(error: unknown): unknown {
  const isClosed = error instanceof HoldfastError && error.code === "CANCELLED";
  return isClosed || isAbort(error) ? stopping() : error;
}

function isAbort(error: unknown): boolean {
  return error instanceof Error && error.name === "AbortError";
}
