/** For whom the HTTP door speaks: identities, certificates, the local socket, and pages of browsers. */
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { connect, connectAdmin } from "../../../src/index.js";
import { DoorWorld } from "./door-world.js";

const OWNER = "Holdfast-Owner";

describe("a caller of a closed cluster", () => {
  let world: DoorWorld;
  let local: string;

  beforeAll(async () => {
    world = await DoorWorld.start(1, { access: "required" });
    local = join(world.directory, "n1");
  });

  afterAll(() => world.stop());

  async function tokenOf(identity: string, prefix: string): Promise<string> {
    await using admin = await connectAdmin({ endpoints: [`unix:${local}`] });
    await admin.access.addIdentity(identity);
    await admin.access.grant(identity, "acquire", { prefix });
    const { token } = await admin.access.createToken(identity);
    return token;
  }

  const bearer = (token: string) => ({ headers: { Authorization: `Bearer ${token}` } });

  test("is asked for a token", async () => {
    const answer = await world.take("k", "a");
    expect(answer.status).toBe(401);
    expect(answer.headers["www-authenticate"]).toBe("Bearer");
    const wrong = await world.take("k", "a", "ttl=30s", bearer("hft_nobodys"));
    expect([wrong.status, wrong.body.code]).toEqual([401, "UNAUTHENTICATED"]);
    expect(wrong.text).not.toContain("hft_nobodys");
  });

  test("has the rights of its identity, whose leases no other identity ends", async () => {
    const [a, b] = [await tokenOf("team-a", "a/"), await tokenOf("team-b", "")];
    const taken = await world.take("a/1", "same", "ttl=30s", bearer(a));
    expect(taken.status).toBe(200);
    const refused = await world.take("b/1", "same", "ttl=30s", bearer(a));
    expect([refused.status, refused.body.code]).toEqual([403, "FORBIDDEN"]);
    const headers = { ...bearer(b).headers, [OWNER]: "same" };
    const other = await world.ask("DELETE", "/v1/lock?key=a/1", { headers });
    expect(other.body).toMatchObject({ released: false, reason: "unknown" });
    const seen = await world.ask("GET", "/v1/lock?key=a/1", bearer(b));
    expect(seen.body.holds).toMatchObject([{ token: taken.body.token, identity: "team-a" }]);
  });

  test("is refused at once when its token is removed", async () => {
    const token = await tokenOf("leaver", "c/");
    expect((await world.take("c/1", "a", "ttl=30s", bearer(token))).status).toBe(200);
    const waiting = world.take("c/1", "b", "ttl=30s&wait=60s", bearer(token));
    await using admin = await connectAdmin({ endpoints: [`unix:${local}`] });
    await vi.waitFor(async () => {
      expect((await admin.inspect("c/1")).waiters).toHaveLength(1);
    });
    await admin.access.removeIdentity("leaver");
    expect([401, 403, 503]).toContain((await waiting).status);
    expect((await world.take("c/2", "a", "ttl=30s", bearer(token))).status).toBe(401);
  });

  test("is local through the socket in the directory, whatever token it shows", async () => {
    const socketPath = join(local, "local.sock");
    const taken = await world.take("d/1", "a", "ttl=30s", { socketPath });
    expect(taken.status).toBe(200);
    const shown = await world.ask("GET", "/v1/lock?key=d/1", {
      socketPath,
      ...bearer("hft_wrong"),
    });
    expect(shown.body.holds).toMatchObject([{ identity: "local" }]);
  });

  test("is known to the node by its address and the name of its doors", async () => {
    const token = await tokenOf("seen", "e/");
    await world.take("e/1", "a", "ttl=30s", bearer(token));
    await using client = await connect({ endpoints: [`unix:${local}`] });
    const { sessions } = await client.sessionsPage();
    expect(sessions.find(({ identity }) => identity === "seen")).toMatchObject({
      ...{ name: "doors of node 1", address: "127.0.0.1", holds: 0 },
    });
  });
});

describe("a page of a browser", () => {
  let world: DoorWorld;
  const LISTED = "https://ops.example";

  beforeAll(async () => {
    world = await DoorWorld.start(1, { allowedOrigins: [LISTED] });
  });

  afterAll(() => world.stop());

  test.each([
    [{ Origin: "https://evil.example" }],
    [{ Origin: "null" }],
    [{ "Sec-Fetch-Site": "cross-site" }],
    [{ "Sec-Fetch-Site": "same-site" }],
    [{ Origin: "http://127.0.0.1:1" }],
  ])("is refused for every method with %o", async (headers) => {
    const paths = ["/v1/lock?key=k&ttl=1s", "/v1/locks", "/v1/watch", "/v1/openapi.json"];
    for (const method of ["GET", "PUT", "POST", "DELETE", "HEAD", "OPTIONS"]) {
      for (const path of paths) {
        const answer = await world.ask(method, path, { headers: { [OWNER]: "a", ...headers } });
        expect(answer.status).toBe(403);
        expect(answer.headers["access-control-allow-origin"]).toBeUndefined();
      }
    }
    expect((await world.ask("GET", "/v1/lock?key=k")).body.holds).toEqual([]);
  });

  test("of the node itself may not take locks by requests, only as a client", async () => {
    const headers = { Origin: `http://127.0.0.1:${world.port()}` };
    expect((await world.take("k", "a", "ttl=1s", { headers })).status).toBe(403);
  });

  test("of a listed origin may ask, and read the answer", async () => {
    const headers = { Origin: LISTED, "Sec-Fetch-Site": "cross-site" };
    const before = await world.ask("OPTIONS", "/v1/lock", {
      headers: { ...headers, "Access-Control-Request-Method": "PUT" },
    });
    expect(before.status).toBe(204);
    expect(before.headers).toMatchObject({
      "access-control-allow-origin": LISTED,
      "access-control-allow-methods": "PUT, DELETE, GET, HEAD, OPTIONS",
      "access-control-allow-headers": expect.stringContaining("Holdfast-Owner"),
      vary: "Origin",
    });
    const taken = await world.take("k", "a", "ttl=30s", { headers });
    expect(taken.status).toBe(200);
    expect(taken.headers["access-control-allow-origin"]).toBe(LISTED);
    expect(taken.headers["set-cookie"]).toBeUndefined();
  });
});

describe("the log of a node", () => {
  let world: DoorWorld;

  afterEach(() => world.stop());

  test("has each request at level debug, with its traceparent and without its owner", async () => {
    world = await DoorWorld.start(1, { logLevel: "debug" });
    const traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    await world.take("k", "a secret", "ttl=30s", { headers: { traceparent } });
    await vi.waitFor(() => {
      const lines = world.logged.filter(({ event }) => event === "http request");
      expect(lines.map(({ fields }) => fields)).toMatchObject([
        { method: "PUT", path: "/v1/lock", address: "127.0.0.1", status: 200, traceparent },
      ]);
    });
    expect(JSON.stringify(world.logged)).not.toContain("a secret");
  });
});
