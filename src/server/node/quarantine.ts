/**
 * A node whose files are not what it wrote. It keeps them as they are, votes for no one,
 * acknowledges nothing and serves no clients, because the lost part may contain what it promised to
 * the others. It only shows its pages, until an operator restores it from the others (`holdfast
 * recover`).
 */
import type { DamageReport } from "../../storage/index.js";
import type { RunningNode } from "../options.js";
import type { NodeTls } from "./node-tls.js";
import type { ResolvedOptions } from "./resolve-options.js";
import { StandbyPages } from "./standby-pages.js";

const METRICS =
  "# HELP holdfast_quarantined Whether the data of this node are damaged.\n" +
  "# TYPE holdfast_quarantined gauge\nholdfast_quarantined 1\n";

/**
 * Resolves when the pages can be read. Rejects with `UNAVAILABLE` if the address is not available.
 */
export async function startQuarantined(
  options: ResolvedOptions,
  clusterId: string,
  tls: NodeTls | undefined,
  damage: DamageReport,
): Promise<RunningNode> {
  const { id, dataDirectory, log } = options;
  const pages = new StandbyPages(options, clusterId, tls?.transport, {
    role: "quarantined",
    why: `quarantined: ${damage.file}: ${damage.reason}`,
    closeReason: "this node is quarantined",
    details: { damage },
    metrics: METRICS,
  });
  await pages.start();
  log("error", "quarantined: the data are damaged, this node takes part in nothing", {
    id,
    ...damage,
    recover: `holdfast recover --id ${id} --data ${dataDirectory} --endpoints ENDPOINTS`,
  });
  return new QuarantinedNode(id, pages, tls);
}

class QuarantinedNode implements RunningNode {
  readonly id: number;
  readonly endpoint: string;
  readonly peerPort = 0;
  readonly redisPort = 0;
  readonly redisSentinelPort = 0;
  readonly ended: Promise<undefined>;
  readonly #pages: StandbyPages;
  readonly #tls: NodeTls | undefined;
  #end: (nothing: undefined) => void = () => {};
  #stopping: Promise<void> | undefined;

  constructor(id: number, pages: StandbyPages, tls: NodeTls | undefined) {
    this.id = id;
    this.endpoint = pages.endpoint;
    this.#pages = pages;
    this.#tls = tls;
    this.ended = new Promise((resolve) => {
      this.#end = resolve;
    });
  }

  get clientPort(): number {
    return this.#pages.port;
  }

  async reloadTls(): Promise<void> {
    await this.#tls?.reload();
  }

  stop(): Promise<void> {
    this.#stopping ??= this.#pages.close().then(() => {
      this.#tls?.close();
      this.#end(undefined);
    });
    return this.#stopping;
  }
}
