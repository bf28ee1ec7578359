import { availableParallelism } from "node:os";
import { configDefaults, defineConfig } from "vitest/config";
import { SeededBugsFirst } from "./test/seeded-bugs-first.js";

/** Real clusters under every command, browsers, databases, all seeded bugs: `npm run test:long`. */
const LONG = "test/**/*.long.test.ts";
const isLong = process.env["HOLDFAST_TESTS"] === "long";

export default defineConfig({
  test: {
    // The built command is what the end-to-end tests start.
    globalSetup: ["test/build-once.ts"],
    include: [isLong ? LONG : "test/**/*.test.ts"],
    exclude: isLong ? configDefaults.exclude : [...configDefaults.exclude, LONG],
    // Most of the time that a short file takes is for starting a process and loading the sources.
    isolate: isLong,
    // By itself it leaves one core of two to nobody, and takes twice as long. Long tests wait for their
    // clusters for much of their time, beside those that compute with low priority.
    maxWorkers: isLong ? 2 * availableParallelism() : "100%",
    ...(isLong ? { sequence: { sequencer: SeededBugsFirst } } : {}),
    testTimeout: 60_000,
    hookTimeout: 60_000,
    reporters: process.env["CI"]
      ? ["default", ["json", { outputFile: `coverage/results-${isLong ? "long" : "short"}.json` }]]
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
