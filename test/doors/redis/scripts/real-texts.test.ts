/**
 * How many of the lock scripts of real clients are taken: every text that stands in the tree, or in a package
 * that it installs. The refused ones are named here with the reason, so that one more or less is seen.
 */
import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { checkScript } from "../../../../src/doors/redis/scripts/index.js";
import { RECORDINGS, readRecording, replay } from "../recording/recording.js";
import { DoorWorld } from "../world/door-world.js";
import { REAL_CLIENTS } from "./real-texts.js";

const UNPROVEN = "it would end or move a lock whose value it has not compared";
/** Unlocks by force, which --redis-allow-unproven lets through, by the first digits of their sums. */
const REFUSED: Readonly<Record<string, string>> = { "605e3382": UNPROVEN, "27dbe744": UNPROVEN };
const TAKEN = 45;
const REFUSAL = /^-NOHOLDFAST this lock script is not answered: (.*); see /;

/** Why a text is refused, by the first digits of its sum; `undefined`: it is taken. */
const reasons = new Map<string, string | undefined>();
/** Texts of a client that is not part of the tree, and was found on this machine. */
let takenMore = 0;

function sumOf(text: string): string {
  return createHash("sha1").update(text).digest("hex").slice(0, 8);
}

test.for(REAL_CLIENTS)("each text of $client is taken", async ({ client, texts }, context) => {
  const found = await texts();
  if (found === undefined) return context.skip(`${client} is not installed`);
  expect(found.length).toBeGreaterThan(0);
  for (const text of found) {
    const { reason } = checkScript(Buffer.from(text));
    expect(reason, text).toBeUndefined();
    if (client === "redis-py" && !reasons.has(sumOf(text))) takenMore += 1;
    reasons.set(sumOf(text), reason);
  }
});

// A script of Redisson means little without what was said before.
test.for(RECORDINGS)("each text of %s is taken, but for unlocks by force", async (name) => {
  const recording = readRecording(name);
  const refused: Record<string, string> = {};
  await using world = await DoorWorld.open();
  await replay(world, recording, ([, , command, sum = ""], reply) => {
    const [, reason] = REFUSAL.exec(reply) ?? [];
    if (command === "EVALSHA" && reason !== undefined) refused[sum.slice(0, 8)] = reason;
  });
  expect(refused).toEqual(REFUSED);
  for (const sum of Object.keys(recording.scripts)) {
    reasons.set(sum.slice(0, 8), refused[sum.slice(0, 8)]);
  }
});

test(`${TAKEN} of ${TAKEN + Object.keys(REFUSED).length} different texts are taken`, () => {
  const taken = [...reasons.values()].filter((reason) => reason === undefined).length;
  expect(taken).toBe(TAKEN + takenMore);
  expect(reasons.size - taken).toBe(Object.keys(REFUSED).length);
});
