/** `docs/internals/peer-links.md` against the code: kinds, close codes, limits. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import {
  FORWARD_REFUSAL_NAMES,
  LACK_NAMES,
  OPERATION_TEXT_BYTES_MAX,
  PEER_KIND,
  PEER_MESSAGE_VERSION,
  REFUSAL_TEXT_BYTES_MAX,
} from "../../../src/net/peers/format.js";
import { PEER_CLOSE, PEER_SUBPROTOCOL } from "../../../src/net/peers/hello.js";
import { INCARNATION_JUMP_MAX } from "../../../src/net/peers/known-peers.js";
import { PEER_LINKS_DEFAULTS } from "../../../src/net/peers/options.js";
import {
  CONFIGURATION_BYTES_MAX,
  OPERATION_BYTES_MAX,
  PEER_FRAME_BYTES_MAX,
  SNAPSHOT_CHUNK_BYTES_MAX,
  VITALS_TEXT_BYTES_MAX,
} from "../../../src/protocol/index.js";
import { MODEL_VERSION } from "../../../src/protocol/model-version.js";
import { TERM_JUMP_MAX } from "../../../src/raft/messages/message-check.js";

const text = readFileSync(
  new URL("../../../docs/internals/peer-links.md", import.meta.url),
  "utf8",
);
const rows = [...text.matchAll(/^\| (\d+) \| `(\w+)` \|/gm)].map(
  ([, number, name]) => [name, Number(number)] as const,
);

test("every kind of message and every close code stands in its table under its number", () => {
  expect(rows).toEqual([...Object.entries(PEER_CLOSE), ...Object.entries(PEER_KIND)]);
});

test.each([
  ["bytes of a chunk", SNAPSHOT_CHUNK_BYTES_MAX],
  ["bytes of a configuration", CONFIGURATION_BYTES_MAX],
  ["bytes of the reason of a refused snapshot", REFUSAL_TEXT_BYTES_MAX],
  ["bytes of an operation's request", OPERATION_BYTES_MAX],
  ["bytes of the text of an answer", OPERATION_TEXT_BYTES_MAX],
  ["bytes of the vitals of a member", VITALS_TEXT_BYTES_MAX],
])("the limit on %s is the one that is enforced", (name, limit) => {
  expect(text).toMatch(new RegExp(`\\| ${name} \\| ${limit.toLocaleString("en-US")}\\b`));
});

test("what is said in passing is so", () => {
  expect(text).toContain(`at most ${PEER_FRAME_BYTES_MAX.toLocaleString("en-US")} bytes`);
  expect(text).toContain(`version of the body's layout, ${PEER_MESSAGE_VERSION}`);
  expect(text).toContain(
    `version of the model (\`src/protocol/model-version.ts\`), ${MODEL_VERSION} |`,
  );
  expect(text).toContain(`more than ${INCARNATION_JUMP_MAX.toLocaleString("en-US")} above`);
  expect(text).toContain(`at most ${TERM_JUMP_MAX.toLocaleString("en-US")} above the own one`);
  expect(text).toContain(`the subprotocol \`${PEER_SUBPROTOCOL}\``);
  expect(PEER_LINKS_DEFAULTS.silenceTimeoutMs).toBe(3_000);
  expect(text).toContain(`more than ${PEER_LINKS_DEFAULTS.strangersMax} the oldest goes`);
  expect(PEER_LINKS_DEFAULTS.bufferedBytesMax).toBe(64 << 20);
  expect(PEER_LINKS_DEFAULTS.refusedRedialMs).toBe(5_000);
  expect(FORWARD_REFUSAL_NAMES).toEqual(["notLeader", "busy", "diskFull"]);
  expect(LACK_NAMES).toEqual(["none", "busy", "diskFull"]);
});
