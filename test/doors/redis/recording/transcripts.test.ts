/** Unchanged clients at a door over locks in memory. */
import { describe } from "vitest";
import { DoorWorld } from "../world/door-world.js";
import { compareWithRedis } from "./comparison.js";

describe("the door replies as Redis does", () => {
  compareWithRedis(async (use) => {
    await using world = await DoorWorld.open();
    const onWait = (elapsedMs: number): void => {
      world.locks.nowMs += elapsedMs;
    };
    return await use({ port: world.door.port, onWait });
  });
});
