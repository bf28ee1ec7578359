/** `docs/protocol.md` against the code: its worked example, its numbers, its limits. */
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { ERROR_NUMBERS } from "../../src/errors.js";
import { decodeServerFrame, packPayload } from "../../src/net/framing/index.js";
import * as protocol from "../../src/protocol/index.js";
import { bytes, frameOf, hex, read } from "./frames.js";

const text = readFileSync(new URL("../../docs/protocol.md", import.meta.url), "utf8");
const { MESSAGE, OP, STATUS } = protocol;

/** The frames of the worked example, in order. */
const frames = [...text.matchAll(/```hex\n(.*?)```/gs)].map(([, block]) =>
  bytes((block as string).replaceAll(/#.*$/gm, "")),
);
const nonce = "000102030405060708090a0b0c0d0e0f";
const token = 3_665_513_368_518_657;

const endpoints = [1, 2].map((id) => ({ id, endpoint: `ws://127.0.0.1:741${id}` }));
const hello: protocol.ServerMessage = {
  ...{ kind: MESSAGE.hello, version: protocol.PROTOCOL_VERSION, clusterId: "demo", nodeId: 2 },
  ...{ leaderId: 1, endpoints, frameBytesMax: protocol.CLIENT_FRAME_BYTES_MAX },
};
const attached: protocol.ServerMessage = {
  ...{ kind: MESSAGE.attached, nonce: "", attempt: 1, status: STATUS.ok, session: 9, epoch: 1 },
  ...{ highestSequence: 0, stamp: 120_000, ttlMs: 15_000 },
};
const open = { op: OP.open, nonce, attempt: 1, ttlMs: 15_000, name: "billing-7", metadata: "" };
const acquire: protocol.Request = {
  ...{ op: OP.acquire, sequence: 1, mark: 1, acknowledged: [], owner: 1, waitMs: 5_000 },
  items: [{ key: "orders/1001", mode: "exclusive" }],
};
const reply = { kind: MESSAGE.reply, sequence: 1, stamp: 120_060 };
const granted = { ...reply, result: { status: STATUS.granted, token } };
const keepalive = { op: OP.keepalive, number: 1, mark: 2, acknowledged: [1] };
const release = { op: OP.release, sequence: 2, mark: 2, acknowledged: [], token };
const pulse = { kind: MESSAGE.pulse, number: 1, stamp: 122_072 };
const released = { ...reply, sequence: 2, stamp: 122_072, result: { status: STATUS.released } };

type Said =
  | { readonly client: readonly protocol.Request[] }
  | { readonly node: readonly protocol.ServerMessage[] };
const EXAMPLE: readonly Said[] = [
  { node: [hello] },
  { client: [open] },
  { node: [attached] },
  { client: [acquire] },
  { node: [granted] },
  { client: [keepalive, release] },
  { node: [pulse, released] },
];

function nodeFrame(messages: readonly protocol.ServerMessage[]): Uint8Array {
  const writer = new protocol.Writer();
  writer.beginFrame();
  for (const message of messages) protocol.writeServerMessage(writer, message, packPayload);
  writer.endFrame(messages.length);
  return writer.take();
}

describe("the worked example", () => {
  test("has as many frames as are checked here", () => {
    expect(frames).toHaveLength(EXAMPLE.length);
  });

  test.each(EXAMPLE.map((said, index) => [index, said] as const))(
    "is right in frame %d",
    (index, said) => {
      const frame = frames[index] as Uint8Array;
      if ("client" in said) {
        expect(read(frame).map((told) => "request" in told && told.request)).toEqual(said.client);
        expect(hex(frame)).toBe(hex(frameOf(said.client)));
      } else {
        expect(decodeServerFrame(frame)).toEqual(said.node);
        expect(hex(frame)).toBe(hex(nodeFrame(said.node)));
      }
    },
  );
});

test("every error stands in the table under its number", () => {
  const rows = [...text.matchAll(/^\| (\d+) \| `([A-Z_]+)` \|/gm)].filter(([row]) => row !== "");
  const listed = rows.map(([, number, code]) => [code, Number(number)]);
  const known = Object.entries(ERROR_NUMBERS);
  expect(new Map(listed as [string, number][])).toEqual(new Map(known));
});

test("every request and every message stands in its table under its number", () => {
  const rows = [...text.matchAll(/^\| ([a-zA-Z]+) \| `\[(\d+)[,\]]/gm)];
  const listed = rows.map(([, name, number]) => [name, Number(number)]);
  expect(listed).toEqual([...Object.entries(OP), ...Object.entries(MESSAGE)]);
});

test("every action on a member stands under its number", () => {
  const [, listed = ""] = /- `action`: ([^.]*)\./.exec(text) ?? [];
  const actions = Object.entries(protocol.MEMBER_ACTION);
  expect(listed).toBe(actions.map(([name, number]) => `${number} ${name}`).join(", "));
});

test("every field of what `members` answers is named", () => {
  const member: Required<protocol.MemberView> = {
    ...{ id: 1, role: "voter", address: "", endpoint: "", isReachable: true },
    ...{ lagEntries: 0, incarnation: 0 },
  };
  const view: Required<protocol.MembersView> = {
    ...{ leaderId: 1, term: 1, commitIndex: 1, isJoint: false, members: [member] },
  };
  for (const fields of [view, member]) {
    expect(text).toContain(`\`{${Object.keys(fields).join(", ")}}\``);
  }
});

test.each([
  ["bytes of a client's frame", protocol.CLIENT_FRAME_BYTES_MAX],
  ["bytes of a node's frame", protocol.SERVER_FRAME_BYTES_MAX],
  ["requests in a frame", protocol.CLIENT_FRAME_REQUESTS_MAX],
  ["nesting of a request", protocol.NESTING_MAX],
  ["key, prefix", protocol.KEY_BYTES_MAX],
  ["items of an acquire", protocol.ITEMS_MAX],
  ["session name", protocol.SESSION_NAME_BYTES_MAX],
  ["metadata", protocol.METADATA_BYTES_MAX],
  ["`ttlMs`", protocol.TTL_MS_MIN, protocol.TTL_MS_MAX],
  ["`waitMs`", 0, protocol.WAIT_MS_MAX],
  ["`attempt`", 1, protocol.ATTEMPT_MAX],
  ["keys of a page (`limit`)", 1, protocol.QUERY_PAGE_MAX],
  ["acknowledged in one command", protocol.ACKNOWLEDGED_MAX],
  ["sequences and tokens of a recall", protocol.RECALL_MAX],
  ["unanswered commands of a session", protocol.IN_FLIGHT_MAX],
  ["waiters of a key", protocol.WAITERS_MAX],
  ["address of a member", protocol.ADDRESS_BYTES_MAX],
  ["number of a member (`node`)", 1, protocol.NODE_ID_MAX],
  ["voters and learners", protocol.MEMBERS_MAX],
])("the limit on %s is the one that is enforced", (name, ...limits) => {
  const row = text.split("\n").find((line) => line.startsWith(`| ${name} |`)) ?? "";
  const value = limits.map((limit) => limit.toLocaleString("en-US")).join(" – ");
  expect(row.split("|")[2]).toMatch(new RegExp(`^ ${value}\\b`));
});
