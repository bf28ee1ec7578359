/**
 * A real Prometheus for a test: on a free port of the loopback interface, with its data in a
 * directory of its own, ended with the test. It runs the alert rules of `deploy` with all times a
 * sixtieth as long and with the thresholds as they are; nothing else of them is changed.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { findCommand } from "../../lab/find-command.js";
import { freePorts } from "../../lab/free-ports.js";
import { ServerProcess } from "../../lab/server-process.js";

export const RULES = "deploy/prometheus/alerts.yml";
export const CONFIG = "deploy/prometheus/prometheus.yml";
/** Times of the rules are divided by this. */
const HASTE = 60;
/** Fewer scrapes than these say nothing about a rate. */
const RANGE_SECONDS_MIN = 4;
const STOP_MS_MAX = 10_000;
const START = { msMax: 30_000, intervalMs: 50 };
const FIRING_MS_MAX = 45_000;
const POLL_INTERVAL_MS = 200;

const SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: 86_400 };

export interface ScrapeTarget {
  /** `host:port`. */
  readonly addresses: readonly string[];
  /** Further lines of the job, as in `scrape_configs`. */
  readonly further?: string;
}

export interface Alert {
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly state: "pending" | "firing";
}

export interface Rule {
  readonly name: string;
  readonly query: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

export interface Sample {
  readonly metric: Readonly<Record<string, string>>;
  readonly value: readonly [timeSeconds: number, value: string];
}

/** The path of a program of Prometheus; `undefined`: it is not there, and says so. */
export function prometheusProgram(name: "prometheus" | "promtool"): string | undefined {
  const file = findCommand(name);
  if (file === undefined) {
    process.stderr.write(
      `\n!!! ${name} is NOT installed (Debian: apt-get install prometheus): what is tested with it is SKIPPED\n\n`,
    );
  }
  return file;
}

/** The rules with `for`, ranges and offsets a sixtieth as long. */
function quickRules(): string {
  const shortened =
    (minimum: number) =>
    (_: string, before: string, number: string, unit = "s") =>
      `${before}${Math.max(minimum, Math.round((Number(number) * (SECONDS[unit] ?? 1)) / HASTE))}s`;
  return readFileSync(RULES, "utf8")
    .replace(/(for: )(\d+)([smhd])/g, shortened(1))
    .replace(/(offset )(\d+)([smhd])/g, shortened(RANGE_SECONDS_MIN))
    .replace(/(\[)(\d+)([smhd])/g, shortened(RANGE_SECONDS_MIN));
}

export class PrometheusServer implements AsyncDisposable {
  readonly #process: ServerProcess;
  readonly #url: string;
  readonly #directory: string;

  private constructor(process: ServerProcess, url: string, directory: string) {
    this.#process = process;
    this.#url = url;
    this.#directory = directory;
  }

  /** Resolves when it answers. */
  static async start(program: string, target: ScrapeTarget): Promise<PrometheusServer> {
    const directory = mkdtempSync(join(tmpdir(), "holdfast-prometheus-"));
    writeFileSync(join(directory, "alerts.yml"), quickRules());
    writeFileSync(join(directory, "prometheus.yml"), configOf(target));
    const [port] = await freePorts(1);
    const server = new ServerProcess({
      name: "prometheus",
      command: [
        program,
        `--config.file=${join(directory, "prometheus.yml")}`,
        `--storage.tsdb.path=${join(directory, "data")}`,
        `--web.listen-address=127.0.0.1:${port}`,
      ],
    });
    const started = new PrometheusServer(server, `http://127.0.0.1:${port}`, directory);
    server.start();
    try {
      await server.answers(() => started.#isReady(), START);
    } catch (error) {
      await started.stop();
      throw error;
    }
    return started;
  }

  /** The samples of an instant query. */
  async query(expression: string): Promise<readonly Sample[]> {
    const { result } = (await this.#get(`query?query=${encodeURIComponent(expression)}`)) as {
      readonly result: readonly Sample[];
    };
    return result;
  }

  /** Pending and firing. */
  async alerts(): Promise<readonly Alert[]> {
    const { alerts } = (await this.#get("alerts")) as { readonly alerts: readonly Alert[] };
    return alerts;
  }

  async rules(): Promise<readonly Rule[]> {
    const { groups } = (await this.#get("rules")) as {
      readonly groups: readonly { readonly rules: readonly Rule[] }[];
    };
    return groups.flatMap(({ rules }) => rules);
  }

  async firing(): Promise<string[]> {
    const firing = (await this.alerts()).filter(({ state }) => state === "firing");
    return [...new Set(firing.map(({ labels }) => labels["alertname"] ?? ""))].sort();
  }

  /** Resolves when alerts of all these names fire; `cause` is repeated until then. */
  async untilFiring(names: readonly string[], cause: () => unknown = () => {}): Promise<void> {
    await this.until(`${names.join(", ")} to fire`, async () => {
      await cause();
      const firing = await this.firing();
      return names.every((name) => firing.includes(name));
    });
  }

  /** Resolves when the alert fires for the node at `address`. */
  async untilFiringFor(address: string, name: string): Promise<void> {
    await this.until(`${name} to fire for ${address}`, async () =>
      (await this.alerts()).some(({ state, labels }) => {
        const { alertname, instance } = labels;
        return state === "firing" && alertname === name && instance === address;
      }),
    );
  }

  /** Resolves when `isSo` says so; rejects with what is the case instead if that takes too long. */
  async until(what: string, isSo: () => Promise<boolean>): Promise<void> {
    const deadlineMs = performance.now() + FIRING_MS_MAX;
    while (!(await isSo())) {
      if (performance.now() > deadlineMs) {
        const alerts = (await this.alerts()).map(({ labels, state }) => ({ state, ...labels }));
        throw new Error(`waited in vain for ${what}; alerts: ${JSON.stringify(alerts, null, 1)}`);
      }
      await delay(POLL_INTERVAL_MS);
    }
  }

  async stop(): Promise<void> {
    await this.#process.stop(STOP_MS_MAX);
    rmSync(this.#directory, { recursive: true, force: true });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  async #isReady(): Promise<boolean> {
    return fetch(`${this.#url}/-/ready`).then(
      ({ status }) => status === 200,
      () => false,
    );
  }

  async #get(path: string): Promise<unknown> {
    const response = await fetch(`${this.#url}/api/v1/${path}`);
    const body = (await response.json()) as { status: string; data: unknown; error?: string };
    if (body.status !== "success") throw new Error(`${path}: ${body.error}`);
    return body.data;
  }
}

function configOf({ addresses, further = "" }: ScrapeTarget): string {
  return [
    "global: { scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 500ms }",
    "rule_files: [alerts.yml]",
    "scrape_configs:",
    "  - job_name: holdfast",
    `    static_configs: [{ targets: ${JSON.stringify(addresses)}, labels: { cluster: tested } }]`,
    ...further.split("\n").map((line) => `    ${line}`),
    "",
  ].join("\n");
}
