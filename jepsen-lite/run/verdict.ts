/**
 * The verdict on a run: every history is held against its model by the checker, in a process of its
 * own since its tables may be large, and what histories cannot say is added: whether the cluster
 * came back, whether a node died by itself, whether updates of the guarded store were lost.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import type { CheckResult as Answer, TokensRise } from "../checker/index.js";
import { findLostUpdates, type LostUpdate } from "../guarded/lost-updates.js";
import { historyName } from "../history/history-event.js";
import { runnerOf } from "../own-scripts.js";
import type { Workload, WorkloadModel } from "../workloads/workload.js";
import type { AttackResult } from "./attack.js";
import { resultOfAnswer } from "./checker-answer.js";
import { clusterChecks } from "./cluster-checks.js";

/** Of one history. What cannot be decided by then is unknown. */
const CHECK_SECONDS_MAX = 300;

export type Validity = true | false | "unknown";

/** One question and its answer. */
export interface CheckResult {
  /** The history, or `cluster`. */
  readonly subject: string;
  readonly name: string;
  readonly valid: Validity;
  /** One line for people. */
  readonly summary: string;
  /** What is wrong, as a story; empty where nothing is. */
  readonly story: readonly StoryStep[];
  /** The single checks of which it consists. */
  readonly parts?: readonly CheckPart[];
  /** What was counted, where there are no parts. */
  readonly figures?: Readonly<Record<string, number>>;
  /** What the checker said, whole. */
  readonly details?: unknown;
}

export interface CheckPart {
  readonly name: string;
  readonly valid: Validity;
  /** How many things were compared; 0: nothing was shown by it. */
  readonly compared: number;
  readonly violations: number;
  readonly figures: Readonly<Record<string, number>>;
}

export interface StoryStep {
  readonly text: string;
  /** When it happened, where that is known. */
  readonly timeMs?: number;
}

export interface Verdict {
  readonly valid: Validity;
  readonly checks: readonly CheckResult[];
}

export interface JudgeOptions {
  readonly workloads: readonly Workload[];
  /** Names of those that were asked for. */
  readonly nemeses: readonly string[];
  readonly isFenced: boolean;
  readonly tokensRise: TokensRise;
  readonly signal: AbortSignal;
  readonly onProgress: (note: string) => void;
}

export async function judge(result: AttackResult, options: JudgeOptions): Promise<Verdict> {
  const checks: CheckResult[] = clusterChecks(result, options);
  for (const { name, model, parts = {} } of options.workloads) {
    const histories: [string, WorkloadModel][] = [[historyName(name), model]];
    for (const [part, of] of Object.entries(parts)) histories.push([historyName(name, part), of]);
    for (const [history, of] of histories) {
      options.onProgress(`checking ${history}`);
      const file = result.histories.fileOf(history);
      if (of === "updates" || of === "unfenced-updates") {
        const isFenced = of === "updates" && options.isFenced;
        checks.push(await updatesCheck(history, file, isFenced));
      } else {
        checks.push(await historyCheck(history, of, file, options));
      }
    }
  }
  return { valid: worst(checks.map(({ valid }) => valid)), checks };
}

function worst(validities: readonly Validity[]): Validity {
  if (validities.includes(false)) return false;
  return validities.includes("unknown") ? "unknown" : true;
}

/** Without fencing, updates *are* lost: that is shown, and is no verdict on the cluster. */
async function updatesCheck(
  subject: string,
  file: string,
  isFenced: boolean,
): Promise<CheckResult> {
  const { accepted, refused, lost, examples } = await findLostUpdates(file);
  const counts = `${accepted} updates accepted, ${refused} refused for their token, ${lost} lost`;
  return {
    subject,
    name: isFenced ? "no update lost" : "updates lost without fencing",
    valid: isFenced ? lost === 0 : true,
    summary: isFenced ? counts : `${counts}; this store compares no tokens, so some may be`,
    figures: { accepted, refused, lost },
    story: examples.flatMap(storyOf),
  };
}

function storyOf({ key, earlier, later }: LostUpdate): StoryStep[] {
  const read = (update: typeof earlier) =>
    `process ${update.process} reads ${key} = ${update.from} under token ${update.token}`;
  const wrote = (update: typeof earlier, more: string) =>
    `process ${update.process} writes ${update.to} under token ${update.token}${more}`;
  const steps = [
    { text: read(earlier), timeMs: earlier.startMs },
    { text: read(later), timeMs: later.startMs },
    { text: wrote(earlier, ""), timeMs: earlier.endMs },
    { text: wrote(later, `: ${earlier.to} is lost, nobody ever read it`), timeMs: later.endMs },
  ];
  return steps.sort((one, other) => one.timeMs - other.timeMs);
}

async function historyCheck(
  subject: string,
  model: string,
  file: string,
  { signal, tokensRise }: JudgeOptions,
): Promise<CheckResult> {
  const flags = [`--time-limit=${CHECK_SECONDS_MAX}`, `--tokens-rise=${tokensRise}`, "--json"];
  const words = [...runnerOf("check"), `--model=${model}`, ...flags, file];
  const [command = "", ...rest] = words;
  const child = spawn(command, rest, { stdio: ["ignore", "pipe", "pipe"] });
  const kill = () => child.kill("SIGKILL");
  signal.addEventListener("abort", kill);
  let output = "";
  let complaint = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    output += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    complaint = (complaint + text).slice(-2_000);
  });
  await once(child, "close");
  signal.removeEventListener("abort", kill);
  const name = `model ${model}`;
  const parsed = parseAnswer(output);
  if (parsed === undefined) {
    const why = signal.aborted ? "interrupted" : complaint.trim().split("\n").at(-1);
    const summary = `not checked: ${why ?? "no answer of the checker"}`;
    return { subject, name, valid: "unknown", summary, story: [] };
  }
  return resultOfAnswer(subject, parsed, file);
}

function parseAnswer(text: string): Answer | undefined {
  try {
    const parsed = JSON.parse(text) as Answer;
    return [true, false, "unknown"].includes(parsed.valid) ? parsed : undefined;
  } catch {
    return undefined; // The reason is on its standard error.
  }
}
