/** A cluster can be founded only on a machine whose clock is plausible. */
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runCli } from "./world/command-line.js";

let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "holdfast-clock-"));
});
afterAll(() => rm(directory, { recursive: true, force: true }));

test.each([
  ["1970", 60_000],
  ["2106", Date.UTC(2106, 1, 7)],
])("a node whose clock says %s founds no cluster, and says why", async (year, wallMs) => {
  const data = join(directory, year);
  const { code, stderr } = await runCli(
    [
      "server",
      "--id=1",
      `--data=${data}`,
      "--listen=127.0.0.1:0",
      "--peer-listen=127.0.0.1:0",
    ].concat("--initial-cluster=1=127.0.0.1:7511"),
    { env: { NODE_OPTIONS: `--import=data:text/javascript,Date.now=()=>${wallMs}` } },
  );
  expect(code).toBe(2);
  expect(stderr).toContain(`the clock of this machine says ${year}`);
  expect(await readdir(data).catch(() => [])).toEqual([]);
});
