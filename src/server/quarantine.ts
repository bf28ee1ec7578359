/**
 * A node whose files are not what it wrote. It keeps them as they are, votes for nobody, acknowledges
 * nothing and serves nobody: what it promised to the others may be in what was lost. It is there to be
 * seen, until an operator brings it back from the others (`holdfast recover`).
 */
import { createGateway, type GatewayEvents, type HttpAnswer } from "../net/index.js";
import type { DamageReport } from "../storage/index.js";
import type { RunningNode } from "./options.js";
import { formatAddress, type ResolvedOptions } from "./resolve-options.js";
import { VERSION } from "./version.js";

const CLOSE_TRY_AGAIN = 1013;
const NOBODY_IS_SERVED: GatewayEvents = Object.freeze({
  onConnection: (connection) => connection.close(CLOSE_TRY_AGAIN, "this node is quarantined"),
  onAttach: () => {},
  onCommand: () => {},
  onQuery: () => {},
  onOperation: () => {},
  onClosed: () => {},
} satisfies GatewayEvents);

/** Resolves when the pages can be read. Rejects with `UNAVAILABLE` when the address cannot be had. */
export async function startQuarantined(
  options: ResolvedOptions,
  clusterId: string,
  damage: DamageReport,
): Promise<RunningNode> {
  const { id, listen, allowedHosts, advertise, dataDirectory, log } = options;
  const gateway = createGateway({ listen, allowedHosts });
  const endpoint = (): string =>
    advertise ?? `ws://${formatAddress({ host: listen.host, port: gateway.port })}`;
  const status = (): object => ({
    id,
    role: "quarantined",
    damage,
    clusterId,
    endpoint: endpoint(),
    version: VERSION,
    pid: process.pid,
    incarnation: 0,
    term: 0,
    leader: 0,
    commitIndex: 0,
    appliedIndex: 0,
    uptimeMs: Math.floor(process.uptime() * 1_000),
    connections: 0,
    sessions: 0,
    keys: 0,
    holds: 0,
    waiters: 0,
    peers: [],
    members: [],
  });
  await gateway.start(NOBODY_IS_SERVED, (path) => pageOf(path, status, damage));
  gateway.drain();
  log("error", "quarantined: the data are damaged, this node takes part in nothing", {
    id,
    ...damage,
    recover: `holdfast recover --id ${id} --data ${dataDirectory} --endpoints ENDPOINTS`,
  });
  return new QuarantinedNode(id, endpoint(), gateway);
}

class QuarantinedNode implements RunningNode {
  readonly id: number;
  readonly endpoint: string;
  readonly peerPort = 0;
  readonly ended: Promise<undefined>;
  readonly #gateway: ReturnType<typeof createGateway>;
  #end: (nothing: undefined) => void = () => {};
  #stopping: Promise<void> | undefined;

  constructor(id: number, endpoint: string, gateway: ReturnType<typeof createGateway>) {
    this.id = id;
    this.endpoint = endpoint;
    this.#gateway = gateway;
    this.ended = new Promise((resolve) => {
      this.#end = resolve;
    });
  }

  get clientPort(): number {
    return this.#gateway.port;
  }

  stop(): Promise<void> {
    this.#stopping ??= this.#gateway.close().then(() => this.#end(undefined));
    return this.#stopping;
  }
}

function pageOf(path: string, status: () => object, { file, reason }: DamageReport): HttpAnswer {
  const text = "text/plain; charset=utf-8";
  const why = `quarantined: ${file}: ${reason}\n`;
  switch (path) {
    case "/":
    case "/livez":
      return { status: 200, contentType: text, body: path === "/" ? why : "ok\n" };
    case "/readyz":
      return { status: 503, contentType: text, body: why };
    case "/status":
      return {
        status: 200,
        contentType: "application/json",
        body: `${JSON.stringify(status())}\n`,
      };
    case "/metrics":
      return {
        status: 200,
        contentType: "text/plain; version=0.0.4; charset=utf-8",
        body:
          "# HELP holdfast_quarantined Whether the data of this node are damaged.\n" +
          "# TYPE holdfast_quarantined gauge\nholdfast_quarantined 1\n",
      };
    default:
      return { status: 404, contentType: text, body: "not found\n" };
  }
}
