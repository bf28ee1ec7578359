/**
 * Three real nodes of a closed cluster, with limits by identity: clients of one identity take locks as
 * fast as they can, and another identity is served as if they were not there.
 */
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Client, connect } from "../../../src/index.js";
import { STATUS } from "../../../src/protocol/index.js";
import { readPage } from "../../../src/reach/read-page.js";
import { closingOrders } from "../../server/world/closed-cluster.js";
import { SocketClient } from "../../server/world/socket-client.js";
import { type ClusterProcess, startCluster } from "../world/cluster-process.js";

const COMMANDS_PER_SECOND_MAX = 200;
const GREEDY_CLIENTS = 10;
/** Two commands each, and far fewer than the limit, at whichever node. */
const MODEST_ROUNDS = 25;

let cluster: ClusterProcess;
beforeAll(async () => {
  cluster = await startCluster({
    serverArguments: [`--identity-limit=commands=${COMMANDS_PER_SECOND_MAX}`],
  });
  const admin = await SocketClient.connect((await cluster.leader()).endpoint);
  for (const order of closingOrders({ greedy: "acquire", modest: "acquire" })) {
    expect((await admin.order(order)).result.status).toBe(STATUS.ok);
  }
  admin.close();
});
afterAll(() => cluster.stop());

/** How often commands of an identity exceeded their limit, on all nodes together. */
async function exceededTotal(): Promise<number> {
  let total = 0;
  for (const { endpoint } of cluster.nodes) {
    const url = `${endpoint.replace("ws:", "http:")}/metrics`;
    const { text } = await readPage(url, AbortSignal.timeout(10_000), undefined, "root");
    const line = /^holdfast_limit_exceeded_total\{by="identity",limit="commands"\} (\d+)$/m;
    const count = Number(line.exec(text)?.[1]);
    expect(count).toBeGreaterThanOrEqual(0);
    total += count;
  }
  return total;
}

test("a flood of one identity is held back, and another identity is served meanwhile", async () => {
  const { endpoints } = cluster;
  const greedy: Client[] = [];
  for (let number = 0; number < GREEDY_CLIENTS; number += 1) {
    greedy.push(await connect({ endpoints, token: "greedy" }));
  }
  let isOn = true;
  let taken = 0;
  const flood = greedy.map(async (client, number) => {
    for (let round = 0; isOn; round += 1) {
      const lock = await client.acquire(`greedy/${number}/${round}`);
      taken += 1;
      await lock.release();
    }
  });
  while ((await exceededTotal()) === 0) await Promise.race([...flood, Promise.resolve()]);
  await using modest = await connect({ endpoints, token: "modest" });
  for (let round = 0; round < MODEST_ROUNDS; round += 1) {
    const lock = await modest.acquire("modest");
    await lock.release();
  }
  isOn = false;
  // None failed: what was refused was sent again.
  await Promise.all(flood);
  expect(taken).toBeGreaterThan(COMMANDS_PER_SECOND_MAX / 2);
  for (const client of greedy) await client.close();
  const lines = cluster.nodes.flatMap(({ stderr }) => stderr.match(/limit exceeded.*/g) ?? []);
  const ofCommands = lines.filter((line) => !line.includes("limit=loop"));
  expect(ofCommands.length).toBeGreaterThan(0);
  for (const line of ofCommands) expect(line).toContain("limit=commands identity=greedy max=200");
});
