/** What the page makes of what the connected node says. */
import { expect, test } from "vitest";
import {
  heardAtMs,
  isLoopback,
  membersKnown,
} from "../../../dashboard/views/cluster/cluster-facts.js";
import type { MembersView, VitalsView } from "../../../src/index.js";

const PEERS = [2, 3].map((node) => ({
  ...{ node, endpoint: "", isVoter: node === 2, isConnected: false },
  ...{ heardWallMs: node === 2 ? 95_000 : null, roundTripMs: null, matchIndex: null },
}));
const OWN = { node: 1, role: "follower", wallMs: 100_000, peers: PEERS } as unknown as VitalsView;

test("without a leader the members are those that the connected node names", () => {
  expect(membersKnown({ members: undefined, own: OWN })).toEqual([
    { id: 1, isVoter: true },
    { id: 2, isVoter: true },
    { id: 3, isVoter: false },
  ]);
  expect(membersKnown({ members: undefined, own: undefined })).toEqual([]);
});

test("the leader knows better, but not how far one lags that it does not reach", () => {
  const [reached, lost] = [2, 4].map((id) => ({
    ...{ id, role: "voter" as const, address: "", endpoint: "", incarnation: 1 },
    ...{ isReachable: id === 2, lagEntries: 7 },
  }));
  const members = { members: [reached, lost] } as unknown as MembersView;
  const known = membersKnown({ members, own: OWN });
  const lags = known.map(({ id, lagEntries }) => `${id}: ${lagEntries ?? "unknown"}`);
  expect(lags).toEqual(["1: unknown", "2: 7", "3: unknown", "4: unknown"]);
});

test("when a node was last heard is given by the clock of the page", () => {
  expect(heardAtMs(2, { own: OWN, nowMs: 500_000 })).toBe(495_000);
  expect(heardAtMs(3, { own: OWN, nowMs: 500_000 })).toBeUndefined();
  expect(heardAtMs(2, { own: undefined, nowMs: 500_000 })).toBeUndefined();
});

test("only names and addresses of this machine are loopback", () => {
  expect(["localhost", "127.0.0.1", "127.9.9.9", "[::1]"].every(isLoopback)).toBe(true);
  expect(["10.0.0.1", "locks.example", "127.example.com"].some(isLoopback)).toBe(false);
});
