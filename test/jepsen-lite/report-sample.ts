/** A run as it might have been, with everything that a report can show, and text that is no markup. */
import type { ReportData } from "../../jepsen-lite/report/report-data.js";

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
        story: [
          { text: "process 0 asks: acquire <b>mutex/0</b>", timeMs: 15_000 },
          { text: "process 1000 is told ok: token 5", timeMs: 15_200 },
          { text: "no order explains that answer" },
        ],
        parts: [
          { name: "leases", valid: true, compared: 0, violations: 0, figures: {} },
          { name: "linearizable", valid: false, compared: 3, violations: 1, figures: {} },
        ],
      },
      { subject: "cluster", name: "recovery", valid: true, summary: "healed", story: [] },
    ],
    counts: [{ workload: "mutex", operations: { acquire: { ok: 5_000, fail: 400, info: 32 } } }],
    coverage: [{ nemesis: "kill", times: 2, seconds: 7.5 }],
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
  };
}
