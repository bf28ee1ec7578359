/**
 * The sums of known scripts, computed from the clients themselves, and that the texts of the clients
 * mean the same as the short ones that stand for them.
 */
import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import {
  KNOWN_SCRIPTS,
  type KnownKey,
  knownScript,
  LockScript,
  NotServed,
} from "../../../../src/doors/redis/scripts/index.js";
import { REAL_CLIENTS } from "./real-texts.js";

const STATES: readonly KnownKey[] = [
  { kind: "free" },
  { kind: "lock", value: "alice", remainingMs: 5_000 },
  { kind: "lock", value: "alice", remainingMs: undefined },
  { kind: "lock", value: "0", remainingMs: 5_000 },
  { kind: "lock", value: "bob", remainingMs: 200 },
];
const CALLS: readonly (readonly string[])[] = [
  ["alice", "1000", "3000", "0"],
  ["alice", "3", "30000", "1"],
  ["0", "alice", "30000", "yes"],
  ["alice", "bob", "30000"],
];

/** What it means for each state of one key and of two, and for each list of arguments. */
function meaningsOf(script: LockScript): readonly string[] {
  return STATES.flatMap((k) =>
    STATES.flatMap((l) =>
      CALLS.flatMap((args) => [
        meaningText(script, new Map([["k", k]]), args),
        meaningText(script, new Map([...new Map([["k", k]]), ["l", l]]), args),
      ]),
    ),
  );
}

function meaningText(
  script: LockScript,
  known: ReadonlyMap<string, KnownKey>,
  args: readonly string[],
): string {
  try {
    const keys = [...known.keys()].map((key) => Buffer.from(key));
    const input = { keys, args: args.map((arg) => Buffer.from(arg)), known };
    const meaning = script.meaningOf({
      ...input,
      database: 0,
      allowsUnproven: false,
      isGuess: false,
    });
    const isError = typeof meaning.reply === "object" && "code" in (meaning.reply ?? {});
    return isError ? "error" : JSON.stringify(meaning);
  } catch (error) {
    return error instanceof NotServed ? "error" : (error as Error).name;
  }
}

function expectKnown(texts: readonly string[], client: string): void {
  for (const text of texts) {
    const sha1 = createHash("sha1").update(text).digest("hex");
    expect(KNOWN_SCRIPTS).toContainEqual(expect.objectContaining({ sha1, client }));
    const known = knownScript(sha1)?.is;
    if (!(known instanceof LockScript)) continue;
    expect(meaningsOf(known), text).toEqual(meaningsOf(LockScript.read(Buffer.from(text))));
  }
  const known = KNOWN_SCRIPTS.filter((each) => each.client === client);
  expect(known).toHaveLength(texts.length);
}

const KNOWN_CLIENTS = new Set(KNOWN_SCRIPTS.map(({ client }) => client));

test.for(REAL_CLIENTS.filter(({ client }) => KNOWN_CLIENTS.has(client)))(
  "$client",
  async ({ client, texts }, context) => {
    const found = await texts();
    if (found === undefined) return context.skip(`${client} is not installed`);
    expectKnown(found, client);
  },
);

test("six clients are asked for their texts", () => {
  expect(REAL_CLIENTS.filter(({ client }) => KNOWN_CLIENTS.has(client))).toHaveLength(6);
});
