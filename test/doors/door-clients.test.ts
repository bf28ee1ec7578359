/** The clients by which doors speak to their node: one for each caller, for as long as it is used. */
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { type DoorCaller, DoorClients, type DoorClientsOptions } from "../../src/doors/index.js";
import { TestGateway } from "../net/gateway/client.js";

const CALLER: DoorCaller = {
  ...{ address: "10.0.0.1", certifiedName: undefined, token: undefined },
  ...{ isEncrypted: false, isLocal: false },
};

describe("the clients of a door", () => {
  let gateway: TestGateway;
  let all: DoorClients[];

  beforeEach(async () => {
    all = [];
    gateway = await new TestGateway().start();
  });

  afterEach(async () => {
    await Promise.all(all.map((clients) => clients.close()));
    await gateway.gateway.close();
  });

  function clientsWith(options: Partial<DoorClientsOptions> = {}): DoorClients {
    const clients = new DoorClients({
      connect: (caller, events) => gateway.gateway.connectInProcess(caller, events),
      name: "door",
      ...options,
    });
    all.push(clients);
    return clients;
  }

  test("are shared by the requests of one caller, and by no two", async () => {
    const clients = clientsWith();
    const [first, second] = await Promise.all([clients.borrow(CALLER), clients.borrow(CALLER)]);
    expect(first.client).toBe(second.client);
    const others = await Promise.all([
      clients.borrow({ ...CALLER, address: "10.0.0.2" }),
      clients.borrow({ ...CALLER, certifiedName: "worker" }),
      clients.borrow({ ...CALLER, isEncrypted: true }),
      clients.borrow({ ...CALLER, isLocal: true }),
    ]);
    expect(new Set([first, ...others].map(({ client }) => client)).size).toBe(5);
    expect(clients.size).toBe(5);
  });

  test("are closed some time after their last use, and opened again", async () => {
    const clients = clientsWith({ idleMs: 40 });
    const { client, giveBack } = await borrowed(clients);
    await vi.waitFor(() => expect(gateway.record.all.length).toBeGreaterThan(0));
    expect(client.closed.aborted).toBe(false);
    giveBack();
    giveBack();
    await vi.waitFor(() => expect(clients.size).toBe(0));
    const again = await clients.borrow(CALLER);
    expect(again.client).not.toBe(client);
  });

  test("are bounded: one that nobody uses makes room for another", async () => {
    const clients = clientsWith({ clientsMax: 2 });
    const first = await clients.borrow(CALLER);
    const second = await clients.borrow({ ...CALLER, address: "10.0.0.2" });
    const third = { ...CALLER, address: "10.0.0.3" };
    await expect(clients.borrow(third)).rejects.toMatchObject({ code: "BUSY" });
    first.giveBack();
    await clients.borrow(third);
    expect(clients.size).toBe(2);
    second.giveBack();
  });

  test("are opened a few at a time for one address", async () => {
    const clients = clientsWith({ openingMax: 1 });
    const first = clients.borrow(CALLER);
    const second = clients.borrow({ ...CALLER, certifiedName: "other" });
    await expect(second).rejects.toMatchObject({ code: "BUSY" });
    await first;
    await clients.borrow({ ...CALLER, certifiedName: "other" });
  });

  test("stay with their node, and find it again when it has closed them", async () => {
    const clients = clientsWith();
    const { client } = await clients.borrow(CALLER);
    const [connection] = gateway.connections.values();
    connection?.close(1013, "for a while");
    await gateway.record.until((all) => all.filter(({ on }) => on === "connection").length === 2);
    expect(client.endpoints).toEqual(["ws://localhost"]);
    expect((await clients.borrow(CALLER)).client).toBe(client);
  });

  test("are refused and ended when the door closes", async () => {
    const clients = clientsWith();
    const { client } = await clients.borrow(CALLER);
    await clients.close();
    await expect(clients.borrow(CALLER)).rejects.toMatchObject({ code: "UNAVAILABLE" });
    expect(client.closed.aborted).toBe(true);
  });
});

async function borrowed(clients: DoorClients) {
  const one = await clients.borrow(CALLER);
  return { client: one.client, giveBack: () => one.giveBack() };
}
