/** The example of a hand-over to a shell, run as it is shown, against a cluster of real processes. */
import { execFile, spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { startCluster } from "./world/cluster-process.js";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const RUN_MS_MAX = 60_000;
const HAS_CURL = spawnSync("curl", ["--version"]).status === 0;

test.skipIf(!HAS_CURL)("a lock goes from a program to a shell script (needs curl)", async () => {
  await using cluster = await startCluster({ nodes: 1 });
  const { stdout, stderr } = await promisify(execFile)(
    process.execPath,
    ["--import", "tsx", "examples/hand-over.ts", ...cluster.endpoints],
    {
      cwd: ROOT,
      // The worker may find the command by npx, which would say that there is a newer one of its own.
      env: { ...process.env, npm_config_update_notifier: "false" },
      timeout: RUN_MS_MAX,
    },
  );
  expect(stderr).toBe("");
  const [held, handedOver, extended, asked, released, last, ...more] = stdout.trimEnd().split("\n");
  expect([held, handedOver]).toEqual([
    "the program has the lock",
    "handed over, and held here: false",
  ]);
  const [, token] = /^videos\/42: leased .*, token (\d+)$/.exec(extended ?? "") ?? [];
  expect(JSON.parse(asked ?? "")).toMatchObject({ token: Number(token) });
  expect(released).toMatch(/^videos\/42: /);
  expect(last).toBe("the worker ended with 0, and the lock is free: true");
  expect(more).toEqual([]);
});
