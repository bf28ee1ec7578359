/**
 * The files of `deploy` against what reads them and what they name: `promtool`, a real Prometheus that
 * scrapes three real nodes over TLS, the metrics that these nodes serve, and the documents.
 */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createSecureContext } from "node:tls";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createAuthority, issueNodeCertificate } from "../../src/certificates/index.js";
import { readPage } from "../../src/reach/read-page.js";
import { anchorsOf, read } from "../docs/pages.js";
import { type ClusterProcess, startCluster } from "../e2e/world/cluster-process.js";
import { CONFIG, PrometheusServer, prometheusProgram, RULES } from "./prometheus-server.js";

const PROMETHEUS = prometheusProgram("prometheus");
const PROMTOOL = prometheusProgram("promtool");
const BOARD = "deploy/grafana/holdfast.json";
const PAGE = "docs/operating/monitoring.md";
const IDS = [1, 2, 3];
/** Served only by a node that does not take part; that they are is seen by the alerts of them. */
const OF_STANDBY = ["holdfast_waiting_for_room", "holdfast_quarantined"];
/** What there is only after something was refused. */
const ABSENT_WHEN_WELL = ["holdfast_auth_refusals_total"];

interface Panel {
  readonly id: number;
  readonly title: string;
  readonly type: string;
  readonly description?: string;
  readonly targets?: readonly { readonly expr: string }[];
  readonly gridPos: {
    readonly x: number;
    readonly y: number;
    readonly w: number;
    readonly h: number;
  };
}

interface Board {
  readonly panels: readonly Panel[];
  readonly annotations: { readonly list: readonly { readonly expr?: string }[] };
}

const board = JSON.parse(read(BOARD)) as Board;
const shown = board.panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
const boardExpressions = [
  ...shown,
  ...board.annotations.list.flatMap(({ expr }) => (expr === undefined ? [] : [expr])),
];

/** As Grafana would send it, of all clusters and nodes. */
function asked(expression: string): string {
  return expression
    .replaceAll("$__rate_interval", "5s")
    .replace(/\[(1h|15m|5m|1m)\]/g, "[5s]")
    .replaceAll(/\$(cluster|instance)/g, ".*");
}

/** Without the endings that the samples of a histogram have. */
function metricsIn(expression: string, served: ReadonlySet<string>): string[] {
  return Array.from(expression.matchAll(/\b(?:holdfast|process|nodejs)_\w+/g), ([name]) => {
    const base = name.replace(/_(bucket|sum|count)$/, "");
    return served.has(name) ? name : base;
  });
}

const promtool = (args: readonly string[], input = ""): string =>
  execFileSync(PROMTOOL as string, args, { input, encoding: "utf8" });

describe.skipIf(PROMTOOL === undefined)("promtool", () => {
  test("finds nothing wrong with the rules and the example", () => {
    expect(promtool(["check", "rules", RULES])).toContain("SUCCESS");
    expect(promtool(["check", "config", CONFIG])).toContain("SUCCESS");
  });

  test("reads every expression of the board", () => {
    const directory = mkdtempSync(join(tmpdir(), "holdfast-board-"));
    const rules = boardExpressions.map((expression, at) => {
      return { record: `board:${at}`, expr: asked(expression) };
    });
    const file = join(directory, "board.yml");
    // JSON is YAML.
    writeFileSync(file, JSON.stringify({ groups: [{ name: "board", rules }] }));
    expect(promtool(["check", "rules", file])).toContain(`SUCCESS: ${rules.length} rules found`);
    rmSync(directory, { recursive: true });
  });
});

test("the panels of the board have numbers and places of their own, and none is without a title", () => {
  const { panels } = board;
  expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
  const places = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
    Array.from({ length: w * h }, (_, at) => `${x + (at % w)},${y + Math.floor(at / w)}`),
  );
  expect(new Set(places).size).toBe(places.length);
  for (const { title } of panels) expect(title).not.toBe("");
});

describe.skipIf(PROMETHEUS === undefined || PROMTOOL === undefined)("three nodes with TLS", () => {
  let directory: string;
  let cluster: ClusterProcess;
  let prometheus: PrometheusServer;
  let page: string;
  let served: ReadonlySet<string>;

  beforeAll(async () => {
    directory = mkdtempSync(join(tmpdir(), "holdfast-deployed-"));
    const authority = createAuthority({ name: "authority", days: 30 });
    const ca = join(directory, "ca.crt");
    writeFileSync(ca, authority.certificatePem);
    for (const nodeId of IDS) {
      const host = { cluster: "prod", nodeId, hosts: ["127.0.0.1"], days: 30 };
      const { certificatePem, keyPem } = issueNodeCertificate(authority, host);
      mkdirSync(join(directory, `${nodeId}`));
      writeFileSync(join(directory, `${nodeId}`, "crt"), certificatePem);
      writeFileSync(join(directory, `${nodeId}`, "key"), keyPem);
    }
    const secureContext = createSecureContext({ ca: authority.certificatePem });
    const tls = { secureContext, hasCertificate: false };
    cluster = await startCluster({
      serverArguments: [
        "--audit",
        "--cluster-name=prod",
        `--tls-ca=${ca}`,
        "--redis-listen=127.0.0.1:0",
      ],
      argumentsOf: (id) => [
        `--tls-cert=${join(directory, `${id}`, "crt")}`,
        `--tls-key=${join(directory, `${id}`, "key")}`,
      ],
      tls,
    });
    prometheus = await PrometheusServer.start(PROMETHEUS as string, {
      addresses: cluster.endpoints.map((endpoint) => new URL(endpoint).host),
      further: `scheme: https\ntls_config: { ca_file: ${ca} }`,
    });
    await prometheus.until("three scrapes of each node", async () => {
      const scraped = await prometheus.query("count_over_time((up == 1)[1h:1s]) >= 3");
      return scraped.length === IDS.length;
    });
    // Not before: some are measured over a while, and between nodes that have found each other.
    const url = `${cluster.endpoints[0]?.replace(/^ws/, "http")}/metrics`;
    page = (await readPage(url, AbortSignal.timeout(10_000), tls)).text;
    served = new Set(Array.from(page.matchAll(/^# TYPE (\S+)/gm), ([, name = ""]) => name));
  });
  afterAll(async () => {
    await prometheus?.stop();
    await cluster?.stop();
    rmSync(directory, { recursive: true, force: true });
  });

  test("serve metrics in which promtool finds nothing wrong", () => {
    expect(promtool(["check", "metrics"], page)).toBe("");
  });

  test("serve every metric that the board and the rules name", async () => {
    const rules = (await prometheus.rules()).map(({ query }) => query);
    const known = new Set([...served, ...OF_STANDBY]);
    const named = [...boardExpressions, ...rules].flatMap((each) => metricsIn(each, known));
    expect(named.filter((name) => !known.has(name))).toEqual([]);
  });

  test("serve no metric of Holdfast that the board does not show", () => {
    const named = new Set(shown.flatMap((each) => metricsIn(each, served)));
    const own = [...served].filter((name) => name.startsWith("holdfast_"));
    expect(own.length).toBeGreaterThan(50);
    expect(own.filter((name) => !named.has(name))).toEqual([]);
  });

  test("answer every question of the panels", async () => {
    const silent: string[] = [];
    for (const expression of shown.map(asked)) {
      const samples = await prometheus.query(expression);
      const isQuiet = ABSENT_WHEN_WELL.some((name) => expression.includes(name));
      if (samples.length === 0 && !isQuiet) silent.push(expression);
    }
    expect(silent).toEqual([]);
  });

  test("have rules that say what is wrong, what to do, and where to read on", async () => {
    const rules = await prometheus.rules();
    expect(rules.length).toBeGreaterThan(12);
    for (const { name, labels, annotations } of rules) {
      const { summary, description, action, runbook = "" } = annotations;
      for (const text of [summary, description, action]) expect(text, name).toMatch(/^\S.*\.$/);
      expect(["critical", "warning"], name).toContain(labels["severity"]);
      const [file = "", anchor = ""] = runbook.split("#");
      expect(existsSync(file), `${name}: ${file}`).toBe(true);
      expect([...anchorsOf(file)], `${name}: ${runbook}`).toContain(anchor);
    }
  });

  test("have rules of which each has a row in the documents, and no row is of another one", async () => {
    const rows = Array.from(readFileSync(PAGE, "utf8").matchAll(/^\| `(Holdfast\w+)` \|/gm));
    const names = (await prometheus.rules()).map(({ name }) => name);
    expect(rows.map(([, name]) => name).sort()).toEqual(names.sort());
  });
});
