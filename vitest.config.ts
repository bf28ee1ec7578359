import { availableParallelism } from "node:os";
import { configDefaults, defineConfig } from "vitest/config";

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
    // clusters for a third of their time.
    maxWorkers: isLong ? Math.ceil(1.5 * availableParallelism()) : "100%",
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
