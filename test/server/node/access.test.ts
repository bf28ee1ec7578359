/** `access` of a real node: kept in its directory, whatever the options of the next start. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { freePorts } from "../../../lab/free-ports.js";
import { clusterStatus, connect } from "../../../src/index.js";
import { type NodeOptions, type RunningNode, startNode } from "../../../src/server/index.js";

const LOOPBACK = "127.0.0.1";
let directory: string;
let node: RunningNode | undefined;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "holdfast-access-"));
});

afterEach(async () => {
  await node?.stop();
  rmSync(directory, { recursive: true, force: true });
});

async function restarted(changed: Partial<NodeOptions>, peerPort: number): Promise<RunningNode> {
  await node?.stop();
  const address = { host: LOOPBACK, port: peerPort };
  node = await startNode({
    ...{ id: 1, dataDirectory: join(directory, "n1"), listen: { host: LOOPBACK, port: 0 } },
    ...{ peerListen: address, initialCluster: [{ id: 1, address }] },
    ...changed,
  });
  return node;
}

async function outcome(endpoint: string): Promise<string> {
  try {
    await using _client = await connect({ endpoints: [endpoint], connectTimeoutMs: 5_000 });
    return "served";
  } catch (error) {
    return (error as { readonly code: string }).code;
  }
}

test("that is required stays so until it is taken back, and never shuts the local socket", async () => {
  const [peerPort = 0] = await freePorts(1);
  const local = `unix:${join(directory, "n1")}`;
  const steps: [Partial<NodeOptions>, string][] = [
    [{}, "served"],
    [{ access: "required" }, "UNAUTHENTICATED"],
    [{}, "UNAUTHENTICATED"],
    [{ access: "open" }, "served"],
    [{}, "served"],
  ];
  for (const [changed, expected] of steps) {
    const { endpoint, clientPort } = await restarted(changed, peerPort);
    expect(await outcome(endpoint)).toBe(expected);
    expect(await outcome(local)).toBe("served");
    const [report] = await clusterStatus([endpoint]);
    expect(report?.isReachable).toBe(expected === "served");
    expect((await fetch(`http://${LOOPBACK}:${clientPort}/livez`)).status).toBe(200);
    expect((await clusterStatus([local]))[0]?.isReachable).toBe(true);
  }
});
