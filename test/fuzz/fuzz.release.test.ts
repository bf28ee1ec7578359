/** All targets for about ten minutes in all, as `npm run fuzz` runs them, guided by coverage. */
import "../low-priority.js";
import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";
import { FUZZ_TARGETS } from "./targets/index.js";

const MINUTES = 10;

interface Told {
  readonly target: string;
  readonly executions: number;
  readonly branches: number;
  readonly findings: readonly { readonly message: string }[];
}

test(
  "nothing ends otherwise than by a documented refusal",
  () => {
    const argv = ["--import", "tsx", "test/fuzz/main.ts", "--json", "--minutes", String(MINUTES)];
    const { stdout, stderr } = spawnSync(process.execPath, argv, { encoding: "utf8" });
    expect(stderr).toBe("");
    const { targets } = JSON.parse(stdout) as { readonly targets: readonly Told[] };
    expect(targets.flatMap(({ findings }) => findings)).toEqual([]);
    expect(targets.map(({ target }) => target)).toEqual(FUZZ_TARGETS.map(({ name }) => name));
    for (const { target, executions, branches } of targets) {
      expect(executions, target).toBeGreaterThan(10);
      expect(branches, target).toBeGreaterThan(10);
    }
  },
  (MINUTES + 4) * 60_000,
);
