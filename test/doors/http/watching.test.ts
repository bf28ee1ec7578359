/** Watches by server-sent events. */
import { get, type IncomingMessage } from "node:http";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { DoorWorld } from "./door-world.js";

interface ServerSentEvent {
  readonly id: string;
  readonly event: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests compare what they expect.
  readonly data: any;
}

/** Reads events as `EventSource` does. */
class EventReader {
  readonly events: ServerSentEvent[] = [];
  readonly response: IncomingMessage;
  #text = "";
  isOver = false;

  private constructor(response: IncomingMessage) {
    this.response = response;
    response.setEncoding("utf8");
    response.on("data", (text: string) => this.#read(text));
    response.on("close", () => {
      this.isOver = true;
    });
  }

  static open(port: number, path: string, lastId?: string): Promise<EventReader> {
    const headers = lastId === undefined ? {} : { "Last-Event-ID": lastId };
    return new Promise((resolve, reject) => {
      const request = get({ host: "127.0.0.1", port, path, headers }, (response) => {
        resolve(new EventReader(response));
      });
      request.on("error", reject);
    });
  }

  #read(text: string): void {
    const blocks = (this.#text + text).split("\n\n");
    this.#text = blocks.pop() ?? "";
    for (const block of blocks) {
      const fields = new Map(
        block.split("\n").map((line) => line.split(/: (.*)/s).slice(0, 2) as [string, string]),
      );
      const data = fields.get("data");
      if (data === undefined) continue;
      const [id = "", event = ""] = [fields.get("id"), fields.get("event")];
      this.events.push({ id, event, data: JSON.parse(data) });
    }
  }

  async until(event: string): Promise<ServerSentEvent> {
    return vi.waitFor(() => {
      const found = this.events.find((one) => one.event === event);
      expect(found, JSON.stringify(this.events)).toBeDefined();
      return found as ServerSentEvent;
    });
  }

  close(): void {
    this.response.destroy();
  }
}

describe("a watch", () => {
  let world: DoorWorld;

  beforeAll(async () => {
    world = await DoorWorld.start();
  });

  afterAll(() => world.stop());

  test("sends changes of its keys, each with an id from which another continues", async () => {
    const reader = await EventReader.open(world.port(), "/v1/watch?prefix=w/");
    expect(reader.response.headers).toMatchObject({
      "content-type": "text/event-stream",
      "cache-control": "no-store, no-transform",
      "x-accel-buffering": "no",
    });
    const begun = await reader.until("begun");
    const headers = { "Holdfast-Name": "me" };
    const taken = await world.take("w/1", "a", "ttl=30s", { headers });
    await world.take("other", "a");
    const granted = await reader.until("granted");
    expect(granted.data).toMatchObject({ key: "w/1", token: taken.body.token, sessionName: "me" });
    reader.close();
    await world.giveBack("w/1", "a");
    const again = await EventReader.open(world.port(), "/v1/watch?prefix=w/", granted.id);
    const ended = await again.until("ended");
    expect(ended.data).toMatchObject({ key: "w/1", token: taken.body.token, reason: "released" });
    expect(again.events.map(({ event }) => event)).not.toContain("granted");
    again.close();
    const whole = await EventReader.open(world.port(), "/v1/watch?prefix=w/", begun.id);
    await whole.until("ended");
    expect(whole.events.map(({ event }) => event)).toEqual(
      expect.arrayContaining(["begun", "granted", "ended"]),
    );
    whole.close();
  });

  test("says that changes are missing which the cluster has forgotten", async () => {
    const reader = await EventReader.open(world.port(), "/v1/watch?prefix=r/", "1.0");
    const reset = await reader.until("reset").catch(() => undefined);
    await world.take("r/1", "a");
    const granted = await reader.until("granted");
    if (reset !== undefined) expect(granted.id).not.toBe(reset.id);
    reader.close();
  });

  test("is refused where its last event is none", async () => {
    const reader = await EventReader.open(world.port(), "/v1/watch", "x");
    expect(reader.response.statusCode).toBe(400);
    reader.close();
  });
});

test("a watch ends when its node stops", async () => {
  const world = await DoorWorld.start();
  const reader = await EventReader.open(world.port(), "/v1/watch");
  await reader.until("begun");
  await world.stop();
  await vi.waitFor(() => expect(reader.isOver).toBe(true));
});
