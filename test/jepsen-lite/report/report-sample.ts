/** A run as it might have been: everything that a report can show, and text that is not markup. */
import type { ReportData } from "../../../jepsen-lite/report/report-data.js";

const SECONDS = 40;

export function sampleReport(): ReportData {
  const slices = Array.from({ length: 160 }, (_, index) => {
    const isFault = index > 60 && index < 80;
    const ok = isFault ? 0 : 40 + ((index * 7) % 23);
    const p50 = ok === 0 ? null : 4 + (index % 5);
    return {
      ok,
      fail: index % 4,
      info: isFault ? 2 : 0,
      p50,
      p99: p50 && p50 * 9,
      max: p50 && 120,
    };
  });
  const operations = Array.from({ length: 400 }, (_, index) => ({
    process: (index % 4) * 1_000 + (index % 3),
    workload: "mutex",
    f: index % 2 === 0 ? "acquire" : "release",
    key: `mutex/${index % 3}`,
    startMs: index * 95,
    endMs: index * 95 + 40 + (index % 9) * 30,
    outcome: (["ok", "ok", "ok", "fail", "info"] as const)[index % 5] ?? "ok",
    detail: `<script>alert("${index}")</script>`,
  }));
  const holds = Array.from({ length: 60 }, (_, index) => ({
    key: `mutex/${index % 3}`,
    process: (index % 4) * 1_000,
    token: 3_764_820_767_670_000 + index,
    mode: index % 7 === 0 ? "shared" : "exclusive",
    startMs: index * 640,
    endMs: index * 640 + 500,
    untilMs: index * 640 + (index % 5 === 0 ? 300 : 2_000),
    end: index % 5 === 0 ? ("lost" as const) : ("released" as const),
  }));
  const comparedSystem = (name: string, lost: number) => ({
    name,
    about: `${name} & <replicas>`,
    valid: lost === 0,
    fenced: { lost, accepted: 300, refused: 4 },
    unfenced: { lost: lost + 7, accepted: 310, refused: 0 },
    twoHolders: 2 * lost,
    badTokens: lost,
    unexplained: 1,
    succeeded: 12_345,
    unknown: 67,
    faults: 2,
    elections: 3,
    longestGapMs: 2_345,
  });
  return {
    system: "holdfast",
    comparison: [comparedSystem("holdfast", 0), comparedSystem("redis", 9)],
    valid: false,
    wasInterrupted: false,
    command: "npm run jepsen -- --workload mutex --nemesis kill --seed 7",
    startedAt: "2026-01-01T00:00:00.000Z",
    endMs: SECONDS * 1_000,
    loadStartMs: 500,
    loadEndMs: 34_000,
    figures: {
      operations: 5_432,
      ok: 5_000,
      fail: 400,
      info: 32,
      faults: 2,
      elections: 3,
      termMax: 4,
      sessionsLost: 2,
      holdsLost: 5,
      clientKills: 1,
      longestGapMs: 2_345,
    },
    configuration: [["workloads", "mutex & <others>"]],
    checks: [
      {
        subject: "mutex",
        name: "model lock",
        valid: false,
        summary: "5000 ok; broken: linearizable",
        anomalies: [
          {
            kind: "token not larger",
            sentence: "client 1 was granted token 3764820767670005 of `mutex/1` too late",
            keys: ["mutex/1"],
            fromMs: 30_000,
            steps: [],
            reasons: [],
          },
          {
            kind: "two holders",
            sentence:
              "two clients held `mutex/0` from 15.000 s to 15.200 s: client 0 by token " +
              "3764820767670005, client 1 by token 3764820767670006",
            keys: ["mutex/0"],
            fromMs: 15_000,
            toMs: 15_200,
            steps: [
              { text: "process 0 asks: acquire <b>mutex/0</b>", timeMs: 14_900, line: 3 },
              { text: "process 1000 gets: token 3764820767670006", timeMs: 15_000, line: 7 },
              { text: "process 0 asks: release token 3764820767670005", timeMs: 15_200, line: 9 },
            ],
            reasons: ["the best order ends in this state: nothing held"],
          },
        ],
        anomalyCounts: { "two holders": 7, "token not larger": 1 },
        remarks: [],
        parts: [
          { name: "leases", valid: true, compared: 0, isAsked: true, violations: 0, figures: {} },
          { name: "order", valid: true, compared: 0, isAsked: false, violations: 0, figures: {} },
          {
            name: "linearizable",
            valid: false,
            compared: 3,
            isAsked: true,
            violations: 1,
            figures: {},
          },
        ],
      },
      {
        subject: "unfenced-store",
        name: "updates lost without fencing",
        valid: true,
        summary: "3 lost",
        anomalies: [
          {
            kind: "lost update",
            sentence: "client 2 overwrote what client 3 had written",
            keys: ["unfenced/0"],
            fromMs: 26_000,
            toMs: 27_000,
            steps: [{ text: "client 2 reads 1", timeMs: 26_000 }],
            reasons: [],
          },
        ],
        anomalyCounts: { "lost update": 3 },
        remarks: [],
      },
      {
        subject: "cluster",
        name: "recovery",
        valid: true,
        summary: "healed",
        anomalies: [],
        anomalyCounts: {},
        remarks: ["a remark"],
      },
    ],
    anomalies: { "two holders": 7, "token not larger": 1 },
    counts: [{ workload: "mutex", operations: { acquire: { ok: 5_000, fail: 400, info: 32 } } }],
    coverage: [
      { nemesis: "kill", times: 2, seconds: 7.5, files: {} },
      { nemesis: "damage", times: 3, seconds: 2, files: { mark: 2, "log/N.seg": 1, VERSION: 0 } },
    ],
    errors: [["LOCK_TIMEOUT", 400]],
    sliceMs: 250,
    slices,
    lanes: [
      { node: 1, timeMs: 0, state: "leader", term: 1 },
      { node: 1, timeMs: 15_000, state: "down", term: 0 },
      { node: 1, timeMs: 20_000, state: "follower", term: 2 },
      { node: 2, timeMs: 0, state: "follower", term: 1 },
      { node: 2, timeMs: 16_500, state: "leader", term: 2 },
      { node: 3, timeMs: 0, state: "follower", term: 1 },
      { node: 3, timeMs: 25_000, state: "paused", term: 0 },
    ],
    nodes: [1, 2, 3],
    faults: [
      { nemesis: "kill", what: "kill -9 of node 1 (leader)", startMs: 15_000, endMs: 20_000 },
      { nemesis: "pause", what: "SIGSTOP of node 3", startMs: 25_000, endMs: 27_500 },
    ],
    keys: ["mutex/0", "mutex/1", "mutex/2"],
    holds,
    holdsOffered: 60,
    operations,
    operationsOffered: 5_432,
    dots: operations,
  };
}
