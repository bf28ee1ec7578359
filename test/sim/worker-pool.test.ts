/** What the pool does about worker processes that misbehave. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { UnloadableError } from "./run/seed-process.js";
import { WorkerPool } from "./run/worker-pool.js";

const TIMEOUT_MS = 300_000;
const directory = mkdtempSync(join(tmpdir(), "holdfast-sim-"));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

/** A pool of two whose workers run `source`. */
function poolOf(name: string, source: string): WorkerPool {
  const workerPath = join(directory, name);
  writeFileSync(workerPath, source);
  return new WorkerPool({ jobs: 2, workerPath });
}

test(
  "sources that cannot be loaded are one error for everything that is asked",
  async () => {
    const pool = poolOf("unloadable.ts", 'import "./nothing-of-that-name.js";');
    try {
      const asked = [1, 2, 3].map((seed) => pool.run({ seed, tellsStory: false }));
      for (const outcome of await Promise.allSettled(asked)) {
        const reason = outcome.status === "rejected" ? outcome.reason : undefined;
        expect(reason).toBeInstanceOf(UnloadableError);
        expect(String(reason)).toContain("nothing-of-that-name");
      }
    } finally {
      pool.close();
    }
  },
  TIMEOUT_MS,
);

test(
  "a process that dies is the failure of its run, and is replaced",
  async () => {
    const source = `
      process.on("message", ({ seed }: { seed: number }) => {
        if (seed === 1) throw new Error("these are the last words");
        process.send?.({ kind: "result", result: { seed, failure: undefined } });
      });
      process.send?.({ kind: "ready" });
    `;
    const pool = poolOf("dying.ts", source);
    try {
      const seeds = [1, 2, 1, 3];
      const results = await Promise.all(seeds.map((seed) => pool.run({ seed, tellsStory: false })));
      expect(results.map(({ seed }) => seed)).toEqual(seeds);
      expect(results.map(({ failure }) => failure?.rule)).toEqual([
        "the run ends",
        undefined,
        "the run ends",
        undefined,
      ]);
      expect(results[0]?.failure?.message).toContain("these are the last words");
    } finally {
      pool.close();
    }
  },
  TIMEOUT_MS,
);
