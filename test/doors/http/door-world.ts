/** Real nodes in this process, and requests to their HTTP doors. */
import { mkdtempSync, rmSync } from "node:fs";
import { type Agent, type IncomingHttpHeaders, request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, vi } from "vitest";
import { freePorts } from "../../../lab/free-ports.js";
import { type NodeOptions, type RunningNode, startNode } from "../../../src/server/index.js";

const LOOPBACK = "127.0.0.1";

export interface DoorAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** The JSON of the text. */
  // biome-ignore lint/suspicious/noExplicitAny: tests compare what they expect.
  readonly body: any;
}

export interface DoorCall {
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly signal?: AbortSignal;
  /** `unix:`-style path of a socket, in place of the port. */
  readonly socketPath?: string;
}

/** Sends one request, as written: no library adds or follows anything. */
function ask(
  port: number,
  method: string,
  path: string,
  { headers = {}, body, signal, socketPath }: DoorCall = {},
  agent?: Agent,
): Promise<DoorAnswer> {
  return new Promise((resolve, reject) => {
    const where = socketPath === undefined ? { host: LOOPBACK, port } : { socketPath };
    const sent = request({ ...where, method, path, headers, signal, agent }, (response) => {
      const pieces: Buffer[] = [];
      response.on("data", (piece: Buffer) => pieces.push(piece));
      response.on("error", reject);
      response.on("end", () => {
        const text = Buffer.concat(pieces).toString("utf8");
        const isJson = /json/.test(String(response.headers["content-type"])) && text !== "";
        const { statusCode: status = 0, headers } = response;
        resolve({ status, headers, text, body: isJson ? JSON.parse(text) : undefined });
      });
    });
    sent.on("error", reject);
    sent.end(body);
  });
}

export class DoorWorld {
  readonly directory = mkdtempSync(join(tmpdir(), "holdfast-door-"));
  readonly logged: { readonly event: string; readonly fields: object }[] = [];
  nodes: RunningNode[] = [];

  /** Starts the nodes of a new cluster, and waits until they serve. */
  static async start(count = 1, options: Partial<NodeOptions> = {}): Promise<DoorWorld> {
    const world = new DoorWorld();
    await world.add(count, options);
    await Promise.all(world.nodes.map(({ clientPort }) => untilReady(clientPort)));
    return world;
  }

  /** Starts the nodes. */
  async add(count: number, options: Partial<NodeOptions>): Promise<void> {
    const peerPorts = await freePorts(count);
    const founders = peerPorts.map((port, i) => {
      return { id: i + 1, address: { host: LOOPBACK, port } };
    });
    this.nodes = await Promise.all(
      founders.map(({ id, address }) => {
        return startNode({
          ...{ id, peerListen: address, initialCluster: founders },
          ...{ dataDirectory: join(this.directory, `n${id}`), listen: { host: LOOPBACK, port: 0 } },
          log: (_level, event, fields = {}) => this.logged.push({ event, fields }),
          ...options,
        });
      }),
    );
  }

  port(id = 1): number {
    return this.nodes[id - 1]?.clientPort ?? 0;
  }

  ask(method: string, path: string, call?: DoorCall, id = 1): Promise<DoorAnswer> {
    return ask(this.port(id), method, path, call);
  }

  take(key: string, owner: string, query = "ttl=30s", call: DoorCall = {}, id = 1) {
    const headers = { "Holdfast-Owner": owner, "Idempotency-Key": `of ${owner}`, ...call.headers };
    const path = `/v1/lock?key=${encodeURIComponent(key)}&${query}`;
    return this.ask("PUT", path, { ...call, headers }, id);
  }

  giveBack(key: string, owner: string, id = 1): Promise<DoorAnswer> {
    const path = `/v1/lock?key=${encodeURIComponent(key)}`;
    return this.ask("DELETE", path, { headers: { "Holdfast-Owner": owner } }, id);
  }

  /** Resolves when `count` requests wait for the key. */
  async waiting(key: string, count: number): Promise<void> {
    await vi.waitFor(
      async () => {
        const { body } = await this.ask("GET", `/v1/lock?key=${encodeURIComponent(key)}`);
        expect(body.waiters).toHaveLength(count);
      },
      { timeout: 20_000, interval: 20 },
    );
  }

  async stop(): Promise<void> {
    await Promise.all(this.nodes.map((node) => node.stop()));
    rmSync(this.directory, { recursive: true, force: true });
  }
}

async function untilReady(port: number): Promise<void> {
  await vi.waitFor(
    async () => {
      expect((await ask(port, "GET", "/readyz")).status).toBe(200);
    },
    { timeout: 20_000, interval: 20 },
  );
}
