/** Requests under `/v1/` on the client port: who is let through to the door, and what they take. */
import { Agent, request } from "node:http";
import { afterEach, describe, expect, test, vi } from "vitest";
import type { HttpCaller, HttpDoor } from "../../../src/net/index.js";
import { BareClient, TestGateway } from "../gateway/client.js";

/** Answers with the status of the refusal, and remembers who asked. */
class EchoDoor implements HttpDoor {
  readonly callers: HttpCaller[] = [];

  onRequest: HttpDoor["onRequest"] = async (_request, response, caller) => {
    this.callers.push(caller);
    response.writeHead(caller.refusal?.status ?? 200).end(caller.refusal?.text);
  };
}

const gateways: TestGateway[] = [];
const agents: Agent[] = [];
afterEach(async () => {
  for (const agent of agents.splice(0)) agent.destroy();
  await Promise.all(gateways.splice(0).map(({ gateway }) => gateway.close()));
});

async function start(tuning: ConstructorParameters<typeof TestGateway>[0]): Promise<TestGateway> {
  const gateway = new TestGateway(tuning);
  gateways.push(gateway);
  return gateway.start();
}

/** A client with one connection, which stays. */
function client({ gateway }: TestGateway): (path: string, headers?: object) => Promise<number> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  agents.push(agent);
  return (path, headers = {}) => {
    return new Promise((resolve, reject) => {
      const where = { host: "127.0.0.1", port: gateway.port, agent };
      const sent = request({ ...where, path, headers: { ...headers } }, (response) => {
        response.resume();
        response.on("end", () => resolve(response.statusCode ?? 0));
      });
      sent.on("error", reject);
      sent.end();
    });
  };
}

describe("a request under /v1/", () => {
  test("comes to the door with what is known of its caller", async () => {
    const door = new EchoDoor();
    const ask = client(await start({ door }));
    expect(await ask("/v1/lock?key=k", { Authorization: "Bearer some-token" })).toBe(200);
    expect(await ask("/livez")).toBe(200);
    expect(await ask("/v1")).toBe(426);
    expect(door.callers).toMatchObject([
      {
        ...{ address: "127.0.0.1", certifiedName: undefined, isEncrypted: false, isLocal: false },
        ...{ token: "some-token", refusal: undefined },
      },
    ]);
  });

  test("takes the place of a client until its connection is closed", async () => {
    const gateway = await start({ door: new EchoDoor(), connectionsMax: 1 });
    const first = client(gateway);
    expect([await first("/v1/lock"), await first("/v1/lock")]).toEqual([200, 200]);
    expect(await client(gateway)("/v1/lock")).toBe(503);
    expect(await client(gateway)("/livez")).toBe(200);
    await expect(BareClient.connect(gateway)).rejects.toThrow("503");
    agents[0]?.destroy();
    await vi.waitFor(async () => expect(await client(gateway)("/v1/lock")).toBe(200));
  });

  test("is refused while there is no door, so that its caller asks another node", async () => {
    expect(await client(await start({}))("/v1/lock")).toBe(503);
  });
});
