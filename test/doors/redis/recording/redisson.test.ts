/**
 * What Redisson said to Redis, replayed at a door: each command is answered as Redis answered it. The
 * recordings are of two clients with locks of each kind; their random names are replaced. What the long test
 * runs (`redisson.long.test.ts`) is left out.
 */
import { expect, test } from "vitest";
import { DoorWorld } from "../world/door-world.js";
import { type Exchange, RECORDINGS, type Recording, readRecording, replay } from "./recording.js";

const TOKEN_SCRIPT = /'incr'/;
const LONG = /:\d{3,}/g;

/** Numbers of fenced locks are tokens here, and so they are larger. */
function expected(recording: Recording, [, reply, name, sum]: Exchange) {
  const text = name === "EVALSHA" ? (recording.scripts[sum as string] ?? "") : "";
  const isFenced = TOKEN_SCRIPT.test(text) && reply.startsWith("[:-1, ");
  return isFenced ? "[:-1, :<number>]" : reply;
}

test.for(RECORDINGS)("%s is answered as by Redis", async (name) => {
  const recording = readRecording(name);
  await using world = await DoorWorld.open({ allowsUnproven: true });
  await replay(world, recording, (exchange, answer) => {
    const [, , command, key = "", ...more] = exchange;
    const reply = answer.replace(LONG, ":<number>");
    // A token that is asked for by itself is a text.
    const isToken = command === "GET" && key.startsWith("redisson_lock_token");
    if (isToken) expect(reply).toMatch(/^(?:\d+|nil)$/);
    else expect(reply, [command, key, ...more].join(" ")).toBe(expected(recording, exchange));
  });
});
