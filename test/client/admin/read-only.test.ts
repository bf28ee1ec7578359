/** A program that asked only to read: every node refuses its changes, on every connection. */
import { expect, it } from "vitest";
import {
  ADMIN_DEFAULTS,
  type Admin,
  connectAdmin,
  connectAdminOn,
} from "../../../src/client/index.js";
import { rejection } from "../world/set-up.js";
import { SimulatedPlatform } from "../world/simulated-platform.js";
import { SimulatedWorld } from "../world/simulated-world.js";
import { TableServer } from "../world/table-server.js";

async function scene(): Promise<{ world: SimulatedWorld; server: TableServer; admin: Admin }> {
  const world = new SimulatedWorld(1);
  const server = new TableServer(world, 3);
  const settings = { ...ADMIN_DEFAULTS, endpoints: server.endpoints, readOnly: true };
  const admin = await world.until(connectAdminOn(new SimulatedPlatform(world, server), settings));
  return { world, server, admin };
}

async function expectRefusals(world: SimulatedWorld, admin: Admin): Promise<void> {
  const refusal = { code: "FORBIDDEN", message: expect.stringMatching(/may only read$/) };
  const changes: readonly (() => Promise<unknown>)[] = [
    () => admin.revoke({ key: "a" }),
    () => admin.revoke({ token: 7 }),
    () => admin.endSession(7),
    () => admin.setLimit("a", 3),
    () => admin.changeSetting("waitersMax", 7),
    () => admin.access.addIdentity("eve"),
    () => admin.removeMember(3),
    () => admin.transferLeadership(),
    () => admin.snapshot(),
  ];
  for (const change of changes) expect(await rejection(world, change())).toMatchObject(refusal);
}

it("changes nothing, and is told that it may only read", async () => {
  const { world, server, admin } = await scene();
  await expectRefusals(world, admin);
  expect(server.applied).toEqual([]);
});

it("reads as before", async () => {
  const { world, admin } = await scene();
  expect(await world.until(admin.inspect("a"))).toMatchObject({ key: "a", holds: [] });
  expect(await world.until(admin.whoAmI())).toMatchObject({ name: "anonymous" });
  expect(await world.until(admin.members())).toHaveProperty("members");
});

it("says so again on each further connection", async () => {
  const { world, server, admin } = await scene();
  for (const connection of [...server.connections]) connection.cut();
  await world.run(5_000);
  expect(await world.until(admin.inspect("a"))).toMatchObject({ key: "a" });
  await expectRefusals(world, admin);
  expect(server.applied).toEqual([]);
});

it("is a choice between two", async () => {
  const readOnly = "yes" as unknown as boolean;
  await expect(connectAdmin({ readOnly })).rejects.toThrow(TypeError);
});
