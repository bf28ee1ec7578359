/** Memory for messages that were begun and not finished: of all, of an address, of an identity. */
import { describe, expect, test } from "vitest";
import { GatewayConnection, Outbound } from "../../../src/net/gateway/connection.js";
import { GATEWAY_DEFAULTS } from "../../../src/net/gateway/options.js";
import type { GatewaySocket } from "../../../src/net/gateway/socket.js";
import { UnfinishedFrames } from "../../../src/net/gateway/unfinished-frames.js";

const KIB = 1_024;
const SOCKET = {} as GatewaySocket;
const OUTBOUND = new Outbound(GATEWAY_DEFAULTS);

class Port {
  readonly cut: number[] = [];
  readonly reasons = new Set<string>();
  readonly noted: string[] = [];
  readonly frames: UnfinishedFrames;
  #connections = 0;

  constructor(isEnforced = true) {
    const tuning = {
      unfinishedBytesMax: 1_000 * KIB,
      addressUnfinishedBytesMax: 100 * KIB,
      identityUnfinishedBytesMax: 200 * KIB,
    };
    const limits = {
      isEnforced,
      note: (by: string, limit: string, name: string, max: number) => {
        this.noted.push(`${by} ${name} ${limit} ${max / KIB}`);
      },
    };
    this.frames = new UnfinishedFrames(tuning, limits, 10, ({ id }, reason) => {
      this.cut.push(id);
      this.reasons.add(reason);
    });
  }

  /** A client begins a message and sends so much of it. */
  begin(address: string, identity: string, kibibytes: number): GatewayConnection {
    this.#connections += 1;
    const connection = new GatewayConnection(this.#connections, address, SOCKET, OUTBOUND);
    connection.limitedIdentity = identity;
    this.frames.received(connection, kibibytes * KIB, false);
    return connection;
  }
}

describe("unfinished messages", () => {
  test("of an address are cut off, the oldest first, when they are too much for one", () => {
    const port = new Port();
    port.begin("10.0.0.2", "", 40);
    for (let i = 0; i < 4; i += 1) port.begin("10.0.0.1", "", 40);
    expect(port.cut).toEqual([2, 3]);
    expect(port.noted).toEqual(Array(2).fill("address 10.0.0.1 unfinishedBytesMax 100"));
    expect([...port.reasons]).toEqual([
      "this address has too many unfinished frames, and this one is the oldest",
    ]);
  });

  test("of an identity are, from whichever addresses they come", () => {
    const port = new Port();
    for (let i = 0; i < 4; i += 1) port.begin(`10.0.0.${i}`, "greedy", 60);
    port.begin("10.0.0.9", "modest", 60);
    expect(port.cut).toEqual([1]);
    expect(port.noted).toEqual(["identity greedy unfinishedBytesMax 200"]);
  });

  test("from the machine of the node, and of those who are no identity, have only the common limit", () => {
    const port = new Port();
    for (const address of ["", "127.0.0.1", "0:0:0:0::/64"]) {
      for (let i = 0; i < 3; i += 1) port.begin(address, "", 90);
    }
    expect(port.cut).toEqual([]);
    for (let i = 0; i < 3; i += 1) port.begin("127.0.0.1", "", 90);
    expect(port.cut).toEqual([1]);
  });

  test("are counted and stay when limits are only observed, but for the common limit", () => {
    const port = new Port(false);
    for (let i = 0; i < 4; i += 1) port.begin("10.0.0.1", "", 40);
    expect([port.cut, port.noted]).toEqual([[], ["address 10.0.0.1 unfinishedBytesMax 100"]]);
    for (let i = 0; i < 25; i += 1) port.begin("10.0.0.1", "", 40);
    expect(port.cut.length).toBeGreaterThan(0);
  });

  test("have more time if their connection was not read in between", () => {
    const port = new Port();
    const [held, other] = [port.begin("10.0.0.1", "", 1), port.begin("10.0.0.2", "", 1)];
    held.isPaused = true;
    for (let i = 0; i < 20; i += 1) port.frames.tick();
    expect(port.cut).toEqual([other.id]);
    held.isPaused = false;
    for (let i = 0; i < 10; i += 1) port.frames.tick();
    expect(port.cut).toEqual([other.id]);
    port.frames.tick();
    expect(port.cut).toEqual([other.id, held.id]);
  });

  test("count no more when they are finished, whatever the client has become meanwhile", () => {
    const port = new Port();
    for (let i = 0; i < 10; i += 1) {
      const connection = port.begin("10.0.0.1", "greedy", 90);
      connection.limitedIdentity = "";
      port.frames.finished(connection);
      port.frames.finished(connection);
    }
    expect([port.cut, port.frames.bytes]).toEqual([[], 0]);
  });
});
