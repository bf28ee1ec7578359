/**
 * Connections of one client process to the Redis port of each node, for commands whose outcome has to be
 * known: nothing is sent twice, and nothing is sent later than it was asked for. An error of the node
 * says that the command was certainly not carried out; without a reply nobody knows.
 */
import type { Redis } from "ioredis";
import { HoldfastError } from "../../sdk.js";

const RECONNECT_MS = 50;
/** The node cannot serve now, has no room, or is busy. */
const REFUSED = /^(READONLY|OOM|TRYAGAIN|LOADING)\b/;

export interface RedisNodesParts {
  /** `host:port` of each node. */
  readonly endpoints: readonly string[];
  readonly accessToken: string | undefined;
  /** How long a reply may take. */
  readonly answerMs: number;
}

export class RedisNodes {
  readonly #redis: readonly Redis[];

  private constructor(redis: readonly Redis[]) {
    this.#redis = redis;
  }

  static async connect({ endpoints, accessToken, answerMs }: RedisNodesParts): Promise<RedisNodes> {
    const { Redis } = await import("ioredis");
    const redis = endpoints.map((endpoint) => {
      const [host = "", port] = endpoint.split(":");
      const each = new Redis({
        host,
        port: Number(port),
        ...(accessToken === undefined ? {} : { password: accessToken }),
        commandTimeout: answerMs,
        connectTimeout: answerMs,
        enableOfflineQueue: false,
        maxRetriesPerRequest: 0,
        autoResendUnfulfilledCommands: false,
        retryStrategy: () => RECONNECT_MS,
      });
      each.on("error", () => undefined);
      return each;
    });
    return new RedisNodes(redis);
  }

  /** The numbers of the nodes that can be asked now; all of them if there is none. */
  get ready(): readonly number[] {
    const all = [...this.#redis.keys()];
    const ready = all.filter((node) => this.#redis[node]?.status === "ready");
    return ready.length > 0 ? ready : all;
  }

  async send(node: number, command: string, ...words: readonly (string | number)[]) {
    const redis = this.#redis[node];
    if (redis?.status !== "ready") throw notCarriedOut("no connection", false);
    try {
      return (await redis.call(command, ...words)) as unknown;
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      const isReply = error instanceof Error && error.name === "ReplyError";
      if (isReply && !REFUSED.test(why)) throw error;
      throw notCarriedOut(why, !isReply);
    }
  }
}

function notCarriedOut(why: string, indeterminate: boolean): HoldfastError {
  return new HoldfastError("UNAVAILABLE", why, { details: { indeterminate } });
}
