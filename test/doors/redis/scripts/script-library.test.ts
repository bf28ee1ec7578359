/** What a node remembers of the texts that clients send it. */
import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { NotServed } from "../../../../src/doors/redis/scripts/lua-value.js";
import { ScriptLibrary } from "../../../../src/doors/redis/scripts/script-library.js";

const RELEASE =
  "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0";

function learn(library: ScriptLibrary, text: string) {
  return library.learn(Buffer.from(text));
}

test("a script that was learned stays, whatever is refused after it", () => {
  const library = new ScriptLibrary();
  const { sum, script } = learn(library, `${RELEASE} -- mine`);
  expect(script).not.toBeInstanceOf(NotServed);
  for (let count = 0; count < 3_000; count += 1) {
    expect(learn(library, `return n${count}`).script).toBeInstanceOf(NotServed);
  }
  expect(library.find(sum)).toBe(script);
});

test("a refused text stays refused, and has its sum", () => {
  const library = new ScriptLibrary();
  const first = learn(library, "return n");
  expect(first.sum).toBe(createHash("sha1").update("return n").digest("hex"));
  expect(first.script).toEqual(new NotServed("it uses n"));
  expect(learn(library, "return n")).toEqual(first);
  expect(library.find(first.sum)).toBeUndefined();
});

test("of learned scripts the newest thousand are kept", () => {
  const library = new ScriptLibrary();
  const sums = Array.from({ length: 1_001 }, (_, at) => learn(library, `${RELEASE} -- ${at}`).sum);
  expect(sums.map((sum) => library.find(sum) !== undefined)).toEqual(sums.map((_, at) => at > 0));
});
