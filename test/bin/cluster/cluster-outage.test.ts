/** Why a cluster does not serve, by what its nodes report; the report never changes how the work ends. */
import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import { outageOf, refusalAmong, withOutageReport } from "../../../bin/cluster/cluster-outage.js";
import type { ClusterMember } from "../../../bin/cluster/node-report.js";
import { EXIT } from "../../../bin/exit/exit-codes.js";
import { Failure } from "../../../bin/exit/failure.js";
import { type ErrorCode, HoldfastError } from "../../../src/errors/index.js";

const ENDPOINTS = ["wss://a:1", "wss://b:1"];

/** Nodes that say nothing of themselves, each for that reason. */
function silent(code: ErrorCode, ...messages: readonly string[]): ClusterMember[] {
  return messages.map((message, index) => {
    const endpoint = ENDPOINTS[index] ?? "";
    const error = new HoldfastError(code, `${endpoint}${message}`);
    return { id: undefined, report: { isReachable: false, role: "unreachable", endpoint, error } };
  });
}

test("a reason that all nodes share is given, unless it is about the network", async () => {
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

test("nodes that show nothing to clients that do not sign in are not an outage", async () => {
  const members = silent("UNAUTHENTICATED", ": its cluster is secured", ": its cluster is secured");
  expect(await outageOf(members, ENDPOINTS)).toBeUndefined();
  const reports = members.map(({ report }) => report);
  expect(refusalAmong(reports)?.message).toBe("wss://a:1: its cluster is secured");
  expect(refusalAmong([])).toBeUndefined();
});

test.each([
  new Failure(EXIT.usage, "cannot read b.token: there is no such file"),
  new HoldfastError("INVALID_ARGUMENT", "the access token is damaged"),
])("a token that cannot be read is left to the work: %o", async (problem) => {
  let askOnce: () => void;
  const asked = new Promise<void>((resolve) => {
    askOnce = resolve;
  });
  const token = (): string => {
    askOnce();
    throw problem;
  };
  // A rejection that nobody handles would fail this test.
  const work = asked.then(() => delay(100, "done"));
  expect(await withOutageReport(work, { endpoints: ["ws://127.0.0.1:1"], token })).toBe("done");
});
