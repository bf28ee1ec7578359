/** `docs/internals/peer-links.md` against the code: its tables, close codes, limits. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { withTables } from "../../../scripts/page-tables.js";
import { PEER_TABLES } from "../../../scripts/peer-tables.js";
import { PEER_CLOSE } from "../../../src/net/peers/hello.js";
import { INCARNATION_JUMP_MAX } from "../../../src/net/peers/known-peers.js";
import { PEER_LINK_VERSION } from "../../../src/net/peers/link-frame.js";
import { PEER_LINKS_DEFAULTS } from "../../../src/net/peers/options.js";
import { MODEL_VERSION } from "../../../src/protocol/model-version.js";
import { TERM_JUMP_MAX } from "../../../src/raft/messages/message-check.js";

const text = readFileSync(
  new URL("../../../docs/internals/peer-links.md", import.meta.url),
  "utf8",
);
test("what is made from the code is up to date: run `npm run docs:protocol` to renew it", () => {
  expect(text).toBe(withTables(text, PEER_TABLES));
});

test("every close code stands in its table under its number", () => {
  const rows = [...text.matchAll(/^\| (\d{4}) \| `(\w+)` \|/gm)];
  const listed = rows.map(([, number, name]) => [name, Number(number)]);
  expect(listed).toEqual(Object.entries(PEER_CLOSE));
});

test("what is said in passing is so", () => {
  expect(text).toContain(`(\`src/protocol/model-version.ts\`), ${MODEL_VERSION} (2 bytes)`);
  expect(text).toContain(`more than ${INCARNATION_JUMP_MAX.toLocaleString("en-US")} above`);
  expect(text).toContain(`at most ${TERM_JUMP_MAX.toLocaleString("en-US")} above the own one`);
  expect(text).toContain(`the version of the link, ${PEER_LINK_VERSION} (2 bytes)`);
  expect(PEER_LINKS_DEFAULTS.silenceTimeoutMs).toBe(3_000);
  expect(text).toContain(`more than ${PEER_LINKS_DEFAULTS.strangersMax} the oldest goes`);
  expect(PEER_LINKS_DEFAULTS.bufferedBytesMax).toBe(64 << 20);
  expect(PEER_LINKS_DEFAULTS.refusedRedialMs).toBe(5_000);
});
