/** A process of its own that fuzzes one target after the other, as the main process says. */
import { findNamed } from "../../../lab/command-line.js";
import { FUZZ_TARGETS } from "../targets/index.js";
import { Coverage } from "./coverage.js";
import { fuzz } from "./fuzzer.js";
import { InputFile, type JobResult, type JobTask } from "./job-protocol.js";

const current = new InputFile(process.argv[2] ?? "");

async function run({ target, seed, seconds, countsCoverage }: JobTask): Promise<JobResult> {
  const coverage = countsCoverage ? new Coverage() : undefined;
  const report = await fuzz(findNamed("target", target, FUZZ_TARGETS), {
    seed,
    executionsMax: Number.POSITIVE_INFINITY,
    untilMs: performance.now() + seconds * 1_000,
    coverage,
    onInput: (input) => current.set(input),
  });
  const branches = coverage?.branches;
  coverage?.close();
  return { ...report, branches };
}

process.on("message", (task: JobTask) => {
  run(task).then(
    (result) => process.send?.(result),
    (error: unknown) => {
      throw error;
    },
  );
});
process.on("disconnect", () => {
  current.close();
  process.exit();
});

process.send?.("ready");
