/**
 * Unit tests of the alert rules with `promtool test rules`, with the times and thresholds of the file:
 * each alert is quiet while its series are what they may be, and fires when they are not, for long
 * enough. Whether the nodes serve such series is another test (`alerts.long.test.ts`).
 */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { describe, expect, test } from "vitest";
import { prometheusProgram, RULES } from "./prometheus-server.js";

const PROMTOOL = prometheusProgram("promtool");
const NODE_1 = 'job="holdfast",cluster="c",instance="1"';
const NODE_2 = 'job="holdfast",cluster="c",instance="2"';

interface Case {
  readonly alert: string;
  /** One sample in 15 seconds, in the notation of promtool. */
  readonly series: Readonly<Record<string, string>>;
  readonly quietAt: string;
  readonly firesAt: string;
}

const CASES: readonly Case[] = [
  {
    alert: "HoldfastNoLeader",
    series: {
      [`holdfast_is_leader{${NODE_1}}`]: "1x7 0x20",
      [`holdfast_is_leader{${NODE_2}}`]: "0x27",
    },
    ...{ quietAt: "2m15s", firesAt: "2m30s" },
  },
  {
    // Node 1, which led, is not scraped any more.
    alert: "HoldfastNoLeader",
    series: {
      [`up{${NODE_1}}`]: "1x7 0x20",
      [`holdfast_is_leader{${NODE_1}}`]: "1x7 stale",
      [`up{${NODE_2}}`]: "1x27",
      [`holdfast_is_leader{${NODE_2}}`]: "0x27",
    },
    ...{ quietAt: "2m15s", firesAt: "2m30s" },
  },
  {
    alert: "HoldfastNodeDown",
    series: { [`up{${NODE_1}}`]: "1x7 0x20" },
    ...{ quietAt: "2m45s", firesAt: "3m" },
  },
  {
    alert: "HoldfastNodeQuarantined",
    series: { [`holdfast_quarantined{${NODE_1}}`]: "0x7 1x20" },
    ...{ quietAt: "1m45s", firesAt: "2m" },
  },
  {
    alert: "HoldfastNodeCutOff",
    series: {
      [`holdfast_has_leader{${NODE_1}}`]: "1x7 0x20",
      [`holdfast_is_leader{${NODE_1}}`]: "0x27",
      [`holdfast_is_leader{${NODE_2}}`]: "1x27",
    },
    ...{ quietAt: "2m45s", firesAt: "3m" },
  },
  {
    // Node 2 applies what it has a minute late, and then nothing.
    alert: "HoldfastNodeBehind",
    series: {
      [`holdfast_commit_index{${NODE_1}}`]: "100+10x60",
      [`holdfast_applied_index{${NODE_1}}`]: "100+10x60",
      [`holdfast_applied_index{${NODE_2}}`]: "60+10x20 260x40",
    },
    ...{ quietAt: "10m", firesAt: "10m15s" },
  },
  {
    alert: "HoldfastLeaderChanges",
    series: { [`holdfast_leader_changes_total{${NODE_1}}`]: "1x30 2+1x4 6x60 7+1x5 12x20" },
    ...{ quietAt: "10m", firesAt: "26m30s" },
  },
  {
    alert: "HoldfastDiskFull",
    series: { [`holdfast_disk_full{${NODE_1}}`]: "0x7 1x20" },
    ...{ quietAt: "1m45s", firesAt: "2m" },
  },
  {
    alert: "HoldfastDiskFull",
    series: { [`holdfast_waiting_for_room{${NODE_1}}`]: "_x8 1x20" },
    ...{ quietAt: "1m45s", firesAt: "2m15s" },
  },
  {
    alert: "HoldfastMemoryScarce",
    series: { [`holdfast_memory_scarce{${NODE_1}}`]: "0x7 1x20" },
    ...{ quietAt: "2m45s", firesAt: "3m" },
  },
  {
    alert: "HoldfastEventLoopStalls",
    series: { [`holdfast_event_loop_delay_max_seconds{${NODE_1}}`]: "0.3x7 0.31x20" },
    ...{ quietAt: "3m45s", firesAt: "4m" },
  },
  {
    // All below 0.1 s, then two of a hundred above.
    alert: "HoldfastCommitSlow",
    series: {
      [`holdfast_commit_seconds_bucket{${NODE_1},le="0.1"}`]: "0+100x40 4098+98x60",
      [`holdfast_commit_seconds_bucket{${NODE_1},le="0.5"}`]: "0+100x100",
      [`holdfast_commit_seconds_bucket{${NODE_1},le="+Inf"}`]: "0+100x100",
    },
    ...{ quietAt: "10m", firesAt: "20m" },
  },
  {
    alert: "HoldfastLogSyncSlow",
    series: {
      [`holdfast_log_sync_seconds_bucket{${NODE_1},le="0.05"}`]: "0+100x40 4098+98x60",
      [`holdfast_log_sync_seconds_bucket{${NODE_1},le="0.25"}`]: "0+100x100",
      [`holdfast_log_sync_seconds_bucket{${NODE_1},le="+Inf"}`]: "0+100x100",
    },
    ...{ quietAt: "10m", firesAt: "20m" },
  },
  {
    alert: "HoldfastLongWaits",
    series: {
      [`holdfast_acquire_wait_seconds_bucket{${NODE_1},le="30"}`]: "0+100x40 4089+89x60",
      [`holdfast_acquire_wait_seconds_bucket{${NODE_1},le="60"}`]: "0+100x100",
      [`holdfast_acquire_wait_seconds_bucket{${NODE_1},le="+Inf"}`]: "0+100x100",
    },
    ...{ quietAt: "10m", firesAt: "16m15s" },
  },
  {
    alert: "HoldfastAuditFailing",
    series: { [`holdfast_audit_failing{${NODE_1}}`]: "0x7 1x20" },
    ...{ quietAt: "2m45s", firesAt: "3m" },
  },
  {
    alert: "HoldfastAuditIncomplete",
    series: { [`holdfast_audit_gaps_total{${NODE_1}}`]: "3x20 4x20" },
    ...{ quietAt: "5m", firesAt: "5m15s" },
  },
  {
    alert: "HoldfastAuditIncomplete",
    series: { [`holdfast_audit_lost_records{${NODE_1}}`]: "0x7 1x20" },
    ...{ quietAt: "1m45s", firesAt: "2m" },
  },
  {
    alert: "HoldfastAuditSizeLimited",
    series: { [`holdfast_audit_size_limited{${NODE_1}}`]: "0x7 1x20" },
    ...{ quietAt: "1m45s", firesAt: "2m" },
  },
  {
    alert: "HoldfastManyWaiters",
    series: { [`holdfast_waiters{${NODE_1}}`]: "1000x7 1001x40" },
    ...{ quietAt: "6m45s", firesAt: "7m" },
  },
  {
    alert: "HoldfastLimitExceeded",
    series: {
      [`holdfast_limit_exceeded_total{${NODE_1},by="identity",limit="reads"}`]: "5x20 6x20",
    },
    ...{ quietAt: "5m", firesAt: "5m15s" },
  },
  {
    alert: "HoldfastLimitExceeded",
    series: { [`holdfast_table_limit_exceeded_total{${NODE_1},limit="claims"}`]: "5x20 6x20" },
    ...{ quietAt: "5m", firesAt: "5m15s" },
  },
  {
    alert: "HoldfastConnectionsRefused",
    series: { [`holdfast_client_refused_total{${NODE_1}}`]: "5x20 6x20" },
    ...{ quietAt: "5m", firesAt: "5m15s" },
  },
  {
    // In seconds since 1970; the world of promtool begins then.
    alert: "HoldfastCertificateExpires",
    series: {
      [`holdfast_certificate_expiry_timestamp_seconds{${NODE_1}}`]: `${7 * 86_400 + 120}x20`,
    },
    ...{ quietAt: "2m", firesAt: "2m15s" },
  },
  {
    alert: "HoldfastTlsFilesRefused",
    series: { [`holdfast_tls_reloads_total{${NODE_1},result="refused"}`]: "1x20 2x20" },
    ...{ quietAt: "5m", firesAt: "5m15s" },
  },
  {
    alert: "HoldfastCredentialsExpire",
    series: { [`holdfast_credentials_expiring{${NODE_1}}`]: "0x7 1x20" },
    ...{ quietAt: "1m45s", firesAt: "2m" },
  },
  {
    // Ten each at two nodes are not too many.
    alert: "HoldfastSignInsRefused",
    series: {
      [`holdfast_sign_ins_refused_total{${NODE_1}}`]: "0x20 9x20 20x20",
      [`holdfast_sign_ins_refused_total{${NODE_2}}`]: "0x20 9x20 20x20",
    },
    ...{ quietAt: "5m15s", firesAt: "10m30s" },
  },
  {
    alert: "HoldfastAccessOpened",
    series: { [`holdfast_access_open{${NODE_1}}`]: "0x7 1x20" },
    ...{ quietAt: "1m45s", firesAt: "2m" },
  },
];

describe.skipIf(PROMTOOL === undefined)("an alert", () => {
  test.each(CASES)("is quiet, then fires: $alert with $series", (one) => {
    expect(promtoolTests([one])).toContain("SUCCESS");
  });

  test("is not left out here", () => {
    const names = Array.from(readFileSync(RULES, "utf8").matchAll(/^ *- alert: (\w+)$/gm));
    const tested = new Set(CASES.map(({ alert }) => alert));
    expect([...tested].sort()).toEqual(names.map(([, name]) => name).sort());
  });

  test("of a cluster that is open as it always was does not fire", () => {
    const series = { [`holdfast_access_open{${NODE_1}}`]: "1x40" };
    const always = { alert: "HoldfastAccessOpened", series, quietAt: "9m", firesAt: "" };
    expect(promtoolTests([always])).toContain("SUCCESS");
  });
});

/** What promtool prints. It fails if a series is not as demanded. */
function promtoolTests(cases: readonly Case[]): string {
  const directory = mkdtempSync(join(tmpdir(), "holdfast-rules-"));
  const tests = cases.map(({ alert, series, quietAt, firesAt }) => {
    const firing = `count(ALERTS{alertname="${alert}",alertstate="firing"})`;
    const quiet = { expr: firing, eval_time: quietAt, exp_samples: [] };
    const fires = { expr: firing, eval_time: firesAt, exp_samples: [{ labels: "{}", value: 1 }] };
    return {
      interval: "15s",
      input_series: Object.entries(series).map(([name, values]) => ({ series: name, values })),
      promql_expr_test: firesAt === "" ? [quiet] : [quiet, fires],
    };
  });
  const file = join(directory, "test.yml");
  const evaluation_interval = "15s";
  // JSON is YAML.
  writeFileSync(file, JSON.stringify({ rule_files: [resolve(RULES)], evaluation_interval, tests }));
  try {
    return execFileSync(PROMTOOL as string, ["test", "rules", file], { encoding: "utf8" });
  } finally {
    rmSync(directory, { recursive: true });
  }
}
