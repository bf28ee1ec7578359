/** The log of what ports refuse: whatever is said to it, few lines come out. */
import { expect, test } from "vitest";
import { boundedLog } from "../../src/net/bounded-log.js";

test("a bounded number of lines comes out in a minute, and then how many were kept back", () => {
  const lines: string[] = [];
  let nowMs = 0;
  const log = boundedLog(
    (line) => lines.push(line),
    () => nowMs,
  );
  for (let i = 0; i < 3_465; i += 1) log(`line ${i}`);
  expect(lines).toEqual(Array.from({ length: 16 }, (_, i) => `line ${i}`));
  nowMs = 60_000;
  log("later");
  expect(lines.slice(16)).toEqual(["3449 more connections were refused", "later"]);
});
