/** Which sessions that wait run within others, as a nested run asks the cluster. */
import { expect, test } from "vitest";
import { nestedWaiters } from "../../../bin/run/nested-wait.js";
import { OP, QUERY_PAGE_MAX, WAIT_FOREVER } from "../../../src/protocol/index.js";
import { Client, ClusterLog, exclusive } from "../../lockfsm/plans/cluster-log.js";

const [HERE, ELSEWHERE] = ["0a".repeat(16), "0b".repeat(16)] as const;
const GRAPH_EDGES_MAX = 2_000;

function open(log: ClusterLog, nonce: string, metadata: string): Client {
  const command = { op: OP.open, nonce, attempt: 1, ttlMs: 60_000, name: "", metadata } as const;
  log.apply({ session: 0, epoch: 0, command });
  return new Client(log, log.attached.at(-1)?.session ?? 0, nonce);
}

test("nested sessions are found among hundreds that wait, unless they are nested in another cluster", async () => {
  const log = new ClusterLog();
  const [holder, own] = [log.open("holder"), log.open("own")];
  holder.take(exclusive("k"));
  const waiting = (nonce: string, metadata: string): Client => {
    const client = open(log, nonce, metadata);
    client.acquire(exclusive("k"), WAIT_FOREVER);
    return client;
  };
  const first = waiting("first", `within ${HERE}/${holder.session}`);
  for (let at = 0; at < 150; at += 1) waiting(`crowd ${at}`, "");
  // They do not wait.
  for (let at = 0; at < 2 * QUERY_PAGE_MAX; at += 1) open(log, `idle ${at}`, `within ${HERE}/7`);
  for (let at = 0; at < 150; at += 1) waiting(`late crowd ${at}`, "");
  waiting("of another cluster", `within ${ELSEWHERE}/${holder.session}`);
  const last = waiting("last", `within ${HERE}/${own.session} ${HERE}/${holder.session}`);
  let pages = 0;
  const client = {
    session: own.session,
    clusterId: HERE,
    sessionsPage: async ({ after = 0, limit = QUERY_PAGE_MAX } = {}) => {
      pages += 1;
      return log.table.listSessions(after ?? 0, limit);
    },
  };
  const graph = log.table.waitGraph(GRAPH_EDGES_MAX);
  const found = await nestedWaiters(client, graph, new AbortController().signal);
  expect(found).toEqual([
    { session: first.session, around: new Set([holder.session]) },
    { session: last.session, around: new Set([own.session, holder.session]) },
  ]);
  // Pages of those that do not wait are passed over.
  expect(pages).toBeLessThan(4);
});
