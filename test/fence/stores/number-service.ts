/** A service that keeps two numbers in memory, and one of them behind a gate. */
import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { fenceRequests, Gate } from "../../../src/fence/index.js";

export interface NumberService extends AsyncDisposable {
  readonly url: string;
}

export async function startNumberService(): Promise<NumberService> {
  const gate = new Gate({ name: "number" });
  const numbers: Record<string, number> = { fenced: 0, bare: 0 };
  const fence = fenceRequests<IncomingMessage>({
    gateOf: ({ method, url }) => (method === "PUT" && url === "/fenced" ? gate : undefined),
  });
  const server = createServer((request, response) => {
    fence(request, response, async (error) => {
      if (error !== undefined) response.writeHead(500).end();
      else if (request.method === "GET") response.end(JSON.stringify(numbers));
      else {
        let body = "";
        for await (const part of request) body += part;
        numbers[request.url?.slice(1) ?? ""] = Number(body);
        response.end();
      }
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
