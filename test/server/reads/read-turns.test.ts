import { describe, expect, test } from "vitest";
import { ERROR_NUMBERS } from "../../../src/errors/index.js";
import { OP, STATUS } from "../../../src/protocol/index.js";
import { ReadTurns } from "../../../src/server/reads/read-turns.js";
import { startClosedCluster } from "../world/closed-cluster.js";
import type { TestClient } from "../world/test-client.js";

const COST = 10;

/** Takes `count` reads and returns them; each costs what it says. */
function taken(turns: ReadTurns<readonly [string, number]>, count: number): string[] {
  const names: string[] = [];
  for (let i = 0; i < count; i += 1) {
    turns.take(([name, cost]) => {
      names.push(name);
      return cost;
    });
  }
  return names;
}

describe("turns of reads", () => {
  test("go from one asker to the next when it has spent its share", () => {
    const turns = new ReadTurns<readonly [string, number]>(COST);
    const [greedy, modest] = [{}, {}];
    for (let i = 1; i <= 4; i += 1) turns.push(greedy, [`g${i}`, COST]);
    for (let i = 1; i <= 3; i += 1) turns.push(modest, [`m${i}`, COST / 2]);
    expect(taken(turns, 7)).toEqual(["g1", "m1", "m2", "g2", "m3", "g3", "g4"]);
    expect(turns.length).toBe(0);
  });

  test("keep the order of one asker, even of one that comes back", () => {
    const turns = new ReadTurns<readonly [string, number]>(COST);
    const [one, other] = [{}, {}];
    turns.push(one, ["a", 1]);
    expect(taken(turns, 1)).toEqual(["a"]);
    turns.push(other, ["x", COST]);
    turns.push(one, ["b", COST]);
    turns.push(one, ["c", COST]);
    expect(taken(turns, 3)).toEqual(["b", "x", "c"]);
  });
});

describe("an identity with more reads than a node can answer", () => {
  const IDENTITIES = { greedy: "acquire", modest: "acquire" } as const;

  test("makes no other identity wait for them", async () => {
    const { world, leader, signedIn } = await startClosedCluster(IDENTITIES);
    const modest = await signedIn("modest", leader);
    const clients: TestClient[] = [];
    for (let i = 0; i < 4; i += 1) clients.push(await signedIn("greedy", leader));
    for (let id = 10; id < 110; id += 1) {
      for (const client of clients) {
        client.query({ op: OP.query, id, prefix: "", after: undefined, limit: 1 });
      }
    }
    modest.query({ op: OP.inspect, id: 10, key: "a" });
    await world.until("an answer", () => modest.answer(10) !== undefined);
    expect(modest.answer(10)?.status).toBe(STATUS.ok);
    for (const client of clients) expect(client.answer(109)).toBeUndefined();
    await world.until("the last", () => clients.every((client) => client.answer(109)));
    for (const client of clients) expect(client.answer(109)?.status).toBe(STATUS.ok);
  });

  test("leaves room for the reads of others while none can be answered", async () => {
    const { world, leader, followers, signedIn } = await startClosedCluster(IDENTITIES);
    const modest = await signedIn("modest", leader);
    const greedy: TestClient[] = [];
    for (let i = 0; i < 50; i += 1) greedy.push(await signedIn("greedy", leader));
    for (const follower of followers) follower.crash();
    for (const client of greedy) {
      for (let id = 10; id < 260; id += 1) client.query({ op: OP.inspect, id, key: "a" });
    }
    await world.run(5);
    expect(greedy.at(-1)?.answer(259)?.status).toBe(ERROR_NUMBERS.BUSY);
    expect(greedy.at(-2)?.answer(10)).toBeUndefined();
    modest.query({ op: OP.inspect, id: 10, key: "a" });
    await world.run(5);
    expect(modest.answer(10)).toBeUndefined();
    await world.until("an answer", () => modest.answer(10) !== undefined);
    expect(modest.answer(10)?.status).toBe(ERROR_NUMBERS.UNAVAILABLE);
  });
});
