/** `docs/protocol.md` against the code: its worked example, its numbers, its limits. */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import fc from "fast-check";
import { unpack } from "msgpackr";
import { describe, expect, test } from "vitest";
import { withTables } from "../../scripts/page-tables.js";
import { PROTOCOL_TABLES } from "../../scripts/protocol-tables.js";
import { ERROR_NUMBERS } from "../../src/errors/index.js";
import { LockTable } from "../../src/lockfsm/index.js";
import { decodeServerFrame, writePayload } from "../../src/net/framing/index.js";
import * as protocol from "../../src/protocol/index.js";
import { anyCommand, anyOperation, anyQuery } from "./arbitraries.js";
import { bytes, encodeRequest, frameOf, hex, read } from "./frames.js";

const text = readFileSync(new URL("../../docs/protocol.md", import.meta.url), "utf8");
const { MESSAGE, OP, STATUS } = protocol;

/** The frames of the worked example, in order. */
const frames = [...text.matchAll(/```hex\n(.*?)```/gs)].map(([, block]) =>
  bytes((block as string).replaceAll(/#.*$/gm, "")),
);
const grouped = (number: number): string => number.toLocaleString("en-US");
const nonce = "000102030405060708090a0b0c0d0e0f";
const token = 3_665_513_368_518_657;

const endpoints = [1, 2].map((id) => ({ id, endpoint: `ws://127.0.0.1:741${id}` }));
const hello: protocol.ServerMessage = {
  ...{ kind: MESSAGE.hello, version: protocol.PROTOCOL_VERSION, clusterId: "demo", nodeId: 2 },
  ...{ leaderId: 1, endpoints, frameBytesMax: protocol.CLIENT_FRAME_BYTES_MAX },
  voters: [1, 2, 3],
};
const attached: protocol.ServerMessage = {
  ...{ kind: MESSAGE.attached, key: "", attempt: 1, status: STATUS.ok, session: 9 },
  ...{ epoch: 1, highestSequence: 0, stamp: 120_000, ttlMs: 15_000, index: 321 },
};
const open = { op: OP.open, nonce, attempt: 1, ttlMs: 15_000, name: "billing-7", metadata: "" };
const acquire: protocol.ClientRequest = {
  ...{ op: OP.acquire, sequence: 1, mark: 1, acknowledged: [], task: 1, waitMs: 5_000 },
  items: [{ key: "orders/1001", mode: "exclusive" }],
};
const reply = { kind: MESSAGE.reply, sequence: 1, stamp: 120_060 };
const granted = { ...reply, result: { status: STATUS.granted, token } };
const keepalive = { op: OP.keepalive, number: 1, mark: 2, acknowledged: [] };
const end = { op: OP.end, sequence: 2, mark: 2, acknowledged: [], target: 1 };
const renewed = { kind: MESSAGE.renewed, number: 1, stamp: 122_072 };
const released = { ...reply, sequence: 2, stamp: 122_072, result: { status: STATUS.released } };

const poolAcquire: protocol.ClientRequest = {
  ...{ op: OP.acquire, sequence: 3, mark: 3, acknowledged: [], task: 1 },
  ...{ waitMs: protocol.WAIT_FOREVER },
  items: [{ key: "pool", mode: "permits", permits: 2, limit: 5 }],
  options: { ...protocol.ACQUIRE_DEFAULTS, priority: 30, value: "job 7" },
};
const poolGranted: protocol.ServerMessage = {
  ...{ kind: MESSAGE.reply, sequence: 3, stamp: 122_112 },
  result: { status: STATUS.granted, token: token + 1, slots: [[0, 1]] },
};
const contended: protocol.ServerMessage = { kind: MESSAGE.contended, sequence: 3 };

type Said =
  | { readonly client: readonly protocol.ClientRequest[] }
  | { readonly node: readonly protocol.ServerMessage[] };
const EXAMPLE: readonly Said[] = [
  { node: [hello] },
  { client: [open] },
  { node: [attached] },
  { client: [acquire] },
  { node: [granted] },
  { client: [keepalive, end] },
  { node: [renewed, released] },
  { client: [poolAcquire] },
  { node: [poolGranted] },
  { node: [contended] },
];

function nodeFrame(messages: readonly protocol.ServerMessage[]): Uint8Array {
  const writer = new protocol.Writer();
  writer.beginFrame();
  for (const message of messages) protocol.writeServerMessage(writer, message, writePayload);
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

test("the forms have not changed since the version was raised", () => {
  const forms = [...text.matchAll(/`([[{][^`]*)`/g)].map(([, form]) => form);
  const results = tableOf("status").map(([status, , rest]) => `${status}: ${rest}`);
  const digest = createHash("sha256")
    .update([...forms, ...results].join("\n"))
    .digest("hex");
  // If a client or a node would misread the other now, raise the version; then write the digest here.
  const known = { version: 3, digest: "c118f12c57aaff04" };
  expect({ version: protocol.PROTOCOL_VERSION, digest: digest.slice(0, 16) }).toEqual(known);
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

test("what is made from the schema is up to date: run `npm run docs:protocol` to renew it", () => {
  expect(text).toBe(withTables(text, PROTOCOL_TABLES));
});

test("every request has as many values there as it has in bytes", () => {
  const rows = [...text.matchAll(/^\| [a-zA-Z]+ \| `\[(\d+)(.*?)\]` \|/gm)];
  const listed = rows.map(([, op, rest = ""]) => [Number(op), rest.split(",").length] as const);
  const requests = fc.sample(fc.oneof(anyCommand, anyQuery, anyOperation), 3_000);
  const arities = new Map(
    requests.map((request) => [
      request.op as number,
      (unpack(encodeRequest(request)) as []).length,
    ]),
  );
  const inOrder = [...arities].sort(([a], [b]) => a - b);
  expect(listed.slice(0, inOrder.length)).toEqual(inOrder);
  expect(inOrder).toHaveLength(Object.keys(OP).length);
});

test("every action on a member stands under its number", () => {
  const [, listed = ""] = /- `action`: ([^.]*)\./.exec(text) ?? [];
  const actions = Object.entries(protocol.MEMBER_ACTION);
  expect(listed).toBe(actions.map(([name, number]) => `${number} ${name}`).join(", "));
});

/** The cells of the table whose first column is headed so. */
function tableOf(heading: string): string[][] {
  const [, rows = ""] = text.split(new RegExp(`^\\| ${heading} \\|.*\\n\\|[-|]+\\|\\n`, "m"));
  const [table = ""] = rows.split("\n\n");
  const lines = table.split("\n").map((line) => line.replaceAll("\\|", "or").split("|"));
  return lines.map((cells) => cells.slice(1, -1).map((cell) => cell.replaceAll("`", "").trim()));
}

test("every status and what follows it stands in the table", () => {
  const listed = tableOf("status").map(([status]) => status);
  const { LOCK_HELD, DEADLOCK, LIMIT_MISMATCH, NOT_HELD } = ERROR_NUMBERS;
  const { INVALID_ARGUMENT, OUTDATED_ORDER } = ERROR_NUMBERS;
  const withMore = [LOCK_HELD, DEADLOCK, LIMIT_MISMATCH, NOT_HELD];
  const errors = [...withMore, INVALID_ARGUMENT, OUTDATED_ORDER];
  const statuses = [...Object.values(STATUS), ...errors.sort((a, b) => a - b)];
  expect(listed).toEqual([...statuses.map(String), "other"]);
});

test("every reason of an end stands under its number", () => {
  const [, listed = ""] = /- `reason`, why something is not held: ([^.]*)\./.exec(text) ?? [];
  const numbers = [...listed.matchAll(/(\d+) /g)].map(([, number]) => Number(number));
  expect(numbers).toEqual(Object.values(protocol.END_REASON));
});

test("every setting stands with its default and what it may be", () => {
  const settings = new LockTable().settings().map(({ name, defaultValue, least, most }) => {
    return [name, grouped(defaultValue), `${grouped(least)} – ${grouped(most)}`];
  });
  expect(tableOf("setting").map((cells) => cells.slice(0, 3))).toEqual(settings);
});

test("every type of change stands in the order of its definition", () => {
  expect(tableOf("type").map(([type]) => type)).toEqual(protocol.CHANGE_TYPES);
});

const lock = { key: "", mode: "exclusive" } as const;
const who = { session: 1, sessionName: "", identity: "", task: 1 } as const;
const blocker: Required<protocol.Blocker> = {
  ...{ sessionName: "", ...lock, token: 1, identity: "", session: 1, holder: "session" },
};
const revision: Required<protocol.Revision> = { index: 1, number: 0 };
const hold: Required<protocol.HoldView> = {
  ...{ token: 1, mode: "exclusive", ...who, sequence: 1, heldMs: 0, waitedMs: 0, leaseMs: 0 },
  ...{
    ttlMs: 0,
    endsInMs: null,
    isRevoked: false,
    orderedBy: "",
    holder: "session",
    leaseOwner: "",
    permits: 0,
    slots: [],
    value: "",
  },
};
const waiter: Required<protocol.WaiterView> = {
  ...{ mode: "exclusive", ...who, sequence: 1, arrival: 1, waitingMs: 0, endsInMs: null },
  ...{ priority: 0, permits: 0, isUpgrade: false, isEligible: false },
};
const cooldown: Required<protocol.CooldownView> = {
  ...{ mode: "exclusive", token: 1, identity: "", endsInMs: 0, permits: 0 },
};
const truncated = { holds: 1, waiters: 1, cooldowns: 1 };
const keyView: Required<protocol.KeyView> = {
  ...{ key: "", kind: "lock", limit: 0, holds: [hold], waiters: [waiter], cooldowns: [cooldown] },
  ...{ truncated, mine: { token: 1, endsInMs: null } },
};
const explainedKey: Required<protocol.ExplainedKey> = {
  ...{ ...lock, isEligible: false, aheadCount: 0, blockers: [blocker], cooldowns: [cooldown] },
  expectedWaitMs: null,
};
const graphOwner: Required<protocol.GraphTask> = { id: 1, ...who };
const graphEdge: Required<protocol.GraphEdge> = { from: 1, to: 1, ...lock, why: "holds" };
const sessionView: Required<protocol.SessionView> = {
  ...{
    session: 1,
    name: "",
    identity: "",
    metadata: "",
    ttlMs: 1_000,
    leaseMs: 0,
    idleMs: 0,
    node: 1,
    address: "",
    holds: 0,
    waits: 0,
  },
  isRevoked: false,
};
const tenure: Required<protocol.Tenure> = {
  ...{ ...lock, token: 1, ...who, sequence: 1, holder: "session", grantedWallMs: 0 },
  ...{ heldMs: 0, waitedMs: 0, orderedBy: "", reason: null },
};
const change: Required<protocol.ChangeView> = {
  ...{ revision, type: "granted", ...lock, ...who, token: 1, sequence: 0, value: "" },
  ...{ reason: 0, stamp: 1, wallMs: 1 },
};
const member: Required<protocol.MemberView> = {
  ...{ id: 1, role: "voter", address: "", endpoint: "", isReachable: true },
  ...{ lagEntries: 0, incarnation: 0 },
};
const members: Required<protocol.MembersView> = {
  ...{ leaderId: 1, term: 1, commitIndex: 1, isJoint: false, members: [member] },
};
const keys: Required<protocol.KeysView> = { keys: [keyView], next: null };
const cycleMember: Required<protocol.CycleMember> = {
  ...{ session: 1, sessionName: "", task: 1, ...lock, identity: "" },
};
const explain: Required<protocol.ExplainView> = {
  ...{ key: "", request: waiter, keys: [explainedKey], possibleDeadlock: [cycleMember] },
};
const refused: Required<protocol.RefusedDeadlock> = { wallMs: 1, cycle: [cycleMember] };
const graph: Required<protocol.WaitGraphView> = {
  ...{ tasks: [graphOwner], edges: [graphEdge], isTruncated: false },
  ...{ refused: [refused], possible: [{ waitingMs: 1, cycle: [cycleMember] }] },
};
const verify: Required<protocol.VerifyView> = { isCurrent: false, newestToken: 0 };
const setting: Required<protocol.SettingView> = {
  ...{ name: "", value: 1, defaultValue: 1, least: 1, most: 1 },
};
const sessions: Required<protocol.SessionsView> = { sessions: [sessionView], next: null };
const lostTenures: Required<protocol.LostTenures> = { count: 1, after: revision, before: revision };
const history: Required<protocol.HistoryView> = {
  ...{ tenures: [tenure], isTruncated: false, lost: [lostTenures] },
};
const watch: Required<protocol.WatchView> = { revision };
const changes: Required<protocol.ChangesView> = { changes: [change], revision };
const failure: Required<protocol.OperationFailure> = { message: "" };

test.each([
  ...[hold, waiter, cooldown, truncated, keyView, keys, explainedKey, blocker, explain],
  ...[
    graphOwner,
    graphEdge,
    refused,
    graph,
    verify,
    setting,
    sessionView,
    sessions,
    tenure,
    history,
  ],
  ...[revision, watch, change, changes, member, members, failure],
])("every field of a payload is named, in its order: %o", (payload: object) => {
  expect(text).toContain(`\`{${Object.keys(payload).join(", ")}}\``);
});

test.each([
  ["bytes of a client's frame", protocol.CLIENT_FRAME_BYTES_MAX],
  ["bytes of a node's frame", protocol.SERVER_FRAME_BYTES_MAX],
  ["requests in a frame", protocol.CLIENT_FRAME_REQUESTS_MAX],
  ["nesting of a request", protocol.NESTING_MAX],
  ["bytes of a request", protocol.REQUEST_BYTES_MAX],
  ["permits of an acquire", 1, protocol.PERMITS_MAX],
  ["watches of a connection", protocol.WATCHES_MAX],
  ["members of a cycle that are named", protocol.CYCLE_MEMBERS_MAX],
  ["commands of a session from its mark on", protocol.IN_FLIGHT_MAX],
  ["waiters of a key", protocol.WAITERS_MAX],
  ["voters and learners", protocol.MEMBERS_MAX],
])("the limit on %s is the one that is enforced", (name, ...limits) => {
  const row = text.split("\n").find((line) => line.startsWith(`| ${name} |`)) ?? "";
  const value = limits.map((limit) => grouped(Number(limit))).join(" – ");
  expect(row.split("|")[2]).toMatch(new RegExp(`^ ${value}\\b`));
});
