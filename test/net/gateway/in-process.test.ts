/** Clients in the node's own process: doors, which connect without a socket. */
import { afterEach, describe, expect, test } from "vitest";
import { decodeServerFrame } from "../../../src/net/framing/index.js";
import type { InProcessCaller, InProcessLink } from "../../../src/net/index.js";
import {
  type ClientRequest,
  MESSAGE,
  OP,
  type ServerMessage,
} from "../../../src/protocol/index.js";
import { Recorder } from "../recorder.js";
import { BareClient, command, frameOf, OPEN, TestGateway } from "./client.js";

const CALLER: InProcessCaller = {
  ...{ address: "10.1.2.3", certifiedName: "worker", isEncrypted: true, isLocal: false },
};

const gateways: TestGateway[] = [];
afterEach(async () => {
  await Promise.all(gateways.splice(0).map(({ gateway }) => gateway.close()));
});

async function start(tuning = {}): Promise<TestGateway> {
  const gateway = new TestGateway(tuning);
  gateways.push(gateway);
  return gateway.start();
}

type HeardInside = ServerMessage | { readonly kind: "open" } | ClosedInside;
interface ClosedInside {
  readonly kind: "closed";
  readonly code: number;
  readonly reason: string;
}

class InsideClient {
  readonly heard = new Recorder<HeardInside>();
  readonly link: InProcessLink;
  /** Whether the client is within a call to its link. */
  #isCalling = false;
  wasReentered = false;

  constructor({ gateway }: TestGateway, caller: InProcessCaller = CALLER) {
    const hear = (message: HeardInside): void => {
      this.wasReentered ||= this.#isCalling;
      this.heard.push(message);
    };
    this.#isCalling = true;
    this.link = gateway.connectInProcess(caller, {
      onOpen: () => hear({ kind: "open" }),
      onFrame: (frame) => {
        for (const message of decodeServerFrame(frame)) hear(message);
      },
      onClose: (code, reason) => hear({ kind: "closed", code, reason }),
    });
    this.#isCalling = false;
  }

  say(...requests: readonly ClientRequest[]): void {
    const frame = frameOf(requests);
    this.#isCalling = true;
    this.link.send(frame);
    this.#isCalling = false;
    // The sender uses its bytes again.
    frame.fill(0xff);
  }

  reply(sequence: number): Promise<HeardInside> {
    return this.heard.find((one) => one.kind === MESSAGE.reply && one.sequence === sequence);
  }

  async closed(): Promise<HeardInside> {
    return this.heard.find(({ kind }) => kind === "closed");
  }
}

describe("a client in the node's process", () => {
  test("is greeted, attached and answered in order, and never from within its own calls", async () => {
    const gateway = await start();
    const client = new InsideClient(gateway);
    client.say(OPEN);
    for (let sequence = 1; sequence <= 20; sequence++) client.say(command(sequence));
    await client.reply(20);
    const sequences = client.heard.all.flatMap((one) => {
      return one.kind === MESSAGE.reply ? [one.sequence] : [];
    });
    expect(client.heard.all.slice(0, 3).map(({ kind }) => kind)).toEqual([
      ...["open", MESSAGE.hello, MESSAGE.attached],
    ]);
    expect(sequences).toEqual(Array.from({ length: 20 }, (_, at) => at + 1));
    expect(client.wasReentered).toBe(false);
    expect(gateway.receivedBytes).toBeGreaterThan(0);
  });

  test("is who its door says, and where", async () => {
    const gateway = await start();
    const client = new InsideClient(gateway);
    await client.heard.find(({ kind }) => kind === MESSAGE.hello);
    expect([...gateway.connections.values()]).toMatchObject([CALLER]);
  });

  test("is sent away until somebody serves clients, and while the node stops", async () => {
    const gateway = new TestGateway();
    gateways.push(gateway);
    await gateway.listen();
    const early = new InsideClient(gateway);
    expect(await early.closed()).toEqual({ kind: "closed", code: 1013, reason: "not yet" });
    gateway.gateway.serve(gateway);
    const client = new InsideClient(gateway);
    client.say(OPEN);
    await client.heard.find(({ kind }) => kind === MESSAGE.attached);
    gateway.gateway.drain();
    const late = new InsideClient(gateway);
    expect(await late.closed()).toMatchObject({ code: 1013, reason: "this node is stopping" });
    client.say(command(1));
    await client.reply(1);
    await gateway.gateway.close();
    expect(await client.closed()).toMatchObject({ code: 1001 });
  });

  test("hears what was sent before its connection was closed, and then no more", async () => {
    const gateway = await start();
    const client = new InsideClient(gateway);
    client.say(OPEN);
    await client.heard.find(({ kind }) => kind === MESSAGE.attached);
    const [connection] = gateway.connections.values();
    connection?.send({ kind: MESSAGE.reply, sequence: 7, stamp: 1, result: { status: 0 } });
    connection?.close(1008, "enough");
    expect(await client.closed()).toEqual({ kind: "closed", code: 1008, reason: "enough" });
    expect(client.heard.all.at(-2)).toMatchObject({ kind: MESSAGE.reply, sequence: 7 });
    await gateway.record.find(({ on }) => on === "closed");
  });

  test("is gone when it closes, after what it has sent", async () => {
    const gateway = await start();
    const client = new InsideClient(gateway);
    client.say(OPEN, command(1));
    client.link.close();
    client.say(command(2));
    await gateway.record.find(({ on }) => on === "closed");
    expect(gateway.record.all.map(({ on }) => on)).toEqual([
      ...["connection", "attach", "command", "closed"],
    ]);
    expect(client.heard.all.map(({ kind }) => kind)).not.toContain("closed");
  });

  test("is not read while it is paused", async () => {
    const gateway = await start();
    const client = new InsideClient(gateway);
    client.say(OPEN);
    await client.heard.find(({ kind }) => kind === MESSAGE.attached);
    const [connection] = gateway.connections.values();
    connection?.pause();
    client.say(command(1));
    client.say({ op: OP.settings, id: 1 });
    await new Promise(setImmediate);
    expect(gateway.record.all.map(({ on }) => on)).toEqual(["connection", "attach"]);
    connection?.resume();
    await client.reply(1);
    await client.heard.find(({ kind }) => kind === MESSAGE.answer);
  });

  test("breaks the protocol like any other, and learns the reason", async () => {
    const gateway = await start();
    const client = new InsideClient(gateway);
    client.link.send(Uint8Array.of(0xff, 0xff));
    expect(await client.closed()).toMatchObject({ code: 1002 });
  });

  test("takes no place of the clients of the port, and answers its pings", async () => {
    const gateway = await start({ connectionsMax: 1, pingIntervalMs: 20, idleTimeoutMs: 600_000 });
    const client = new InsideClient(gateway);
    client.say(OPEN);
    const outside = await BareClient.attached(gateway);
    outside.say(command(1));
    await outside.reply(1);
    // Both are pinged; one that answers none is cut off after four intervals.
    await new Promise((resolve) => outside.socket.once("ping", resolve));
    for (let pings = 0; pings < 8; pings++) {
      await new Promise((resolve) => outside.socket.once("ping", resolve));
    }
    client.say(command(1));
    await client.reply(1);
  });
});
