/** The example for OpenTelemetry, run as it is shown, against a cluster of real processes. */
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { startCluster } from "./world/cluster-process.js";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const RUN_MS_MAX = 60_000;

test("the trace of an order contains what its locks took, each where it belongs", async () => {
  await using cluster = await startCluster({ nodes: 1 });
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ["--import", "tsx", "examples/opentelemetry.ts", ...cluster.endpoints],
    { cwd: ROOT, timeout: RUN_MS_MAX },
  );
  expect(stdout.trimEnd().split("\n")).toEqual([
    "order 1001",
    "  holdfast connect",
    "  holdfast using orders/1001",
    "    holdfast acquire orders/1001",
    "    charge the card",
    "      holdfast using cards/7",
    "        holdfast acquire cards/7",
    "        holdfast release cards/7",
    "    holdfast release orders/1001",
  ]);
});
