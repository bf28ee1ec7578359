import { expect, test } from "vitest";
import {
  consecutivePorts,
  planCluster,
  restartDelayMs,
} from "../../../bin/local-cluster/cluster-plan.js";

test("nodes are numbered from one and have ports, data and log of their own", () => {
  const plan = planCluster("data", "any", [7411, 7412], [7511, 7512]);
  expect(plan.endpoints).toEqual(["ws://127.0.0.1:7411", "ws://127.0.0.1:7412"]);
  expect(planCluster("data", "any", [7411], [7511], "wss").endpoints).toEqual([
    "wss://127.0.0.1:7411",
  ]);
  expect(plan.initialCluster).toBe("1=127.0.0.1:7511,2=127.0.0.1:7512");
  expect(plan.nodes[1]).toEqual({
    id: 2,
    name: "n2",
    listen: { host: "127.0.0.1", port: 7412 },
    peerListen: { host: "127.0.0.1", port: 7512 },
    endpoint: "ws://127.0.0.1:7412",
    dataDirectory: "data/n2",
    logFile: "data/n2.log",
  });
});

test("a port that would be used twice and one that does not exist are refused", () => {
  expect(consecutivePorts("--port", 7411, 3)).toEqual([7411, 7412, 7413]);
  expect(() => consecutivePorts("--port", 65_534, 3)).toThrow("port 65536");
  expect(() => planCluster("data", "any", [7411, 7412], [7412, 7413])).toThrow(
    "port 7412 would be both",
  );
  expect(() => planCluster("data", "any", [1], [2], "ws", [2])).toThrow(
    "port 2 would be both a peer port and a Redis port",
  );
  expect(() => planCluster("data", "any", [1], [2], "ws", [3], [3])).toThrow(
    "port 3 would be both a Redis port and a sentinel port",
  );
});

test("a node that keeps dying is started again ever later, up to a limit", () => {
  expect([1, 2, 3, 4, 5, 6, 7].map(restartDelayMs)).toEqual([
    500, 1_000, 2_000, 4_000, 8_000, 10_000, 10_000,
  ]);
  expect(restartDelayMs(2_000)).toBe(10_000);
});
