/**
 * The way of HTTP requests to the door that answers them: who sends them, and whether they may enter.
 * A socket takes the place of a client with its first request, and leaves it when it is closed. Its
 * requests come one after the other (`request-turns.ts`), so the limits on places are limits on
 * requests at a time, all together and of each address.
 *
 * It must not answer for the door: the door itself refuses, in the form of its other answers.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { ClientCertificates } from "../gateway/client-certificates.js";
import type { ClientPlaces } from "../gateway/client-places.js";
import { addressGroup } from "../gateway/socket-limits.js";
import type { RequestRefusal } from "../listen.js";
import type { MeteredInput } from "../meter/metered-input.js";
import type { HttpDoor, InProcessCaller } from "../types.js";
import { bearerOf, isDoorPath, judgeHost, judgePageOfDoor } from "./http.js";
import type { KnownHosts } from "./known-hosts.js";

export interface DoorEntranceParts {
  readonly door: HttpDoor;
  readonly places: ClientPlaces;
  readonly knownHosts: KnownHosts;
  /** Origins of pages that may ask the door. */
  readonly allowedOrigins: readonly string[];
  readonly onRefused: (refusal: RequestRefusal) => void;
}

export class DoorEntrance {
  readonly #parts: DoorEntranceParts;
  /** Sockets that have a place. */
  readonly #callers = new WeakMap<Socket, InProcessCaller>();

  constructor(parts: DoorEntranceParts) {
    this.#parts = parts;
  }

  /**
   * Takes a request to the door, and returns its answer. `undefined`: it is not for the door.
   * `certificates`: `undefined` without TLS; `input`: by which it came.
   */
  take(
    request: IncomingMessage,
    response: ServerResponse,
    certificates: ClientCertificates | undefined,
    input: MeteredInput | undefined,
  ): Promise<void> | undefined {
    if (!isDoorPath(request.url)) return undefined;
    const { socket } = request;
    const known = this.#callers.get(socket);
    const caller = known ?? callerOf(socket, certificates);
    const problem =
      certificates?.judgeClient(socket) ??
      (known === undefined ? this.#refusalOfPlace(socket, caller) : undefined);
    const refusal = this.#judge(request, problem);
    return this.#parts.door.onRequest(request, response, {
      ...caller,
      token: bearerOf(request),
      refusal,
      identify: (identity) => input?.identify(identity),
    });
  }

  /** As `take`, for a request that came through the local socket, where there is always a place. */
  takeLocal(request: IncomingMessage, response: ServerResponse): Promise<void> | undefined {
    if (!isDoorPath(request.url)) return undefined;
    return this.#parts.door.onRequest(request, response, {
      ...{ address: "", certifiedName: undefined, token: undefined },
      ...{ isEncrypted: false, isLocal: true },
      refusal: this.#judge(request, undefined),
      identify: () => {},
    });
  }

  #judge(
    request: IncomingMessage,
    problem: RequestRefusal | undefined,
  ): RequestRefusal | undefined {
    const { knownHosts, allowedOrigins, onRefused } = this.#parts;
    const refusal =
      problem ?? judgeHost(request, knownHosts) ?? judgePageOfDoor(request, allowedOrigins);
    if (refusal !== undefined) onRefused(refusal);
    return refusal;
  }

  #refusalOfPlace(socket: Socket, caller: InProcessCaller): RequestRefusal | undefined {
    const { places } = this.#parts;
    const full = places.refuse(caller.address);
    if (full !== undefined) return { status: 503, code: "BUSY", text: full };
    this.#callers.set(socket, caller);
    places.take(caller.address);
    socket.once("close", () => places.leave(caller.address));
    return undefined;
  }
}

function callerOf(socket: Socket, certificates: ClientCertificates | undefined): InProcessCaller {
  return {
    address: addressGroup(socket.remoteAddress),
    certifiedName: certificates?.nameOf(socket),
    isEncrypted: certificates !== undefined,
    isLocal: false,
  };
}
