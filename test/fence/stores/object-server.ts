/**
 * A small object store over HTTP with the conditional writes of S3: `If-Match` and
 * `If-None-Match: *` on PUT, answered with 412, checked and written in one step. Its ETag is what
 * S3's is, a hash of the content alone.
 */
import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface ObjectServer extends AsyncDisposable {
  readonly url: string;
  /** How many writes were refused for their condition. */
  readonly refused: number;
}

interface Stored {
  readonly body: Buffer;
  readonly etag: string;
}

/** `ignoresConditions`: as some stores do, without a word. */
export async function startObjectServer(
  options: { ignoresConditions?: boolean } = {},
): Promise<ObjectServer> {
  const objects = new Map<string, Stored>();
  let refused = 0;
  const server = createServer((request, response) => {
    answer(request, response).catch(() => response.destroy());
  });

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = request.url ?? "/";
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part);
    const found = objects.get(path);
    if (request.method === "GET") {
      if (found === undefined) response.writeHead(404).end();
      else response.writeHead(200, { etag: found.etag }).end(found.body);
    } else if (request.method !== "PUT") {
      response.writeHead(405).end();
    } else if (options.ignoresConditions !== true && !holds(request, found)) {
      refused += 1;
      const isGone = found === undefined;
      response.writeHead(isGone ? 404 : 412).end();
    } else {
      const body = Buffer.concat(parts);
      const etag = `"${createHash("md5").update(body).digest("hex")}"`;
      objects.set(path, { body, etag });
      response.writeHead(200, { etag }).end();
    }
  }

  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/bucket`,
    get refused() {
      return refused;
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

function holds({ headers }: IncomingMessage, found: Stored | undefined): boolean {
  if (headers["if-none-match"] === "*") return found === undefined;
  return headers["if-match"] === undefined || headers["if-match"] === found?.etag;
}
