/** Why a cluster does not serve, by what its nodes report. */
import { expect, test } from "vitest";
import { outageOf, refusalAmong } from "../../../bin/cluster/cluster-outage.js";
import type { ClusterMember } from "../../../bin/cluster/node-report.js";
import { type ErrorCode, HoldfastError } from "../../../src/errors.js";

const ENDPOINTS = ["wss://a:1", "wss://b:1"];

/** Nodes that say nothing of themselves, each for that reason. */
function silent(code: ErrorCode, ...messages: readonly string[]): ClusterMember[] {
  return messages.map((message, index) => {
    const endpoint = ENDPOINTS[index] ?? "";
    const error = new HoldfastError(code, `${endpoint}${message}`);
    return { id: undefined, report: { isReachable: false, role: "unreachable", endpoint, error } };
  });
}

test("a reason that all nodes share is told, unless it is about the network", async () => {
  const why = "this client has a certificate that has expired";
  const refused = ` answered HTTP status 403: ${why}`;
  const nothing = `no node answers at ${ENDPOINTS.join(", ")}`;
  for (const [code, messages, text] of [
    ["PROTOCOL", [refused, refused], `${nothing}: ${why}`],
    ["PROTOCOL", [refused, " answered HTTP status 403: another"], nothing],
    ["UNAVAILABLE", [": ECONNREFUSED", ": ECONNREFUSED"], nothing],
    [
      "UNAVAILABLE",
      [": its certificate is bad", ": its certificate is bad"],
      `${nothing}: its cert`,
    ],
  ] as const) {
    expect(await outageOf(silent(code, ...messages), ENDPOINTS)).toMatch(text);
  }
});

test("nodes that show nothing to who does not sign in are no outage", async () => {
  const members = silent("UNAUTHENTICATED", ": its cluster is closed", ": its cluster is closed");
  expect(await outageOf(members, ENDPOINTS)).toBeUndefined();
  const reports = members.map(({ report }) => report);
  expect(refusalAmong(reports)?.message).toBe("wss://a:1: its cluster is closed");
  expect(refusalAmong([])).toBeUndefined();
});
