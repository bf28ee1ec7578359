import { availableParallelism } from "node:os";
import { configDefaults, defineConfig } from "vitest/config";
import { SlowestFirst } from "./test/slowest-first.js";

const ALL = "test/**/*.test.ts";

/** The runs, by what their files are called; a test without such a name belongs to `npm test`. */
const RUNS = {
  /** Real clusters under every command, browsers, databases: `npm run test:long`. */
  long: "test/**/*.long.test.ts",
  /** What computes for long, such as all seeded bugs: `npm run test:release`. */
  release: "test/**/*.release.test.ts",
} as const;

const name = process.env["HOLDFAST_TESTS"] ?? "short";
const isShort = name === "short";
if (!isShort && !Object.hasOwn(RUNS, name)) throw new Error(`HOLDFAST_TESTS=${name}: no such run`);

export default defineConfig({
  test: {
    // The built command is what the end-to-end tests start.
    globalSetup: ["test/build-once.ts"],
    include: [isShort ? ALL : RUNS[name as keyof typeof RUNS]],
    exclude: [...configDefaults.exclude, ...(isShort ? Object.values(RUNS) : [])],
    // Most of the time that a short file takes is for starting a process and loading the sources.
    isolate: !isShort,
    // By itself it leaves one core of two to nobody, and takes twice as long. Long tests wait for their
    // clusters for much of their time, next to tests that compute with low priority.
    maxWorkers: name === "long" ? 2 * availableParallelism() : "100%",
    ...(isShort ? {} : { sequence: { sequencer: SlowestFirst } }),
    // A tenth less time for what draws much at random.
    execArgv: ["--max-semi-space-size=32"],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    reporters: process.env["CI"]
      ? ["default", ["json", { outputFile: `coverage/results-${name}.json` }]]
      : ["default"],
    coverage: {
      provider: "v8",
      include: ["src/**/*.ts"],
      reportsDirectory: "coverage/report",
      thresholds: {
        "src/raft/**": { lines: 90, branches: 85 },
        "src/lockfsm/**": { lines: 90, branches: 85 },
        "src/protocol/**": { lines: 90, branches: 85 },
      },
    },
  },
});
