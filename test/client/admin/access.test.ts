/** What a program can do with identities, credentials and grants, and how it is refused. */
import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import {
  ADMIN_DEFAULTS,
  type Admin,
  connectAdminOn,
  type IdentityView,
} from "../../../src/client/index.js";
import { OP } from "../../../src/protocol/index.js";
import { failure, rejection } from "../world/set-up.js";
import { SimulatedPlatform } from "../world/simulated-platform.js";
import { SimulatedWorld } from "../world/simulated-world.js";
import { TableServer } from "../world/table-server.js";

interface Scene {
  readonly world: SimulatedWorld;
  readonly server: TableServer;
  /** As `anonymous`. */
  readonly admin: Admin;
}

async function scene(): Promise<Scene> {
  const world = new SimulatedWorld(1);
  const server = new TableServer(world, 3, (id) => `wss://node-${id}:7411`);
  return { world, server, admin: await adminOf(server) };
}

function adminOf(server: TableServer, token?: string): Promise<Admin> {
  const platform = new SimulatedPlatform(server.world, server);
  const settings = { ...ADMIN_DEFAULTS, endpoints: server.endpoints, token };
  return server.world.until(connectAdminOn(platform, settings));
}

async function listOf({ world }: Scene, admin: Admin): Promise<IdentityView[]> {
  const list: IdentityView[] = [];
  const reading = (async () => {
    for await (const identity of admin.access.list()) list.push(identity);
  })();
  await world.until(reading);
  return list;
}

/** Somebody with `admin` and a token that does not expire. */
async function makeAdmin({ world, server, admin }: Scene): Promise<Admin> {
  await world.until(admin.access.addIdentity("ops"));
  await world.until(admin.access.grant("ops", "admin", { prefix: "" }));
  const { token } = await world.until(admin.access.createToken("ops", { label: "laptop" }));
  return adminOf(server, token);
}

describe("identities", () => {
  it("are added and removed, each as often as it is asked with the same end", async () => {
    const each = await scene();
    const { world, admin } = each;
    for (let time = 0; time < 2; time += 1) await world.until(admin.access.addIdentity("billing"));
    const names = (await listOf(each, admin)).map(({ name }) => name);
    expect(names).toEqual(["anonymous", "billing", "local"]);
    for (let time = 0; time < 2; time += 1) {
      await world.until(admin.access.removeIdentity("billing"));
    }
    expect(await listOf(each, admin)).toHaveLength(2);
  });

  it("are listed in the order of their names, page by page", async () => {
    const each = await scene();
    const { world, admin } = each;
    const names = Array.from({ length: 450 }, (_, i) => `worker-${String(i).padStart(3, "0")}`);
    await world.until(Promise.all(names.map((name) => admin.access.addIdentity(name))));
    const listed = await listOf(each, admin);
    expect(listed.map(({ name }) => name)).toEqual(["anonymous", "local", ...names]);
  });
});

describe("credentials", () => {
  it("a token is made here, and the cluster is sent nothing but its digest", async () => {
    const each = await scene();
    const { world, server, admin } = each;
    await world.until(admin.access.addIdentity("billing"));
    const created = await world.until(admin.access.createToken("billing"));
    expect(created).toEqual({
      token: expect.stringMatching(/^hf_[\w-]{48}$/),
      label: expect.stringMatching(/^token-[0-9a-f]{8}$/),
      expiresWallMs: 0,
    });
    const digest = createHash("sha256").update(created.token).digest("hex");
    expect(server.applied.filter(({ op }) => op === OP.putCredential)).toMatchObject([{ digest }]);
    const other = await world.until(admin.access.createToken("billing"));
    expect(other.token).not.toBe(created.token);
    const view = (await listOf(each, admin)).find(({ name }) => name === "billing");
    const labels = [created.label, other.label].sort();
    expect(view?.credentials.map(({ label }) => label)).toEqual(labels);
    expect(JSON.stringify(view)).not.toContain(digest.slice(0, 16));
  });

  it("of the same label replaces the one before; a certificate has a label too", async () => {
    const each = await scene();
    const { world, admin } = each;
    await world.until(admin.access.addIdentity("billing"));
    const expiresWallMs = 1_800_000_000_000;
    const options = { label: "ci", expiresWallMs };
    const first = await world.until(admin.access.createToken("billing", options));
    const second = await world.until(admin.access.createToken("billing", options));
    expect(second).toMatchObject(options);
    expect(await rejection(world, adminOf(each.server, first.token))).toMatchObject({
      code: "UNAUTHENTICATED",
    });
    expect((await world.until((await adminOf(each.server, second.token)).whoAmI())).name).toBe(
      "billing",
    );
    expect(await world.until(admin.access.addCertificate("billing"))).toBe("certificate");
    const view = (await listOf(each, admin)).find(({ name }) => name === "billing");
    expect(view?.credentials).toMatchObject([
      { label: "certificate", kind: "certificate", expiresWallMs: 0 },
      { label: "ci", kind: "token", expiresWallMs },
    ]);
    await world.until(admin.access.removeCredential("billing", "ci"));
    await world.until(admin.access.removeCredential("billing", "ci"));
    const rest = (await listOf(each, admin)).find(({ name }) => name === "billing");
    expect(rest?.credentials.map(({ label }) => label)).toEqual(["certificate"]);
  });
});

describe("grants", () => {
  it("cover a key or a prefix, and check says which of them allows what", async () => {
    const { world, admin } = await scene();
    const { access } = admin;
    await world.until(access.addIdentity("billing"));
    await world.until(access.grant("billing", "acquire", { prefix: "orders/" }));
    await world.until(access.grant("billing", "observe", { key: "orders" }));
    const orders = { key: "orders/", isPrefix: true, level: "acquire" };
    const cases = [
      ["acquire", { key: "orders/1" }, true, orders],
      ["operate", { key: "orders/1" }, false, orders],
      ["observe", { prefix: "orders/2" }, true, orders],
      ["acquire", { key: "orders" }, false, { key: "orders", isPrefix: false, level: "observe" }],
      ["observe", { prefix: "" }, false, null],
    ] as const;
    for (const [level, target, isAllowed, grant] of cases) {
      const view = await world.until(access.check("billing", level, target));
      expect([level, target, view]).toEqual([level, target, { isKnown: true, isAllowed, grant }]);
    }
    await world.until(access.revoke("billing", { prefix: "orders/" }));
    await world.until(access.revoke("billing", { prefix: "orders/" }));
    expect(await world.until(access.check("billing", "observe", { key: "orders/1" }))).toEqual({
      isKnown: true,
      isAllowed: false,
      grant: null,
    });
    expect(await world.until(access.check("nobody", "observe", { key: "k" }))).toMatchObject({
      isKnown: false,
    });
  });
});

describe("a refusal", () => {
  it("says what is wrong and what to do", async () => {
    const each = await scene();
    const { world, admin } = each;
    const { access } = admin;
    const refused = async (call: Promise<unknown>): Promise<string> => {
      const { code, message } = await failure(world, call);
      return `${code}: ${message}`;
    };
    expect(await refused(access.createToken("nobody"))).toMatch(
      /^UNKNOWN_IDENTITY: credential "token-\w+" of "nobody": no identity has that name$/,
    );
    expect(await refused(access.grant("nobody", "observe", { key: "k" }))).toBe(
      'UNKNOWN_IDENTITY: the permission of "nobody" on "k": no identity has that name',
    );
    expect(await refused(access.addIdentity("local"))).toBe(
      'INVALID_ARGUMENT: identity "local": the names anonymous and local are reserved',
    );
    await world.until(access.addIdentity("billing"));
    expect(await refused(access.grant("billing", "admin", { prefix: "orders/" }))).toContain(
      'INVALID_ARGUMENT: the permission of "billing" on keys with the prefix "orders/": admin is',
    );
    expect(await refused(access.revoke("anonymous", { prefix: "" }))).toMatch(
      /^LAST_ADMIN: .* on all keys: afterwards no one could change access any more; first give/,
    );
    for (let index = 0; index < 16; index += 1) {
      await world.until(access.createToken("billing", { label: `${index}` }));
    }
    expect(await refused(access.createToken("billing"))).toMatch(/^QUOTA: .* at most 16 cred/);
  });

  it("differs for a client that may not and one that is not known", async () => {
    const each = await scene();
    const { world, server, admin } = each;
    const ops = await makeAdmin(each);
    await world.until(ops.access.addIdentity("billing"));
    const { token } = await world.until(ops.access.createToken("billing"));
    await world.until(ops.access.revoke("anonymous", { prefix: "" }));
    const unknown = await failure(world, admin.access.addIdentity("more"));
    expect([unknown.code, unknown.message]).toEqual([
      "UNAUTHENTICATED",
      expect.stringContaining("the cluster does not know who asks"),
    ]);
    const billing = await adminOf(server, token);
    const forbidden = await failure(world, billing.access.addIdentity("more"));
    expect([forbidden.code, forbidden.message]).toEqual([
      "FORBIDDEN",
      expect.stringContaining("no permission of this client's identity allows that"),
    ]);
    expect((await failure(world, billing.inspect("k"))).code).toBe("FORBIDDEN");
    expect(await world.until(billing.whoAmI())).toEqual({ name: "billing", grants: [] });
    const own = billing.access.check("billing", "observe", { key: "k" });
    expect(await world.until(own)).toMatchObject({ isAllowed: false });
    const others = await failure(world, billing.access.check("ops", "observe", { key: "k" }));
    expect(others.code).toBe("FORBIDDEN");
    await world.until(ops.access.addIdentity("more"));
    const last = await failure(world, ops.access.removeCredential("ops", "laptop"));
    expect(last.code).toBe("LAST_ADMIN");
  });

  it("of a revoke does not depend on whether the key is held", async () => {
    const each = await scene();
    const { world, server, admin } = each;
    await world.until(admin.access.addIdentity("billing"));
    await world.until(admin.access.grant("billing", "acquire", { prefix: "orders/" }));
    const { token } = await world.until(admin.access.createToken("billing"));
    const billing = await adminOf(server, token);
    const refused = await failure(world, billing.revoke({ key: "orders/1" }));
    expect([refused.code, refused.message]).toEqual([
      "FORBIDDEN",
      `the revoke of "orders/1": no permission of this client's identity allows that`,
    ]);
    await world.until(admin.access.grant("billing", "operate", { prefix: "orders/" }));
    const none = await world.until(billing.revoke({ key: "orders/1" }));
    expect(none).toEqual({ revoked: 0, opened: 0, endsInMs: 0, leasesLeft: 0 });
  });

  it("of what cannot be comes before anything is sent", async () => {
    const { world, server, admin } = await scene();
    const { access } = admin;
    const before = server.applied.length;
    for (const name of ["", "-x", "a b", "x".repeat(129), "é"]) {
      expect(await failure(world, access.addIdentity(name))).toMatchObject({
        code: "INVALID_ARGUMENT",
      });
    }
    expect((await failure(world, access.createToken("a", { label: "" }))).code).toBe(
      "INVALID_ARGUMENT",
    );
    for (const [wrong, type] of [
      [() => access.grant("a", "own" as never, { key: "k" }), TypeError],
      [() => access.grant("a", "none" as never, { key: "k" }), TypeError],
      [() => access.grant("a", "observe", {} as never), TypeError],
      [() => access.grant("a", "observe", { key: "k", prefix: "" } as never), TypeError],
      [() => access.createToken("a", { expires: 5 } as never), TypeError],
      [() => access.createToken("a", { expiresWallMs: -1 }), RangeError],
      [() => access.createToken("a", { expiresWallMs: 1.5 }), RangeError],
    ] as const) {
      expect(await rejection(world, wrong())).toBeInstanceOf(type);
    }
    expect(server.applied).toHaveLength(before);
  });
});

it("a change whose answer was lost is repeated, and happens once", async () => {
  const { world, server, admin } = await scene();
  await world.until(admin.access.addIdentity("billing"));
  server.faults.cutsBefore = ({ op }) => op === OP.putCredential && server.opened.length < 4;
  const { token } = await world.until(admin.access.createToken("billing"));
  const speaker = await adminOf(server, token);
  expect((await world.until(speaker.whoAmI())).name).toBe("billing");
});
