/** State orders without a session: copies that come late, several operators at once, lost answers. */
import { describe, expect, it } from "vitest";
import { ADMIN_DEFAULTS, type Admin, connectAdminOn } from "../../../src/client/index.js";
import { type Command, OP } from "../../../src/protocol/index.js";
import { failure, rejection, setUp } from "../world/set-up.js";
import { SimulatedPlatform } from "../world/simulated-platform.js";
import type { TableServer } from "../world/table-server.js";

const KEY = { key: "k" };

function adminOf(server: TableServer, timeoutMs = 10_000): Promise<Admin> {
  const platform = new SimulatedPlatform(server.world, server);
  const settings = { ...ADMIN_DEFAULTS, endpoints: server.endpoints, timeoutMs };
  return server.world.until(connectAdminOn(platform, settings));
}

function levelOf({ table }: TableServer, name: string): string {
  const { identities } = table.listIdentities(undefined, 200);
  const grants = identities.find((identity) => identity.name === name)?.grants ?? [];
  return grants.find(({ key }) => key === "k")?.level ?? "none";
}

function marksOf({ applied }: TableServer, op: Command["op"]): number[] {
  return applied.flatMap((command) => {
    return command.op === op && "sequence" in command ? [command.mark] : [];
  });
}

describe("a copy of an order that comes late", () => {
  it("undoes nothing that was ordered after it", async () => {
    const { world, server } = setUp();
    const admin = await adminOf(server);
    await world.until(admin.access.addIdentity("amber"));
    Object.assign(server.faults, { duplicates: 1, duplicateMs: [5, 400] });
    for (const level of ["acquire", "operate", "observe"] as const) {
      await world.until(admin.access.grant("amber", level, KEY));
      expect(levelOf(server, "amber")).toBe(level);
      await world.until(admin.access.revoke("amber", KEY));
      await world.until(admin.setLimit("s", 3));
      await world.until(admin.setLimit("s", undefined));
      await world.until(admin.changeSetting("sessionsMax", 7));
      await world.until(admin.changeSetting("sessionsMax", undefined));
      for (let time = 0; time < 10; time += 1) {
        await world.run(50);
        expect(levelOf(server, "amber")).toBe("none");
        expect(server.table.inspect("s").limit).toBe(0);
        const settings = server.table.settings();
        expect(settings.find(({ name }) => name === "sessionsMax")?.value).toBe(100_000);
      }
    }
    // Each came twice, and the client had to ask for the count only once.
    expect(marksOf(server, OP.setLimit).sort()).toEqual([0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5]);
  });
});

describe("state orders", () => {
  it("of several operators at once all succeed, one after the other", async () => {
    const { world, server } = setUp();
    const admins = await Promise.all([1, 2, 3].map(() => adminOf(server)));
    const names = admins.flatMap((_, at) => Array.from({ length: 20 }, (_, i) => `n${at}-${i}`));
    const all = names.map((name) => {
      return (admins[Number(name[1])] as Admin).access.addIdentity(name);
    });
    await world.until(Promise.all(all));
    const { identities } = server.table.listIdentities(undefined, 200);
    expect(identities.map(({ name }) => name)).toEqual(expect.arrayContaining(names));
    const numbers = server.applied.flatMap((each) => ("sequence" in each ? [each.sequence] : []));
    expect(new Set(numbers).size).toBe(numbers.length);
  });

  it("of one operator take effect in the order of the calls, without waiting for answers", async () => {
    const { world, server } = setUp();
    const other = await adminOf(server);
    const admin = await adminOf(server);
    await world.until(other.access.addIdentity("amber"));
    const calls = [
      admin.access.grant("amber", "acquire", KEY),
      admin.setLimit("s", 1),
      admin.access.revoke("amber", KEY),
      admin.setLimit("s", 2),
      admin.access.grant("amber", "observe", KEY),
    ];
    const done: number[] = [];
    for (const [at, call] of calls.entries()) void call.then(() => done.push(at));
    await world.until(Promise.all(calls));
    expect(done.filter((at) => at % 2 === 0)).toEqual([0, 2, 4]);
    expect([levelOf(server, "amber"), server.table.inspect("s").limit]).toEqual(["observe", 2]);
    // The first one was outdated by the other operator's.
    expect(marksOf(server, OP.setGrant)).toEqual([0, 1, 2, 3]);
    expect(marksOf(server, OP.setLimit)).toEqual([0, 1]);
  });

  it("whose answer was lost are given again at the new count", async () => {
    const { world, server } = setUp();
    const admin = await adminOf(server);
    await world.until(admin.access.addIdentity("amber"));
    let cuts = 1;
    server.faults.cutsAfter = ({ op }) => op === OP.setGrant && cuts-- > 0;
    await world.until(admin.access.grant("amber", "acquire", KEY));
    expect(levelOf(server, "amber")).toBe("acquire");
    expect(marksOf(server, OP.setGrant)).toEqual([1, 1, 2]);
    await world.until(admin.access.revoke("amber", KEY));
    expect(marksOf(server, OP.setGrant)).toEqual([1, 1, 2, 3]);
  });

  it("that wait for others can be given up, and are not held up by others that were", async () => {
    const { world, server } = setUp();
    const admin = await adminOf(server, 4_000);
    server.faults.isLeaderless = true;
    const [first, second] = [new AbortController(), new AbortController()];
    const calls = [
      admin.access.addIdentity("one", { signal: first.signal }),
      admin.access.addIdentity("two", { signal: second.signal }),
    ];
    const [one, two] = calls.map((call) => rejection(world, call));
    const three = admin.access.addIdentity("three");
    await world.run(200);
    second.abort();
    expect(await two).toBe(second.signal.reason);
    first.abort();
    expect(await one).toBe(first.signal.reason);
    server.faults.isLeaderless = false;
    await world.until(three);
    server.faults.isLeaderless = true;
    const startedMs = world.nowMs;
    const late = [admin.access.addIdentity("four"), admin.access.addIdentity("five")];
    const [four, five] = await Promise.all(late.map((call) => failure(world, call)));
    expect(world.nowMs - startedMs).toBeLessThan(4_100);
    // The second one was never sent.
    expect([four?.code, four?.details]).toEqual(["UNAVAILABLE", { indeterminate: true }]);
    expect([five?.code, five?.details]).toEqual(["UNAVAILABLE", { indeterminate: false }]);
  });
});
