/** What the nodes answer to a new node that asks them for its cluster, and when it may not join. */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect, test } from "vitest";
import { demandNoVote, findCluster } from "../../../src/server/node/join-cluster.js";
import type { NodeLogger } from "../../../src/server/ports.js";
import { listenOnForbiddenPort } from "../../forbidden-port.js";

const CLUSTER = "c".repeat(32);
const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup();
});

interface Told {
  readonly commitIndex: number;
  readonly members: readonly unknown[];
}

const member = (id: number, role: string) => ({ id, role, address: `node-${id}:1` });

/** A node that says this of its cluster, as its first and every later answer. */
async function nodeThatSays(told: () => Told): Promise<string> {
  const server = createServer((_request, response) => {
    response.end(JSON.stringify({ clusterId: CLUSTER, ...told() }));
  });
  return listening(server);
}

async function listening(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  cleanups.push(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return `ws://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function find(...endpoints: readonly string[]) {
  return findCluster(3, endpoints, () => {}, undefined);
}

test("of those who name it, the one that knows most is believed", async () => {
  const early = await nodeThatSays(() => ({ commitIndex: 7, members: [member(3, "voter")] }));
  const late = await nodeThatSays(() => ({ commitIndex: 8, members: [member(3, "learner")] }));
  const other = await nodeThatSays(() => ({ commitIndex: 9, members: [member(1, "voter")] }));
  const found = await find(other, early, late);
  expect(found).toMatchObject({ clusterId: CLUSTER, commitIndex: 8 });
  expect(found.members).toEqual([{ id: 3, address: "node-3:1", isVoter: false }]);
  expect(() => demandNoVote(3, found, "n3")).not.toThrow();
});

test("a node is asked at any port, those included that no web page may ask", async () => {
  const server = createServer((_request, response) => {
    response.end(
      JSON.stringify({ clusterId: CLUSTER, commitIndex: 1, members: [member(3, "learner")] }),
    );
  });
  const port = await listenOnForbiddenPort(server);
  cleanups.push(() => new Promise((resolve) => server.close(resolve)));
  expect(await find(`ws://127.0.0.1:${port}`)).toMatchObject({ clusterId: CLUSTER });
});

test("only a list of members is an answer", async () => {
  const answers: Told[] = [
    { commitIndex: 1, members: [member(3, "")] },
    { commitIndex: 1, members: [{ id: 3, role: "voter" }] },
    { commitIndex: 1, members: [member(3, "voter"), null] },
    { commitIndex: 2, members: [member(3, "voter")] },
  ];
  let asked = 0;
  const node = await nodeThatSays(() => {
    asked += 1;
    return answers[asked - 1] ?? { commitIndex: 0, members: [] };
  });
  expect(await find(node)).toMatchObject({ commitIndex: 2 });
  expect(asked).toBe(4);
});

test("a closed cluster is shown the token, and what it refuses is said until it no longer does", async () => {
  const shown: (string | undefined)[] = [];
  const server = createServer(({ headers }, response) => {
    shown.push(headers.authorization);
    const isKnown = headers.authorization === "Bearer good";
    const told = { clusterId: CLUSTER, commitIndex: 1, members: [member(3, "learner")] };
    response.writeHead(isKnown ? 200 : 401).end(isKnown ? JSON.stringify(told) : "no\n");
  });
  const url = await listening(server);
  const tokens = [undefined, "bad", "good"];
  const told: unknown[] = [];
  const log: NodeLogger = (_level, _message, fields) => told.push(fields?.["unreachable"]);
  const logged = async (endpoint: string, token: string | undefined): Promise<void> => {
    const stop = new AbortController();
    const logAndStop: NodeLogger = (...line) => {
      log(...line);
      stop.abort();
    };
    const proof = { token: async () => token };
    await findCluster(3, [endpoint], logAndStop, stop.signal, proof).catch(() => undefined);
  };
  for (const token of tokens.slice(0, 2)) await logged(url, token);
  // Another way to this machine, which does not look like one.
  await logged(url.replace("127.0.0.1", "0.0.0.0"), "good");
  expect(told).toEqual([
    `${url}: the cluster is secured: this node needs an access token (HOLDFAST_ACCESS_TOKEN_FILE)`,
    `${url}: the cluster is secured: its access token is not known there, has expired, or has no permission`,
    `${url.replace("127.0.0.1", "0.0.0.0")}: the cluster is secured: an access token is sent ` +
      "through wss: only, except on this machine",
  ]);
  expect(shown).toEqual([undefined, "Bearer bad", undefined]);
  const proof = { token: async () => tokens.pop() };
  const found = await findCluster(3, [url], () => {}, undefined, proof);
  expect(found).toMatchObject({ clusterId: CLUSTER });
});

test("who votes must not join with a directory that knows nothing", async () => {
  const voter = await nodeThatSays(() => ({ commitIndex: 7, members: [member(3, "voter")] }));
  const found = await find(voter);
  expect(() => demandNoVote(3, found, "n3")).toThrowError(
    expect.objectContaining({
      code: "FORBIDDEN",
      message:
        "node 3 votes in that cluster but n3 has none of its data: " +
        "bring it back with holdfast recover",
    }),
  );
  expect(() => demandNoVote(4, found, "n4")).not.toThrow();
});
