/** Unchanged clients at the door of a real node. */
import { afterAll, beforeAll, describe } from "vitest";
import { freePorts } from "../../../../lab/free-ports.js";
import { type ClusterProcess, startCluster } from "../../../e2e/world/cluster-process.js";
import { compareWithRedis } from "./comparison.js";

describe("the door of a node replies as Redis does", () => {
  let cluster: ClusterProcess;
  let port = 0;

  beforeAll(async () => {
    const ports = await freePorts(3);
    cluster = await startCluster({
      argumentsOf: (id) => [`--redis-listen=127.0.0.1:${ports[id - 1]}`],
    });
    const { id } = await cluster.leader();
    port = ports[id - 1] as number;
  });

  afterAll(async () => {
    await cluster[Symbol.asyncDispose]();
  });

  compareWithRedis((use) => use({ port }));
});
