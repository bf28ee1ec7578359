/**
 * A worker process that runs plans over sources with seeded bugs. Every file is compiled once, and
 * again only with a bug in it; its module is made again for each bug. So another bug costs little
 * more than its run, which never sees what the bugs before it have left behind.
 */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { posix } from "node:path";
import { setImmediate } from "node:timers/promises";
import { compileFunction } from "node:vm";
import { transformSync } from "esbuild";
import type { planOf } from "../../plan/plan-of.js";
import type { runPlan } from "../../run/run-plan.js";
import type { SeedResult } from "../../run/seed-result.js";
import type { WorkerAnswer, WorkerTask } from "../../run/worker-protocol.js";
import { type Mutant, ROOT, readMutated } from "../mutant.js";

type Require = (id: string) => unknown;
type ModuleBody = (module: { exports: object }, require: Require) => void;
type MutantTask = WorkerTask & { readonly mutant: Mutant };
type Simulator = { readonly planOf: typeof planOf; readonly runPlan: typeof runPlan };

const requirePackage: Require = createRequire(import.meta.url);
/** The files without a bug, by path from `ROOT`. */
const bodies = new Map<string, ModuleBody>();
/** With the bug of the last run. */
let last: { readonly mutant: string; readonly simulator: Simulator } | undefined;

function compile(file: string, source: string): ModuleBody {
  const { code } = transformSync(source, { loader: "ts", format: "cjs", target: "node20" });
  return compileFunction(code, ["module", "require"], { filename: file }) as ModuleBody;
}

function bodyOf(file: string): ModuleBody {
  let body = bodies.get(file);
  if (body === undefined) {
    body = compile(file, readFileSync(`${ROOT}${file}`, "utf8"));
    bodies.set(file, body);
  }
  return body;
}

function load(mutant: Mutant): Simulator {
  const withBug = compile(mutant.file, readMutated(mutant));
  const modules = new Map<string, { exports: object }>();
  const exportsOf = (file: string): object => {
    const known = modules.get(file);
    if (known !== undefined) return known.exports;
    const module = { exports: {} };
    modules.set(file, module);
    const body = file === mutant.file ? withBug : bodyOf(file);
    body(module, (id) => {
      if (!id.startsWith(".")) return requirePackage(id);
      return exportsOf(posix.join(file, "..", id.replace(/\.js$/, ".ts")));
    });
    return module.exports;
  };
  const simulator = {
    ...exportsOf("test/sim/plan/plan-of.ts"),
    ...exportsOf("test/sim/run/run-plan.ts"),
  } as Simulator;
  if (modules.has(mutant.file)) return simulator;
  throw new Error(`mutant ${mutant.name}: no run loads ${mutant.file}`);
}

function simulatorOf(wanted: Mutant): Simulator {
  const mutant = JSON.stringify(wanted);
  if (last?.mutant !== mutant) last = { mutant, simulator: load(wanted) };
  return last.simulator;
}

async function run(simulator: Simulator, { seed }: WorkerTask): Promise<SeedResult> {
  const result = await simulator.runPlan(simulator.planOf(seed));
  // A rejection that comes late ends this process, and is a failure of this run and no other.
  await setImmediate();
  return result;
}

function say(answer: WorkerAnswer): void {
  process.send?.(answer);
}

process.on("message", (task: MutantTask) => {
  let simulator: Simulator;
  try {
    simulator = simulatorOf(task.mutant);
  } catch (error) {
    say({ kind: "unloadable", message: String(error) });
    return;
  }
  run(simulator, task).then(
    (result) => say({ kind: "result", result }),
    (error: unknown) => {
      throw error;
    },
  );
});

say({ kind: "ready" });
