/**
 * The page on the client port of real nodes: what is served to whom, under which headers, and which
 * pages may connect.
 */
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { get, type IncomingMessage } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { afterAll, beforeAll, expect, test } from "vitest";
import { freePorts } from "../../lab/free-ports.js";
import { connectAdmin } from "../../src/index.js";
import { type NodeOptions, type RunningNode, startNode } from "../../src/server/index.js";
import { knock } from "../e2e/world/knock.js";

const LOOPBACK = "127.0.0.1";
const BROWSER = { accept: "text/html,application/xhtml+xml,*/*;q=0.8" };

let directory = "";
let nodes: RunningNode[] = [];
/** A cluster of one, without the page. */
let bare: RunningNode;

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), "holdfast-page-"));
  const peerPorts = await freePorts(3);
  const options = (name: string, ids: readonly number[], more: Partial<NodeOptions>) =>
    ids.map((id) => ({
      id,
      dataDirectory: join(directory, `${name}${id}`),
      listen: { host: LOOPBACK, port: 0 },
      peerListen: { host: LOOPBACK, port: peerPorts[ids.length === 1 ? 2 : id - 1] ?? 0 },
      initialCluster: ids.map((one) => ({
        id: one,
        address: { host: LOOPBACK, port: peerPorts[ids.length === 1 ? 2 : one - 1] ?? 0 },
      })),
      ...more,
    }));
  const all = [...options("n", [1, 2], {}), ...options("bare", [1], { dashboard: false })];
  const started = await Promise.all(all.map((one) => startNode(one)));
  nodes = started.slice(0, 2);
  bare = started[2] as RunningNode;
  await using admin = await connectAdmin({ endpoints: nodes.map(({ endpoint }) => endpoint) });
  await admin.members();
});

afterAll(async () => {
  await Promise.all([...nodes, bare].map((node) => node?.stop()));
  rmSync(directory, { recursive: true, force: true });
});

function node(id: number): RunningNode {
  return nodes[id - 1] as RunningNode;
}

interface Page {
  readonly status: number | undefined;
  readonly headers: IncomingMessage["headers"];
  readonly body: Buffer;
}

async function page(from: RunningNode, path: string, headers: Record<string, string> = BROWSER) {
  const request = get({ host: LOOPBACK, port: from.clientPort, path, headers });
  const [response] = (await once(request, "response")) as [IncomingMessage];
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  const { statusCode: status } = response;
  return { status, headers: response.headers, body: Buffer.concat(chunks) } satisfies Page;
}

test("a browser gets the page, and every file that it names", async () => {
  const { status, headers, body } = await page(node(1), "/");
  expect(status).toBe(200);
  expect(headers["content-type"]).toBe("text/html; charset=utf-8");
  const named = [...body.toString().matchAll(/(?:src|href)="([^"]+)"/g)].map(([, name]) => name);
  expect(named).toHaveLength(3);
  for (const name of named) {
    const file = await page(node(1), `/${name}`, {});
    expect(file.status).toBe(200);
    expect(file.headers["cache-control"]).toBe("public, max-age=31536000, immutable");
    expect(file.headers["x-content-type-options"]).toBe("nosniff");
    expect(file.headers["referrer-policy"]).toBe("no-referrer");
    const packed = await page(node(1), `/${name}`, { "accept-encoding": "gzip, br" });
    expect(packed.headers["content-encoding"]).toBe("gzip");
    expect(gunzipSync(packed.body).equals(file.body)).toBe(true);
  }
});

test("who takes no gzip, or refuses it, gets the file as it is", async () => {
  for (const encoding of ["identity", "gzip;q=0", "br, gzip; q=0.0, deflate", ""]) {
    const { headers } = await page(node(1), "/", { ...BROWSER, "accept-encoding": encoding });
    expect(headers["content-encoding"]).toBeUndefined();
  }
  for (const encoding of ["gzip", "br;q=0, gzip;q=0.5", "GZIP"]) {
    const { headers, body } = await page(node(1), "/", { ...BROWSER, "accept-encoding": encoding });
    expect(headers["content-encoding"]).toBe("gzip");
    expect(gunzipSync(body).toString()).toContain("<html");
  }
});

test("the policy of the page lets it connect to its node and to the other members", async () => {
  const { headers } = await page(node(1), "/");
  const own = `${LOOPBACK}:${node(1).clientPort}`;
  expect(String(headers["content-security-policy"]).split("; ")).toEqual([
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self'",
    `connect-src 'self' ws://${own} wss://${own} ${node(2).endpoint}`,
    "frame-ancestors 'none'",
    "base-uri 'none'",
    "form-action 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ]);
  expect(headers["referrer-policy"]).toBe("no-referrer");
  expect(headers["x-content-type-options"]).toBe("nosniff");
  expect(headers["cache-control"]).toBe("no-cache");
});

test("a program that asks for no page gets the line of text", async () => {
  const { headers, body } = await page(node(1), "/", { accept: "*/*" });
  expect(body.toString()).toMatch(/^holdfast \S+, node 1\n$/);
  expect(headers["content-type"]).toBe("text/plain; charset=utf-8");
});

test("nothing but the files of the page is served, whatever a path says", async () => {
  for (const path of ["/files.json", "/index.html", "/../package.json", "/%2e%2e/package.json"]) {
    expect((await page(node(1), path)).status).toBe(404);
  }
});

test("pages of this node and of members may connect, and no others", async () => {
  const own = `${LOOPBACK}:${node(1).clientPort}`;
  const other = `${LOOPBACK}:${node(2).clientPort}`;
  expect(await knock(node(1).endpoint, `http://${own}`, own)).toBe(101);
  expect(await knock(node(1).endpoint, `https://${own}`, own)).toBe(101);
  expect(await knock(node(1).endpoint, `http://${other}`, own)).toBe(101);
  expect(await knock(node(1).endpoint, "http://localhost:3000", own)).toBe(403);
  expect(await knock(node(1).endpoint, `http://${LOOPBACK}:1`, own)).toBe(403);
  expect(await knock(node(1).endpoint, "null", own)).toBe(403);
});

test("a page that reaches this node by a name of its own may not connect", async () => {
  const rebound = `evil.example:${node(1).clientPort}`;
  expect(await knock(node(1).endpoint, `http://${rebound}`, rebound)).toBe(403);
});

test("a node without the page serves the line of text, and lets no page connect", async () => {
  const own = `${LOOPBACK}:${bare.clientPort}`;
  expect((await page(bare, "/")).body.toString()).toMatch(/^holdfast \S+, node 1\n$/);
  expect(await knock(bare.endpoint, `http://${own}`, own)).toBe(403);
});

test("a stranger to a closed cluster gets the page, and hears of no member", async () => {
  const endpoints = nodes.map(({ endpoint }) => endpoint);
  await using admin = await connectAdmin({ endpoints });
  await admin.access.addIdentity("boss");
  await admin.access.grant("boss", "admin", { prefix: "" });
  const { token } = await admin.access.createToken("boss");
  await admin.access.revoke("anonymous", { prefix: "" });
  const signedIn = await connectAdmin({ endpoints, token });
  try {
    // Both nodes have applied it once each has answered a read that came after it.
    for (const endpoint of endpoints) {
      await using one = await connectAdmin({ endpoints: [endpoint], token, followLeader: false });
      await one.whoAmI();
    }
    const stranger = await page(node(1), "/");
    expect(stranger.status).toBe(200);
    expect(stranger.headers["content-security-policy"]).not.toContain(`:${node(2).clientPort}`);
    expect((await page(node(1), "/", { accept: "*/*" })).status).toBe(401);
    const known = await page(node(1), "/", { ...BROWSER, authorization: `Bearer ${token}` });
    expect(known.headers["content-security-policy"]).toContain(node(2).endpoint);
  } finally {
    await signedIn.access.grant("anonymous", "admin", { prefix: "" });
    await signedIn.close();
  }
});
