/**
 * The verdict on a run: the checker compares every history with its model, in a process of its own
 * because its tables may be large. Results that histories cannot show are added: whether the
 * cluster recovered, whether a node died by itself, whether updates of the guarded store were lost.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import type { AttackResult } from "../attack/attack-plan.js";
import type { CheckResult as Answer, TokensRise } from "../checker/index.js";
import { parentDeathPrefix } from "../cluster/parent-death.js";
import { type AcceptedUpdate, findLostUpdates, type LostUpdate } from "../guarded/lost-updates.js";
import { runnerOf } from "../harness/scripts.js";
import { clientOfProcess, historyName } from "../history/history-event.js";
import type { HistoryModel, Workload, WorkloadModel } from "../workloads/workload.js";
import type { Anomaly } from "./anomaly.js";
import type { CheckPlan } from "./check-main.js";
import type { CheckResult, Validity } from "./check-result.js";
import { resultOfAnswer } from "./checker-answer.js";
import { clusterChecks } from "./cluster-checks.js";
import { comparisonsCheck } from "./comparisons-check.js";

/** For one history. What cannot be decided by then is unknown. */
const CHECK_SECONDS_MAX = 300;
/** After an interruption the run should end soon. */
const INTERRUPTED_CHECK_SECONDS_MAX = 10;

export interface Verdict {
  readonly valid: Validity;
  readonly checks: readonly CheckResult[];
}

export interface JudgeOptions {
  readonly workloads: readonly Workload[];
  /** Names of the requested faults. */
  readonly nemeses: readonly string[];
  readonly isFenced: boolean;
  readonly tokensRise: TokensRise;
  /** Whether a check that compared nothing leaves the verdict open, where a workload is made for it. */
  readonly isStrict: boolean;
  /** Peers have only plain locks, whose histories feed fewer checks. */
  readonly isPeer: boolean;
  /** Aborted when it must end soon: each history then gets a few seconds. */
  readonly early: AbortSignal;
  /** Aborted when it must end at once: `judge` rejects. */
  readonly atOnce: AbortSignal;
  readonly onProgress: (note: string) => void;
}

export async function judge(result: AttackResult, options: JudgeOptions): Promise<Verdict> {
  const checks: CheckResult[] = clusterChecks(result, options);
  for (const { name, model, parts = {}, compares = [] } of options.workloads) {
    const histories: [string, WorkloadModel][] = [[historyName(name), model]];
    for (const [part, of] of Object.entries(parts)) histories.push([historyName(name, part), of]);
    for (const [history, of] of histories) {
      options.onProgress(history);
      const file = result.histories.fileOf(history);
      if (of === "updates" || of === "unfenced-updates") {
        const isFenced = of === "updates" && options.isFenced;
        checks.push(await updatesCheck(history, file, isFenced));
      } else {
        const asked = options.isPeer ? [] : compares;
        checks.push(await historyCheck(history, { model: of, file, asked }, options));
      }
    }
  }
  if (options.isStrict) checks.push(comparisonsCheck(checks));
  return { valid: worst(checks.map(({ valid }) => valid)), checks };
}

export function worst(validities: readonly Validity[]): Validity {
  if (validities.includes(false)) return false;
  return validities.includes("unknown") ? "unknown" : true;
}

/**
 * Without fencing, updates are expected to be lost: that is shown, and is not a verdict on the
 * cluster.
 */
async function updatesCheck(
  subject: string,
  file: string,
  isFenced: boolean,
): Promise<CheckResult> {
  const { accepted, refused, lost, examples } = await findLostUpdates(file);
  const counts = `${accepted} updates accepted, ${refused} refused by their token, ${lost} lost`;
  return {
    subject,
    name: isFenced ? "no update lost" : "updates lost without fencing",
    valid: isFenced ? lost === 0 : true,
    summary: isFenced
      ? counts
      : `${counts}; losses do not count, because this store compares no tokens`,
    figures: { accepted, refused, lost },
    anomalies: examples.map(lostUpdate),
    anomalyCounts: lost === 0 ? {} : { "lost update": lost },
    remarks: [],
  };
}

function lostUpdate({ key, earlier, later }: LostUpdate): Anomaly {
  const who = ({ process }: AcceptedUpdate) => `client ${clientOfProcess(Number(process))}`;
  const full = (update: AcceptedUpdate) => `${who(update)} (process ${update.process})`;
  const reads = (update: AcceptedUpdate) => ({
    text: `${full(update)} reads ${update.from} by token ${update.token}`,
    timeMs: update.startMs,
  });
  const writes = (update: AcceptedUpdate, more: string) => ({
    text: `${full(update)} writes ${update.to} by token ${update.token}${more}`,
    timeMs: update.endMs,
  });
  const steps = [
    reads(earlier),
    reads(later),
    writes(earlier, ""),
    writes(later, `: ${earlier.to} is lost, because it was never read`),
  ];
  return {
    kind: "lost update",
    sentence:
      `${who(later)} (token ${later.token}) overwrote at ${(later.endMs / 1_000).toFixed(3)} s ` +
      `what ${who(earlier)} (token ${earlier.token}) had written to \`${key}\` after both had ` +
      "read the same value",
    keys: [key],
    fromMs: earlier.startMs,
    toMs: later.endMs,
    steps: steps.sort((one, other) => one.timeMs - other.timeMs),
    reasons: [],
  };
}

interface HistoryToCheck {
  readonly model: HistoryModel;
  readonly file: string;
  /** Checks that the history was made for. */
  readonly asked: readonly string[];
}

async function historyCheck(
  subject: string,
  { model, file, asked }: HistoryToCheck,
  { early, atOnce, tokensRise }: JudgeOptions,
): Promise<CheckResult> {
  const seconds = early.aborted ? INTERRUPTED_CHECK_SECONDS_MAX : CHECK_SECONDS_MAX;
  const plan: CheckPlan = { model, file, tokensRise, timeMs: seconds * 1_000 };
  const checker = [...runnerOf("verdict/check-main"), JSON.stringify(plan)];
  const [command = "", ...rest] = [...(await parentDeathPrefix()), ...checker];
  // In a session of its own, so that Ctrl-C reaches only the harness, which decides what it means.
  const child = spawn(command, rest, { detached: true, stdio: ["ignore", "pipe", "pipe"] });
  const kill = () => child.kill("SIGKILL");
  let lastMoment: NodeJS.Timeout | undefined;
  const hurry = () => {
    lastMoment = setTimeout(kill, INTERRUPTED_CHECK_SECONDS_MAX * 1_000);
  };
  atOnce.addEventListener("abort", kill);
  early.addEventListener("abort", hurry);
  let output = "";
  let complaint = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    output += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    complaint = (complaint + text).slice(-2_000);
  });
  await once(child, "close");
  clearTimeout(lastMoment);
  atOnce.removeEventListener("abort", kill);
  early.removeEventListener("abort", hurry);
  atOnce.throwIfAborted();
  const name = `model ${model}`;
  const parsed = parseAnswer(output);
  if (parsed === undefined) {
    const why = early.aborted ? "interrupted" : complaint.trim().split("\n").at(-1);
    const summary = `not checked: ${why ?? "no answer of the checker"}`;
    return {
      subject,
      name,
      valid: "unknown",
      summary,
      anomalies: [],
      anomalyCounts: {},
      remarks: [],
    };
  }
  return resultOfAnswer(subject, parsed, asked);
}

function parseAnswer(text: string): Answer | undefined {
  try {
    const parsed = JSON.parse(text) as Answer;
    return [true, false, "unknown"].includes(parsed.valid) ? parsed : undefined;
  } catch {
    return undefined; // The reason is on its standard error.
  }
}
