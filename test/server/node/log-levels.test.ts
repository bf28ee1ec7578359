/** The level of a node's log, and how it goes back. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { freePorts } from "../../../lab/free-ports.js";
import { connectAdmin } from "../../../src/index.js";
import { startNode } from "../../../src/server/index.js";
import { NodeLogLevels } from "../../../src/server/node/log-levels.js";

const CLOCK = { nowMs: () => performance.now(), wallMs: () => 1_000_000 };

interface Line {
  readonly level: string;
  readonly event: string;
  readonly fields: Record<string, unknown> | undefined;
}

it("lines below the level are not written, and a change is logged at both ends", async () => {
  const lines: Line[] = [];
  let onLine = (): void => undefined;
  const levels = new NodeLogLevels(
    (level, event, fields) => {
      lines.push({ level, event, fields });
      onLine();
    },
    "warn",
    CLOCK,
  );
  const { log } = levels;
  log("debug", "a detail");
  log("info", "an event");
  log("warn", "a problem", { of: 1 });
  expect(lines.splice(0)).toEqual([{ level: "warn", event: "a problem", fields: { of: 1 } }]);
  expect(log.isDebugging).toBe(false);
  const isBack = new Promise<void>((resolve) => {
    onLine = () => {
      if (lines.at(-1)?.event === "log level is the usual one again") resolve();
    };
  });
  levels.change("debug", 20, "alice");
  expect(levels.view).toEqual({ level: "debug", usual: "warn", untilWallMs: 1_000_020 });
  expect(log.isDebugging).toBe(true);
  log("debug", "a detail");
  await isBack;
  expect(levels.view).toEqual({ level: "warn", usual: "warn", untilWallMs: null });
  log("debug", "a detail");
  const until = "1970-01-01T00:16:40.020Z";
  expect(lines).toEqual([
    {
      ...{ level: "warn", event: "log level changed" },
      fields: { to: "debug", usual: "warn", until, by: "alice" },
    },
    { level: "debug", event: "a detail", fields: undefined },
    { level: "warn", event: "log level is the usual one again", fields: { to: "warn" } },
  ]);
});

it("the level goes back at once for no time, and a second change replaces the first", () => {
  const lines: string[] = [];
  const levels = new NodeLogLevels((_, event) => lines.push(event), "info", CLOCK);
  levels.change("debug", 10_000, "alice");
  levels.change("error", 20_000, "bob");
  expect(levels.view).toMatchObject({ level: "error", untilWallMs: 1_020_000 });
  // Even then.
  expect(lines).toHaveLength(2);
  levels.change("debug", 0, "bob");
  expect(levels.view).toEqual({ level: "info", usual: "info", untilWallMs: null });
  expect(lines).toHaveLength(3);
});

it("the audit says who changed it, for how long, and not who looked at it", async () => {
  const directory = mkdtempSync(join(tmpdir(), "holdfast-level-"));
  const host = "127.0.0.1";
  const [port = 0] = await freePorts(1);
  const node = await startNode({
    ...{ id: 1, dataDirectory: directory, audit: true, listen: { host, port: 0 } },
    ...{ peerListen: { host, port }, initialCluster: [{ id: 1, address: { host, port } }] },
  });
  try {
    await using admin = await connectAdmin({ endpoints: [node.endpoint] });
    await admin.logLevel();
    await admin.setLogLevel("error", { forMs: 60_000 });
    const changes = async () => {
      const { entries } = await admin.audit();
      return entries.filter(({ what }) => what === "logLevel");
    };
    await expect.poll(changes).toMatchObject([
      {
        ...{ kind: "operation", identity: "anonymous", address: host, outcome: "done" },
        details: { level: "error", forMs: 60_000 },
      },
    ]);
  } finally {
    await node.stop();
    rmSync(directory, { recursive: true, force: true });
  }
});
