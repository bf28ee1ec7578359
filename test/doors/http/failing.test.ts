/** What the HTTP door answers when something goes wrong that it does not know, or the node stops. */
import { request } from "node:http";
import { afterEach, describe, expect, test } from "vitest";
import { DoorClients, LeaseDoor } from "../../../src/doors/index.js";
import type { ClientConnection, HttpDoor } from "../../../src/net/index.js";
import { OP, type Query } from "../../../src/protocol/index.js";
import { TestGateway } from "../../net/gateway/client.js";

/** Answers no watch, as a node that cannot begin one yet. */
class SlowGateway extends TestGateway {
  readonly watching: Promise<void>;
  #onWatch: () => void = () => undefined;

  constructor(door: HttpDoor) {
    super({ door });
    this.watching = new Promise((resolve) => {
      this.#onWatch = resolve;
    });
  }

  override onQuery(connection: ClientConnection, query: Query): void {
    if (query.op === OP.watch) this.#onWatch();
    else super.onQuery(connection, query);
  }
}

describe("the door of a node", () => {
  const internalErrors: unknown[] = [];
  let ending: (() => Promise<void>)[] = [];

  afterEach(async () => {
    internalErrors.length = 0;
    for (const end of ending) await end();
    ending = [];
  });

  async function start(description: () => string) {
    const gateways: SlowGateway[] = [];
    const clients = new DoorClients({
      name: "door",
      connect: (caller, events) => {
        const [first] = gateways;
        if (first === undefined) throw new Error("no gateway yet");
        return first.gateway.connectInProcess(caller, events);
      },
    });
    const door = new LeaseDoor({
      ...{ clients, description, log: () => undefined, isLogging: () => false },
      onInternalError: (error) => internalErrors.push(error),
    });
    const gateway = new SlowGateway(door);
    gateways.push(gateway);
    await gateway.start();
    ending = [() => clients.close(), () => gateway.gateway.close()];
    return { door, gateway };
  }

  function ask({ gateway }: TestGateway, path: string): Promise<{ status: number; text: string }> {
    return new Promise((resolve, reject) => {
      const sent = request({ host: "127.0.0.1", port: gateway.port, path }, (response) => {
        let text = "";
        response.on("data", (bytes) => {
          text += String(bytes);
        });
        response.on("end", () => resolve({ status: response.statusCode ?? 0, text }));
      });
      sent.on("error", reject);
      sent.end();
    });
  }

  test("answers 500 to what fails in a way that it does not know, logs it, and serves on", async () => {
    const bug = new Error("a bug");
    let isBroken = true;
    const { gateway } = await start(() => {
      if (isBroken) throw bug;
      return "{}";
    });
    const answer = await ask(gateway, "/v1/openapi.json");
    expect(answer.status).toBe(500);
    expect(JSON.parse(answer.text)).toMatchObject({ status: 500, code: "INTERNAL" });
    expect(answer.text).not.toContain("a bug");
    expect(internalErrors).toEqual([bug]);
    isBroken = false;
    expect((await ask(gateway, "/v1/openapi.json")).status).toBe(200);
  });

  test("sends a watch that has not begun to another node when its own stops", async () => {
    const { door, gateway } = await start(() => "{}");
    const watch = ask(gateway, "/v1/watch");
    await gateway.watching;
    await door.drain();
    const { status, text } = await watch;
    expect([status, JSON.parse(text).code]).toEqual([503, "UNAVAILABLE"]);
    expect(internalErrors).toEqual([]);
  });
});
