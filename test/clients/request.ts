/** What a request to the HTTP door says, however a client wrote it: in its query or in its body. */
import type { IncomingMessage } from "node:http";
import type { Asked } from "./transcript.js";

export interface ReadRequest {
  readonly asks: Asked | undefined;
  readonly keys: readonly string[];
  readonly ttlMs: number | undefined;
  readonly waitMs: number | undefined;
  /** What is asked for in the first key. */
  readonly item: Readonly<Record<string, unknown>>;
  readonly owner: string | undefined;
  readonly request: string | undefined;
  readonly authorization: string | undefined;
  /** For a watch. */
  readonly prefix: string | null;
  readonly lastEventId: string | undefined;
}

const ASKED: Readonly<Record<string, Asked>> = {
  "PUT /v1/lock": "take",
  "POST /v1/locks": "take",
  "POST /v1/lock/extend": "extend",
  "DELETE /v1/lock": "giveBack",
  "GET /v1/lock": "look",
  "GET /v1/watch": "watch",
};

export async function readRequest(message: IncomingMessage): Promise<ReadRequest> {
  const { pathname, searchParams } = new URL(message.url ?? "", "http://node");
  const pieces: Buffer[] = [];
  for await (const piece of message as AsyncIterable<Buffer>) pieces.push(piece);
  const text = Buffer.concat(pieces).toString();
  const body = (text === "" ? {} : JSON.parse(text)) as { items?: Record<string, unknown>[] };
  const query = Object.fromEntries(searchParams);
  const { ttl, wait, ...item } = { ...query, ...body } as Record<string, unknown>;
  const items = body.items ?? [item];
  const { headers } = message;
  return {
    asks: ASKED[`${message.method} ${pathname}`],
    keys: items.map(({ key }) => String(key)),
    ttlMs: millisecondsOf(ttl),
    waitMs: millisecondsOf(wait),
    item: Object.fromEntries(
      Object.entries(items[0] ?? {}).map(([name, value]) => [
        name,
        name === "mode" || name === "key" ? value : Number(value),
      ]),
    ),
    owner: headers["holdfast-owner"] as string | undefined,
    request: headers["idempotency-key"] as string | undefined,
    authorization: headers.authorization,
    prefix: searchParams.get("prefix"),
    lastEventId: headers["last-event-id"] as string | undefined,
  };
}

/** Clients send whole milliseconds, or whole seconds. */
function millisecondsOf(value: unknown): number | undefined {
  if (value === undefined) return undefined;
  const [, number, unit] = /^(\d+)(s?)$/.exec(String(value)) ?? [];
  return Number(number) * (unit === "s" ? 1_000 : 1);
}
