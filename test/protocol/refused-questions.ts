/**
 * Reads and operations with a value that is not allowed: what is refused, why, and the very same
 * just inside the limit.
 */
import {
  ACCESS_TOKEN_BYTES_MAX,
  AUDIT_PAGE_MAX,
  CHUNK_MAX,
  type ClientRequest,
  HISTORY_PAGE_MAX,
  LOG_LEVEL_MS_MAX,
  NODE_ID_MAX,
  OP,
  QUERY_PAGE_MAX,
  REVISION_NUMBER_MAX,
  WAIT_GRAPH_EDGES_MAX,
  WALL_MS_MAX,
} from "../../src/protocol/index.js";

const query = { op: OP.query, id: 5, prefix: "", after: undefined, limit: 1 };
const add = {
  ...{ op: OP.changeMember, id: 5, action: "add" as const, node: 4, address: "n4:7421" },
};
const remove = { ...add, action: "remove" as const, address: undefined };
const addAt = (address: string) => ({ ...add, address });
const NEEDS_HOST = "address needs a host name, an IPv4 address or an IPv6 address in brackets";
const NEEDS_PORT = "address needs a port 1..65535";
const explain = { op: OP.explain, id: 5, key: "k", session: 0, sequence: 0 };
const graph = { op: OP.waitGraph, id: 5, limit: 1 };
const audit = {
  ...{ op: OP.audit, id: 5, block: 0, at: 0, limit: 1, key: undefined, isPrefix: false },
  ...{ identity: undefined, kind: undefined, since: 0, until: WALL_MS_MAX },
} as const;
const history = { op: OP.history, id: 5, key: "k", limit: 1 };
const sessions = { op: OP.sessions, id: 5, after: 0, limit: 1 };
const watch = { op: OP.watch, id: 5, key: "k", isPrefix: false, after: undefined };

export const REFUSED_QUESTIONS: readonly (readonly [ClientRequest, string, ClientRequest])[] = [
  [{ op: OP.inspect, id: 5, key: "" }, "key is empty", { op: OP.inspect, id: 5, key: "k" }],
  [{ ...query, limit: 0 }, "limit 0 not in 1..200", query],
  [{ ...query, limit: 201 }, "limit 201 not in 1..200", { ...query, limit: 200 }],
  [{ ...query, prefix: "\t" }, "prefix holds a control character", { ...query, prefix: "~" }],
  [
    { ...query, after: "k".repeat(513) },
    "after exceeds 512 bytes",
    { ...query, after: "k".repeat(512) },
  ],
  [
    { ...explain, session: 1 },
    "a session and a sequence, or neither",
    { ...explain, session: 1, sequence: 1 },
  ],
  [{ ...explain, sequence: 1 }, "a session and a sequence, or neither", explain],
  [{ ...explain, key: "" }, "key is empty", explain],
  [{ ...graph, limit: 0 }, "limit 0 not in 1..2000", { ...graph, limit: 1 }],
  [
    { ...graph, limit: WAIT_GRAPH_EDGES_MAX + 1 },
    "limit 2001 not in 1..2000",
    { ...graph, limit: WAIT_GRAPH_EDGES_MAX },
  ],
  [
    { op: OP.verify, id: 5, key: "", token: 1 },
    "key is empty",
    { op: OP.verify, id: 5, key: "k", token: 0 },
  ],
  [{ ...history, limit: 0 }, "limit 0 not in 1..1000", { ...history, limit: 1 }],
  [
    { ...history, limit: HISTORY_PAGE_MAX + 1 },
    "limit 1001 not in 1..1000",
    { ...history, limit: HISTORY_PAGE_MAX },
  ],
  [{ ...sessions, limit: 0 }, "limit 0 not in 1..200", { ...sessions, limit: 1 }],
  [
    { ...sessions, limit: QUERY_PAGE_MAX + 1 },
    "limit 201 not in 1..200",
    { ...sessions, limit: QUERY_PAGE_MAX },
  ],
  [{ ...watch, key: "" }, "key is empty", { ...watch, key: "", isPrefix: true }],
  [
    { ...watch, after: { index: 1, number: REVISION_NUMBER_MAX + 1 } },
    "number 4294967296 not in 0..4294967295",
    { ...watch, after: { index: 1, number: REVISION_NUMBER_MAX } },
  ],
  [{ ...watch, key: "~" }, "keys under ~ are reserved", { ...watch, key: "~", isPrefix: true }],
  [
    { ...watch, key: "k".repeat(513), isPrefix: true },
    "key exceeds 512 bytes",
    { ...watch, key: "k".repeat(512), isPrefix: true },
  ],
  [{ ...add, node: 0 }, "node 0 not in 1..4294967295", { ...add, node: 1 }],
  [
    { ...add, node: NODE_ID_MAX + 1 },
    "node 4294967296 not in 1..4294967295",
    { ...add, node: NODE_ID_MAX },
  ],
  [{ ...add, address: undefined }, "add without an address", add],
  [{ ...remove, address: "n4:7421" }, "remove with an address", remove],
  [
    { ...remove, action: "promote", address: "n4:7421" },
    "promote with an address",
    { ...remove, action: "promote" },
  ],
  [
    { ...remove, action: "demote", address: "n4:7421" },
    "demote with an address",
    { ...remove, action: "demote" },
  ],
  [addAt(""), "address is not host:port", addAt("a:1")],
  [addAt("n4"), "address is not host:port", addAt("n4:1")],
  [addAt(`${"h".repeat(251)}:7421`), "address exceeds 255 bytes", addAt(`${"h".repeat(250)}:7421`)],
  [addAt(":7421"), NEEDS_HOST, addAt("0:7421")],
  [addAt("n 4:7421"), NEEDS_HOST, addAt("n_4:7421")],
  [addAt("n4/peer:7421"), NEEDS_HOST, addAt("n4.peer:7421")],
  [addAt("a@n4:7421"), NEEDS_HOST, addAt("a-n4:7421")],
  [addAt("n4\n:7421"), NEEDS_HOST, addAt("n4:7421")],
  [addAt("büro:7421"), NEEDS_HOST, addAt("buero:7421")],
  [addAt("::1:7421"), NEEDS_HOST, addAt("[::1]:7421")],
  [addAt("[]:7421"), NEEDS_HOST, addAt("[::]:7421")],
  [addAt("[10.0.0.4]:7421"), NEEDS_HOST, addAt("[::ffff:10.0.0.4]:7421")],
  [addAt("[fe80::1%eth0]:7421"), NEEDS_HOST, addAt("[fe80::1]:7421")],
  [addAt("n4:0"), NEEDS_PORT, addAt("n4:1")],
  [addAt("n4:65536"), NEEDS_PORT, addAt("n4:65535")],
  [addAt("n4:"), NEEDS_PORT, addAt("n4:9")],
  [addAt("n4:080"), NEEDS_PORT, addAt("n4:80")],
  [addAt("n4:1e3"), NEEDS_PORT, addAt("n4:1000")],
  [
    { op: OP.readSnapshot, id: 5, checksum: "ab".repeat(32), chunk: CHUNK_MAX + 1 },
    "chunk 4294967296 not in 0..4294967295",
    { op: OP.readSnapshot, id: 5, checksum: "ab".repeat(32), chunk: CHUNK_MAX },
  ],
  [
    { op: OP.transfer, id: 5, node: NODE_ID_MAX + 1 },
    "node 4294967296 not in 0..4294967295",
    { op: OP.transfer, id: 5, node: 0 },
  ],
  [
    { op: OP.logLevel, id: 5, node: 1, level: undefined, forMs: 1 },
    "a time without a level",
    { op: OP.logLevel, id: 5, node: 1, level: "warn", forMs: 1 },
  ],
  [
    { op: OP.logLevel, id: 5, node: 1, level: "warn", forMs: LOG_LEVEL_MS_MAX + 1 },
    "forMs 86400001 not in 0..86400000",
    { op: OP.logLevel, id: 5, node: 1, level: "warn", forMs: LOG_LEVEL_MS_MAX },
  ],
  [
    { op: OP.signIn, id: 5, token: "a b" },
    "a token has only visible ASCII characters, no blank and no line break",
    { op: OP.signIn, id: 5, token: "a!~" },
  ],
  [
    { op: OP.signIn, id: 5, token: "t".repeat(ACCESS_TOKEN_BYTES_MAX + 1) },
    "token exceeds 512 bytes",
    { op: OP.signIn, id: 5, token: "t".repeat(ACCESS_TOKEN_BYTES_MAX) },
  ],
  [
    { op: OP.vitals, id: 5, node: 0, after: WALL_MS_MAX + 1 },
    "after 8640000000000001 not in 0..8640000000000000",
    { op: OP.vitals, id: 5, node: 0, after: WALL_MS_MAX },
  ],
  [{ ...audit, limit: 0 }, "limit 0 not in 1..200", { ...audit, limit: 1 }],
  [
    { ...audit, limit: AUDIT_PAGE_MAX + 1 },
    "limit 201 not in 1..200",
    { ...audit, limit: AUDIT_PAGE_MAX },
  ],
];
