/** The example of a hand-over to a shell, run as it is shown, against a cluster of real processes. */
import { execFile, spawnSync } from "node:child_process";
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { startCluster } from "./world/cluster-process.js";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const RUN_MS_MAX = 60_000;
const HAS_CURL = spawnSync("curl", ["--version"]).status === 0;

test.skipIf(!HAS_CURL)("a lock goes from a program to a shell script (needs curl)", async () => {
  await using cluster = await startCluster({ nodes: 1 });
  const directory = await mkdtemp(join(tmpdir(), "holdfast-hand-over-"));
  try {
    // As an installed package has it.
    const command = join(directory, "holdfast");
    const built = join(ROOT, "dist/bin/holdfast.js");
    await writeFile(command, `#!/bin/sh\nexec "${process.execPath}" "${built}" "$@"\n`);
    await chmod(command, 0o755);
    const { stdout, stderr } = await promisify(execFile)(
      process.execPath,
      ["--import", "tsx", "examples/hand-over.ts", ...cluster.endpoints],
      {
        cwd: ROOT,
        env: { ...process.env, PATH: `${directory}:${process.env["PATH"]}` },
        timeout: RUN_MS_MAX,
      },
    );
    expect(stderr).toBe("");
    const [held, handedOver, extended, asked, released, last, ...more] = stdout
      .trimEnd()
      .split("\n");
    expect([held, handedOver]).toEqual([
      "the program has the lock",
      "handed over, and held here: false",
    ]);
    const [, token] = /^videos\/42: leased .*, token (\d+)$/.exec(extended ?? "") ?? [];
    expect(JSON.parse(asked ?? "")).toMatchObject({ token: Number(token) });
    expect(released).toMatch(/^videos\/42: /);
    expect(last).toBe("the worker ended with 0, and the lock is free: true");
    expect(more).toEqual([]);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
});
