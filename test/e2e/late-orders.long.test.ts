/**
 * An order whose first copy lies in a stopped leader, which takes it up when it goes on: by then it was
 * answered by another node, and undone. Real processes.
 */
import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import { connectAdmin } from "../../src/index.js";
import { startCluster } from "./world/cluster-process.js";

const TIMEOUT_MS = 9_000;
/** After this the SDK asks another node. */
const SILENCE_MS = 2_500;
/** How long a node that goes on may take to pass on what it has. */
const AWAKE_MS = 1_500;

test("a grant that was taken away does not come back with the leader that had its first copy", async () => {
  await using cluster = await startCluster();
  const leader = await cluster.leader();
  const endpoints = cluster.endpoints.filter((endpoint) => endpoint !== leader.endpoint);
  await using watching = await connectAdmin({ endpoints, timeoutMs: TIMEOUT_MS });
  await watching.access.addIdentity("amber");
  const isAllowed = async () => {
    return (await watching.access.check("amber", "acquire", { key: "k" })).isAllowed;
  };
  const limitOf = async () => (await watching.inspect("s")).limit;

  await using operator = await connectAdmin({
    endpoints: [leader.endpoint],
    timeoutMs: TIMEOUT_MS,
  });
  // From now on it is connected to the leader, and knows the others.
  await operator.access.grant("amber", "observe", { key: "k" });
  await operator.setLimit("s", 2);
  process.kill(leader.pid, "SIGSTOP");
  try {
    const startedMs = performance.now();
    await Promise.all([
      operator.access.grant("amber", "acquire", { key: "k" }),
      operator.setLimit("s", 3),
    ]);
    // Otherwise there was no first copy.
    expect(performance.now() - startedMs).toBeGreaterThan(SILENCE_MS - 100);
    expect([await isAllowed(), await limitOf()]).toEqual([true, 3]);
    await operator.access.revoke("amber", { key: "k" });
    await operator.setLimit("s", 4);
    expect([await isAllowed(), await limitOf()]).toEqual([false, 4]);
  } finally {
    process.kill(leader.pid, "SIGCONT");
  }
  await delay(AWAKE_MS);
  expect([await isAllowed(), await limitOf()]).toEqual([false, 4]);
}, 60_000);
