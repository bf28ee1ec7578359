/** The sentence that says whether all is well, for each thing that can be wrong. */
import { existsSync } from "node:fs";
import { expect, test } from "vitest";
import {
  type HealthFacts,
  isLoopback,
  judgeHealth,
  type NodeHealth,
} from "../../dashboard/views/cluster/health.js";
import type { MembersView, VitalsPoint, VitalsView } from "../../src/index.js";

const NOW_MS = 1_800_000_000_000;
const DAY_MS = 86_400_000;

const POINT: VitalsPoint = {
  wallMs: NOW_MS,
  grants: 10,
  waits: 0,
  failures: 0,
  lost: 0,
  commitP50Ms: 1,
  commitP99Ms: 3,
  waitP50Ms: null,
  waitP99Ms: null,
  loopDelayMaxMs: 1,
};

function vitals(node: number, changes: Partial<VitalsView> = {}): VitalsView {
  return {
    node,
    version: "1.0.0",
    modelVersion: 1,
    startedWallMs: NOW_MS - DAY_MS,
    wallMs: NOW_MS,
    role: node === 1 ? "leader" : "follower",
    term: 2,
    leader: 1,
    commitIndex: 5_000,
    appliedIndex: 5_000,
    hasQuorumContact: true,
    isDiskFull: false,
    isMemoryScarce: false,
    isDraining: false,
    isOpen: true,
    loopDelayMaxMs: 2,
    logSyncP99Ms: 1,
    connections: 1,
    watches: 0,
    sessions: 0,
    keys: 0,
    holds: 0,
    waiters: 0,
    deadlocks: 0,
    auditState: "off",
    certificateEndsWallMs: null,
    peers: [],
    points: node === 1 ? [POINT] : [],
    events: [],
    ...changes,
  };
}

function member(id: number, changes: Partial<MembersView["members"][number]> = {}) {
  return {
    id,
    role: "voter" as const,
    address: `127.0.0.1:${id}`,
    endpoint: `ws://127.0.0.1:${id}`,
    isReachable: true,
    lagEntries: 0,
    incarnation: 1,
    ...changes,
  };
}

function answering(node: number, changes: Partial<VitalsView> = {}): NodeHealth {
  return { node, vitals: vitals(node, changes), isAnswering: true };
}

function facts(changes: Partial<HealthFacts> = {}): HealthFacts {
  const members = [member(1), member(2), member(3)];
  return {
    members: { leaderId: 1, term: 2, commitIndex: 5_000, isJoint: false, members },
    hasLeader: true,
    nodes: [answering(1), answering(2), answering(3)],
    nowMs: NOW_MS,
    isBeyondLoopback: false,
    ...changes,
  };
}

/** A cluster of three of which the second node says this of itself. */
function withSecond(changes: Partial<VitalsView>): HealthFacts {
  return facts({ nodes: [answering(1), answering(2, changes), answering(3)] });
}

function withThirdMember(changes: Partial<MembersView["members"][number]>): HealthFacts {
  const { members } = facts();
  const all = [member(1), member(2), member(3, changes)];
  return facts({ members: { ...(members as MembersView), members: all } });
}

test("all is well", () => {
  expect(judgeHealth(facts())).toEqual({
    level: "good",
    sentence: "All is well: 3 nodes serve, node 1 leads, and 99 of 100 commits take at most 3 ms.",
    findings: [],
  });
});

test.each<[string, HealthFacts, "bad" | "warning", string, string]>([
  [
    "no leader",
    facts({
      hasLeader: false,
      nodes: [
        answering(1, { role: "follower" }),
        { node: 2, vitals: undefined, isAnswering: false },
        { node: 3, vitals: undefined, isAnswering: false },
      ],
    }),
    "bad",
    "The cluster has no leader, so it grants nothing: 1 of 3 voters answer, and 2 must.",
    "recovery",
  ],
  [
    "a node that is down",
    withThirdMember({ isReachable: false }),
    "bad",
    "Node 3 does not answer; if one more fails, the cluster stops.",
    "recovery",
  ],
  [
    "a learner that is down",
    withThirdMember({ isReachable: false, role: "learner" }),
    "bad",
    "Node 3 does not answer",
    "recovery",
  ],
  ["a full disk", withSecond({ isDiskFull: true }), "bad", "Node 2 has a full disk", "recovery"],
  [
    "an audit that cannot be written",
    withSecond({ auditState: "failing" }),
    "bad",
    "Node 2 cannot write its audit.",
    "audit",
  ],
  [
    "little memory",
    withSecond({ isMemoryScarce: true }),
    "warning",
    "Node 2 has little memory left",
    "client-port",
  ],
  [
    "a log that lags",
    withThirdMember({ lagEntries: 2_000 }),
    "warning",
    "Node 3 is 2000 entries behind the leader.",
    "members",
  ],
  [
    "a table that lags",
    withSecond({ appliedIndex: 3_000 }),
    "warning",
    "Node 2 is 2000 entries behind the leader.",
    "members",
  ],
  [
    "a certificate that ends soon",
    withSecond({ certificateEndsWallMs: NOW_MS + 3.5 * DAY_MS }),
    "warning",
    "The certificate of node 2 expires in 3 days.",
    "tls",
  ],
  [
    "a certificate that has ended",
    withSecond({ certificateEndsWallMs: NOW_MS - 1 }),
    "bad",
    "The certificate of node 2 has expired.",
    "tls",
  ],
  [
    "access for everyone from anywhere",
    facts({ isBeyondLoopback: true }),
    "warning",
    "Everyone who reaches a node may do everything: the cluster is not closed.",
    "security",
  ],
  [
    "different versions",
    withSecond({ version: "1.1.0" }),
    "warning",
    "The nodes run different versions: 1.0.0 on 1, 3; 1.1.0 on 2.",
    "members",
  ],
  [
    "slow commits",
    facts({ nodes: [answering(1, { points: [{ ...POINT, commitP99Ms: 800 }] })] }),
    "warning",
    "Commits are slow: one of a hundred takes 800 ms or more.",
    "performance",
  ],
  [
    "a node that stood still",
    withSecond({ loopDelayMaxMs: 1_500 }),
    "warning",
    "Node 2 stood still for 1500 ms just now.",
    "monitoring",
  ],
  [
    "a node that is being stopped",
    withSecond({ isDraining: true }),
    "warning",
    "Node 2 is being stopped.",
    "members",
  ],
])("%s is said in one sentence, with the page that helps", (_, given, level, sentence, page) => {
  const health = judgeHealth(given);
  expect(health.level).toBe(level);
  const finding = health.findings.find((one) => one.sentence.startsWith(sentence));
  expect(finding?.level).toBe(level);
  expect(finding?.help).toContain(`/${page}.md`);
  expect(existsSync(new URL(`../../${finding?.help}`, import.meta.url))).toBe(true);
});

test("a cluster that is closed, or open to this machine only, is no reason to look", () => {
  const closed = [1, 2, 3].map((id) => answering(id, { isOpen: false }));
  expect(judgeHealth(facts({ isBeyondLoopback: true, nodes: closed })).level).toBe("good");
  expect(judgeHealth(facts()).level).toBe("good");
});

test("what a node said before it fell silent is no news", () => {
  const silent = { node: 2, vitals: vitals(2, { isDiskFull: true }), isAnswering: false };
  const health = judgeHealth(facts({ nodes: [answering(1), silent, answering(3)] }));
  expect(health.level).toBe("good");
});

test("the worst comes first, and the sentence says that there is more", () => {
  const health = judgeHealth(withSecond({ isDraining: true, isDiskFull: true }));
  expect(health.findings.map(({ level }) => level)).toEqual(["bad", "warning"]);
  expect(health.sentence).toMatch(/^Node 2 has a full disk.* And 1 more to look at\.$/);
});

test("only names and addresses of this machine are loopback", () => {
  expect(["localhost", "127.0.0.1", "127.9.9.9", "[::1]"].every(isLoopback)).toBe(true);
  expect(["10.0.0.1", "locks.example", "127.example.com"].some(isLoopback)).toBe(false);
});
