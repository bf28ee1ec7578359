/** What the Redis door advises is an option of `holdfast server` and of `holdfast cluster`. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { CLUSTER_OPTIONS, SERVER_OPTIONS } from "../../../bin/options/option-table.js";
import { flagOf } from "../../../bin/text/option-spelling.js";
import { REDIS_RULE_NAMES } from "../../../src/node-options/index.js";

const DOOR = join(import.meta.dirname, "../../../src/doors/redis");

function advised(): ReadonlySet<string> {
  const files = readdirSync(DOOR, { recursive: true, encoding: "utf8" });
  const texts = files
    .filter((file) => file.endsWith(".ts"))
    .map((file) => readFileSync(join(DOOR, file), "utf8"));
  return new Set(texts.join("\n").match(/--redis-[a-z-]+/g));
}

test("each option that a message of the door names exists at both", () => {
  const flagsOf = (options: object): string[] => Object.keys(options).map(flagOf);
  expect(advised().size).toBeGreaterThan(2);
  for (const flag of [...advised(), ...REDIS_RULE_NAMES.map(flagOf)]) {
    expect(flagsOf(SERVER_OPTIONS)).toContain(flag);
    expect(flagsOf(CLUSTER_OPTIONS)).toContain(flag);
  }
});
