/**
 * How a client proves who it is: where its access token goes and where it never does, what it says of a
 * token that is refused, and what happens when a credential is removed while it is connected.
 */
import { inspect } from "node:util";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  ADMIN_DEFAULTS,
  type Admin,
  CLIENT_DEFAULTS,
  type Client,
  connect,
  connectAdmin,
  connectAdminOn,
  connectOn,
} from "../../../src/client/index.js";
import { accessTokenOf } from "../../../src/client/transport/access-token.js";
import type { TokenSource } from "../../../src/client/transport/sign-in.js";
import type { HoldfastError } from "../../../src/errors/index.js";
import { failure, rejection } from "../world/set-up.js";
import { SimulatedPlatform } from "../world/simulated-platform.js";
import { SimulatedWorld } from "../world/simulated-world.js";
import { TableServer } from "../world/table-server.js";

const secure = (id: number): string => `wss://node-${id}:7411`;

interface Scene {
  readonly world: SimulatedWorld;
  readonly server: TableServer;
  /** As `anonymous`, who has `admin`. */
  readonly admin: Admin;
}

async function scene(endpointOf: (id: number) => string = secure): Promise<Scene> {
  const world = new SimulatedWorld(1);
  const server = new TableServer(world, 3, endpointOf);
  return { world, server, admin: await adminOf(server) };
}

function adminOf(server: TableServer, token?: TokenSource, timeoutMs = 3_000): Promise<Admin> {
  const platform = new SimulatedPlatform(server.world, server);
  const settings = { ...ADMIN_DEFAULTS, endpoints: server.endpoints, token, timeoutMs };
  return server.world.until(connectAdminOn(platform, settings));
}

function connecting(
  server: TableServer,
  token: TokenSource,
  endpoints: readonly string[] = server.endpoints,
): Promise<Client> {
  const platform = new SimulatedPlatform(server.world, server);
  const settings = { ...CLIENT_DEFAULTS, endpoints, token, connectTimeoutMs: 3_000 };
  return connectOn(platform, settings);
}

/** An identity that may acquire everything, and its token. */
async function makeWorker({ world, admin }: Scene, label = "first"): Promise<string> {
  await world.until(admin.access.addIdentity("worker"));
  await world.until(admin.access.grant("worker", "acquire", { prefix: "" }));
  return (await world.until(admin.access.createToken("worker", { label }))).token;
}

describe("a client with a token", () => {
  it("speaks for the identity of the token, with an admin connection too", async () => {
    const each = await scene();
    const { world, server } = each;
    const token = await makeWorker(each);
    const client = await world.until(connecting(server, token));
    expect(await world.until(client.whoAmI())).toMatchObject({ name: "worker" });
    const admin = await adminOf(server, token);
    expect(await world.until(admin.whoAmI())).toEqual({
      name: "worker",
      grants: [{ key: "", isPrefix: true, level: "acquire" }],
    });
    expect(await world.until(each.admin.whoAmI())).toMatchObject({ name: "anonymous" });
  });

  it("shows it only where TLS protects it, or to this machine", async () => {
    const at: Readonly<Record<number, string>> = {
      1: "ws://10.0.0.1:7411",
      2: "wss://node-2:7411",
      3: "ws://127.0.0.1:7411",
    };
    for (const given of [[1, 2, 3], [1, 3], [2]]) {
      const each = await scene((id) => at[id] ?? "");
      const { world, server } = each;
      const token = await makeWorker(each);
      for (const leaderId of [1, 2, 3]) {
        server.leaderId = leaderId;
        const client = await world.until(
          connecting(
            server,
            token,
            given.map((id) => at[id] ?? ""),
          ),
        );
        await world.until(client.close());
      }
      expect(server.shown.length).toBeGreaterThanOrEqual(3);
      expect(server.shown.map(({ nodeId }) => nodeId)).not.toContain(1);
    }
  });

  it("never follows a verified node to one without TLS, be it the leader", async () => {
    const at = (id: number): string => (id === 1 ? secure(1) : `ws://127.0.0.1:741${id}`);
    const each = await scene(at);
    const { world, server } = each;
    const token = await makeWorker(each);
    server.leaderId = 2;
    const opened = server.opened.length;
    const client = await world.until(connecting(server, token, [secure(1)]));
    await world.until(client.acquire("k"));
    expect(server.shown.map(({ nodeId }) => nodeId)).toEqual([1]);
    expect(new Set(server.opened.slice(opened))).toEqual(new Set([1]));
  });

  it("asks a function for it at each connection", async () => {
    const each = await scene();
    const { world, server } = each;
    // The node that is asked first may name another one as the leader.
    const tokens: string[] = [];
    for (const label of ["a", "b", "c", "d"]) tokens.push(await makeWorker(each, label));
    let asked = 0;
    const source = async (): Promise<string> => {
      asked += 1;
      return tokens[asked - 1] ?? "none";
    };
    const platform = new SimulatedPlatform(world, server);
    const settings = { ...CLIENT_DEFAULTS, endpoints: server.endpoints, token: source };
    const client = await world.until(connectOn(platform, settings));
    const lock = await world.until(client.acquire("k"));
    const askedBefore = asked;
    platform.connection?.cut();
    await world.until(client.whoAmI());
    expect(asked).toBeGreaterThan(askedBefore);
    expect(server.shown.map(({ token }) => token)).toEqual(tokens.slice(0, asked));
    expect(lock.isHeld).toBe(true);
  });

  it("asks the function again after it failed, and reports its reason if it goes on so", async () => {
    const each = await scene();
    const { world, server } = each;
    const token = await makeWorker(each);
    let failures = 4;
    const source = (): string => {
      failures -= 1;
      if (failures >= 0) throw new Error("the vault is sealed");
      return token;
    };
    const client = await world.until(connecting(server, source));
    expect(client.session).toBeGreaterThan(0);
    failures = Number.POSITIVE_INFINITY;
    const error = await failure(world, connecting(server, source));
    expect(error).toMatchObject({ code: "UNAVAILABLE" });
    expect(error.message).toContain("no access token: Error: the vault is sealed");
    const slow = await failure(
      world,
      connecting(server, () => new Promise(() => undefined)),
    );
    expect(slow).toMatchObject({ code: "UNAVAILABLE" });
    expect(slow.message).toContain("no answer in time");
  });

  it.each([
    ["", /no access token/],
    ["ä", /no access token/],
    ["hf_short", /damaged/],
  ])("does not send what the function gives if that is not a token: %j", async (wrong, reason) => {
    const { world, server } = await scene();
    const { code, message } = await failure(
      world,
      connecting(server, () => wrong),
    );
    expect([code, message]).toEqual(["INVALID_ARGUMENT", expect.stringMatching(reason)]);
    expect(server.shown).toEqual([]);
  });
});

describe("a token that the cluster refuses", () => {
  it("is UNAUTHENTICATED after three refusals, with the node and the reason", async () => {
    const each = await scene();
    const { world, server } = each;
    await makeWorker(each);
    const unknown = "some-token-of-another-cluster";
    const error = await failure(world, connecting(server, unknown));
    expect(error).toMatchObject({ code: "UNAUTHENTICATED", retryable: false });
    expect(error.message).toMatch(
      /^wss:\/\/node-\d:7411 refused the access token: unknown credential$/,
    );
    expect(server.shown).toHaveLength(3);
    const shown = server.shown.length;
    await world.run(10_000);
    expect(server.shown).toHaveLength(shown);
    const admin = rejection(world, adminOf(server, unknown));
    expect(await admin).toMatchObject({ code: "UNAUTHENTICATED" });
  });

  it("or has expired", async () => {
    const each = await scene();
    const { world, server, admin } = each;
    await makeWorker(each);
    const expiresWallMs = 1_700_000_000_000 + Math.ceil(world.nowMs) + 60_000;
    const short = { label: "short", expiresWallMs };
    const { token } = await world.until(admin.access.createToken("worker", short));
    const client = await world.until(connecting(server, token));
    await world.run(70_000);
    expect(client.closed.reason).toMatchObject({ code: "UNAUTHENTICATED" });
    const error = await failure(world, connecting(server, token));
    expect([error.code, error.message]).toEqual([
      "UNAUTHENTICATED",
      expect.stringMatching(/refused the access token: expired$/),
    ]);
  });

  it.each(["busy", "closed"] as const)(
    "for now is shown again until it is looked at: %s",
    async (signIn) => {
      const each = await scene();
      const { world, server } = each;
      const token = await makeWorker(each);
      server.faults.signIn = signIn;
      world.after(2_000, () => {
        server.faults.signIn = "works";
      });
      const client = await world.until(connecting(server, token));
      expect(await world.until(client.whoAmI())).toMatchObject({ name: "worker" });
      expect(server.shown.length).toBeGreaterThan(4);
      server.faults.signIn = signIn;
      const error = await failure(world, connecting(server, token));
      expect(error).toMatchObject({ code: "UNAVAILABLE", retryable: true });
    },
  );
});

describe("a credential that is removed while a client is connected", () => {
  it("ends the client, which says why to its locks and its user", async () => {
    const each = await scene();
    const { world, server, admin } = each;
    const client = await world.until(connecting(server, await makeWorker(each)));
    const lock = await world.until(client.acquire("k"));
    const waiting = rejection(world, client.acquire("k"), 1_000);
    await world.until(admin.access.removeCredential("worker", "first"));
    await world.run(500);
    const reason = client.closed.reason as HoldfastError;
    expect(reason).toMatchObject({ code: "UNAUTHENTICATED" });
    expect(reason.message).toContain("refused the access token");
    expect(lock.signal.reason).toMatchObject({
      code: "LOCK_LOST",
      message: expect.stringContaining("no longer accepts the credential"),
      details: { reason: "unauthenticated" },
    });
    const { code, message } = reason;
    expect(await waiting).toMatchObject({ code, message, details: { indeterminate: true } });
    expect(await rejection(world, client.acquire("other"))).toMatchObject({
      code: expect.stringMatching(/^(CANCELLED|UNAUTHENTICATED)$/),
    });
    // The session lives on until its lease ends, for a client with another credential.
    expect(server.table.inspect("k").holds).toHaveLength(1);
  });

  it("costs nothing if the function then gives another one of the same identity", async () => {
    const each = await scene();
    const { world, server, admin } = each;
    let token = await makeWorker(each);
    const client = await world.until(connecting(server, () => token));
    const lock = await world.until(client.acquire("k"));
    token = await makeWorker(each, "second");
    await world.until(admin.access.removeCredential("worker", "first"));
    await world.until(client.acquire("other"));
    expect([lock.isHeld, client.closed.aborted]).toEqual([true, false]);
  });

  it("or by removing its identity", async () => {
    const each = await scene();
    const { world, server, admin } = each;
    const client = await world.until(connecting(server, await makeWorker(each)));
    const lock = await world.until(client.acquire("k"));
    await world.until(admin.access.removeIdentity("worker"));
    await world.run(500);
    expect(client.closed.reason).toMatchObject({ code: "UNAUTHENTICATED" });
    expect(lock.isHeld).toBe(false);
    expect(server.table.inspect("k").holds).toEqual([]);
  });
});

describe("the option token", () => {
  const token = `hf_${"x".repeat(48)}`;

  it("is refused at once where no endpoint may be sent it", async () => {
    for (const endpoints of [
      ["ws://10.0.0.1:7411"],
      ["ws://localhost.example:7411"],
      ["ws://127.0.0.1.example:7411", "ws://[::2]:7411"],
      ["ws://128.0.0.1:7411"],
    ]) {
      const error = (await rejectionOf(connect({ endpoints, token: "t" }))) as HoldfastError;
      expect([endpoints, error.code]).toEqual([endpoints, "INVALID_ARGUMENT"]);
      expect(error.message).toContain("only through wss:// or to this machine");
    }
    const platform = { signal: AbortSignal.abort(new Error("it was accepted")) };
    for (const endpoint of ["ws://localhost:1", "ws://127.0.0.9:1", "ws://[::1]:1", "wss://a:1"]) {
      const options = { endpoints: [endpoint], token: "t", ...platform };
      await expect(connect(options)).rejects.toThrow("it was accepted");
      await expect(connectAdmin(options)).rejects.toThrow("it was accepted");
    }
  });

  it("is refused if it cannot be one, and never shown", async () => {
    const local = ["ws://127.0.0.1:1"];
    for (const wrong of [token, "", "two words", "x".repeat(513), "ü"]) {
      const error = (await rejectionOf(connect({ endpoints: local, token: wrong }))) as Error;
      expect(error).toMatchObject({ code: "INVALID_ARGUMENT" });
      if (wrong !== "") expect(error.message).not.toContain(wrong);
    }
    await expect(connect({ endpoints: local, token: 5 as never })).rejects.toThrow(TypeError);
  });

  it("is not part of an address: that is refused without showing it", async () => {
    const text = fc.stringMatching(/^[A-Za-z0-9_-]{8,60}$/);
    const places = [
      (secret: string) => `wss://user:${secret}@host:7411`,
      (secret: string) => `wss://${secret}@host:7411`,
      (secret: string) => `wss://host:7411?token=${secret}`,
      (secret: string) => `wss://host:7411/v1?${secret}`,
      (secret: string) => `wss://host:7411#${secret}`,
      (secret: string) => `wss//user:${secret}@host`,
    ];
    await fc.assert(
      fc.asyncProperty(text, fc.constantFrom(...places), async (secret, place) => {
        const error = (await rejectionOf(connect({ endpoints: [place(secret)] }))) as Error;
        expect(error).toBeInstanceOf(TypeError);
        expect(`${error.message} ${error.stack}`).not.toContain(secret);
      }),
    );
  });
});

it("a token is in no error, whatever is wrong with it or with the cluster", async () => {
  const made = fc.uint8Array({ minLength: 32, maxLength: 32 }).map(accessTokenOf);
  const other = fc.stringMatching(/^[!-~]{12,80}$/);
  const damaged = made.map((token) => `${token}x`);
  const cases: readonly ((each: Scene, token: string) => Promise<unknown>)[] = [
    ({ server }, token) => connecting(server, token),
    ({ server }, token) => connecting(server, async () => token),
    ({ server }, token) => adminOf(server, token),
    ({ server }, token) => {
      server.faults.signIn = "busy";
      return connecting(server, token);
    },
    (_, token) => connect({ endpoints: ["ws://10.0.0.1:7411"], token }),
    (_, token) => connectAdmin({ endpoints: ["ws://127.0.0.1:1"], token: `${token} ` }),
    (_, token) => connect({ endpoints: [`wss://a:1?${token}`], token }),
  ];
  await fc.assert(
    fc.asyncProperty(
      fc.oneof(made, other, damaged),
      fc.constantFrom(...cases),
      async (token, work) => {
        const each = await scene();
        const error = await rejection(each.world, work(each, token));
        expect(inspect(error, { depth: 9, showHidden: true })).not.toContain(token);
      },
    ),
    { numRuns: 60 },
  );
});

async function rejectionOf(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => {
      throw new Error("it did not reject");
    },
    (reason: unknown) => reason,
  );
}
