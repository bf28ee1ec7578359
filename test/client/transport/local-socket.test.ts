/** The endpoint `unix:`: the socket in the data directory of a node, through which a client is `local`. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { freePorts } from "../../../lab/free-ports.js";
import { loadPlatform, loadReadPage } from "../../../src/client/transport/load-platform.js";
import { clusterStatus, connect, connectAdmin } from "../../../src/index.js";
import { type RunningNode, startNode } from "../../../src/server/index.js";

const LOOPBACK = "127.0.0.1";

describe("a client of the socket in a node's directory", () => {
  let directory: string;
  let data: string;
  let node: RunningNode;

  beforeAll(async () => {
    directory = mkdtempSync(join(tmpdir(), "holdfast-unix-"));
    // Spaces and percents are taken as they are, and the path is too long for a socket.
    data = join(directory, "a node's 100%25 data", "d".repeat(120));
    const [peerPort = 0] = await freePorts(1);
    const address = { host: LOOPBACK, port: peerPort };
    node = await startNode({
      ...{ id: 1, dataDirectory: data, listen: { host: LOOPBACK, port: 0 } },
      ...{ peerListen: address, initialCluster: [{ id: 1, address }] },
    });
  });

  afterAll(async () => {
    await node.stop();
    rmSync(directory, { recursive: true, force: true });
  });

  test.each([
    ["by its path", () => `unix:${data}/local.sock`],
    ["by its directory", () => `unix:${data}`],
    ["as a URL", () => `unix://${data}/`],
  ])("finds it %s, and stays there", async (_what, endpointOf) => {
    const endpoint = endpointOf();
    await using client = await connect({ endpoints: [endpoint], token: () => "never asked for" });
    await using lock = await client.acquire("k");
    expect(lock.token).toBeGreaterThan(0);
    expect(client.endpoints).toHaveLength(1);
    await using admin = await connectAdmin({ endpoints: [endpoint] });
    expect((await admin.members()).leaderId).toBe(1);
    const [report] = await clusterStatus([endpoint]);
    expect(report).toMatchObject({ isReachable: true, id: 1, role: "leader" });
  });

  test("learns in a sentence why there is none", async () => {
    const empty = join(directory, "empty");
    mkdirSync(empty);
    const reason = async (path: string): Promise<string> => {
      const endpoints = [`unix:${path}`];
      const [report] = await clusterStatus(endpoints);
      const told = report?.isReachable === false ? report.error.message : "reachable";
      const error = await connect({ endpoints, connectTimeoutMs: 300 }).catch((why: Error) => why);
      expect((error as Error).message).toContain(told);
      return told;
    };
    expect(await reason(empty)).toContain("there is no such socket: is the node running");
    expect(await reason(join(empty, "n1"))).toContain("there is no such socket");
    writeFileSync(join(empty, "file"), "");
    expect(await reason(join(empty, "file"))).toContain("no process serves this socket");
  });

  // Root may open everything; test/e2e/ports/local-socket.long.test.ts checks a command of another user.
  test.skipIf(process.getuid?.() === 0)("is refused for good as another user", async () => {
    const locked = join(directory, "locked");
    mkdirSync(locked, { mode: 0 });
    const endpoints = [`unix:${locked}`];
    // Much more than it needs: a client that tried on would do so for this long.
    for (const connecting of [
      () => connect({ endpoints, connectTimeoutMs: 600_000 }),
      () => connectAdmin({ endpoints, timeoutMs: 600_000 }),
    ]) {
      await expect(connecting()).rejects.toMatchObject({
        code: "FORBIDDEN",
        message: expect.stringMatching(/ refused this client: only the user who runs the node/),
      });
    }
  });
});

test("a local endpoint is the only one, and names a path", async () => {
  for (const endpoints of [["unix:"], ["unix:/n1", "ws://127.0.0.1:7411"], ["unix:/a\0b"]]) {
    await expect(connect({ endpoints })).rejects.toThrow(TypeError);
  }
});

test("a browser is told that it cannot open a socket in a directory", async () => {
  const host = globalThis as { process?: unknown };
  const { process } = host;
  const nothing = { ca: undefined, cert: undefined, key: undefined };
  const settings = { ...nothing, endpoints: ["unix:/n1"] };
  // It is asked for at once, and nothing else runs until it is back.
  host.process = undefined;
  const loading = [loadPlatform(settings), loadReadPage(settings)];
  host.process = process;
  for (const loaded of loading) {
    await expect(loaded).rejects.toThrow("unix: endpoints need Node.js");
  }
});
