/** Memory for what was begun and not finished: of all, of an address, of an identity. */
import { describe, expect, test } from "vitest";
import { type Beginner, UnfinishedInput } from "../../../src/net/meter/unfinished-input.js";

const KIB = 1_024;

/** A connection with something unfinished. */
type Connection = { -readonly [Name in keyof Beginner]: Beginner[Name] } & { readonly id: number };

class Port {
  readonly cut: number[] = [];
  readonly reasons = new Set<string>();
  readonly noted: string[] = [];
  readonly input: UnfinishedInput;
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
    this.input = new UnfinishedInput(tuning, limits);
  }

  /** A client begins a message and sends `kibibytes` of it. */
  begin(address: string, limitedIdentity: string, kibibytes: number): Connection {
    this.#connections += 1;
    const id = this.#connections;
    const connection = {
      ...{ id, address, limitedIdentity, isPaused: false },
      cutOffUnfinished: (reason: string) => {
        this.cut.push(id);
        this.reasons.add(reason);
      },
    };
    this.input.keeps(connection, kibibytes * KIB);
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
      "this address has too much unfinished input, and this is the oldest",
    ]);
  });

  test("of an identity are, from whichever addresses they come", () => {
    const port = new Port();
    for (let i = 0; i < 4; i += 1) port.begin(`10.0.0.${i}`, "greedy", 60);
    port.begin("10.0.0.9", "modest", 60);
    expect(port.cut).toEqual([1]);
    expect(port.noted).toEqual(["identity greedy unfinishedBytesMax 200"]);
  });

  test("from the machine of the node, and of clients without an identity, have only the common limit", () => {
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
    for (let i = 0; i < 20; i += 1) port.input.tick();
    expect(port.cut).toEqual([other.id]);
    held.isPaused = false;
    for (let i = 0; i < 8; i += 1) port.input.tick();
    expect(port.cut).toEqual([other.id]);
    port.input.tick();
    expect(port.cut).toEqual([other.id, held.id]);
  });

  test("count no more when they are finished, whatever the client has become meanwhile", () => {
    const port = new Port();
    for (let i = 0; i < 10; i += 1) {
      const connection = port.begin("10.0.0.1", "greedy", 90);
      connection.limitedIdentity = "";
      port.input.finished(connection);
      port.input.finished(connection);
    }
    expect([port.cut, port.input.bytes]).toEqual([[], 0]);
  });
});
