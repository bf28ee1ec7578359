/** The sentence that says whether all is well, for each thing that can be wrong. */
import { existsSync } from "node:fs";
import { expect, test } from "vitest";
import {
  findingsOfNode,
  type HealthFacts,
  judgeHealth,
  type MemberFacts,
  type NodeFacts,
  type NodeWords,
} from "../../src/views/index.js";

const NOW_MS = 1_800_000_000_000;
const DAY_MS = 86_400_000;
const POINT = { commitP99Ms: 3 };

function words(node: number, changes: Partial<NodeWords> = {}): NodeWords {
  return {
    ...{ role: node === 1 ? "leader" : "follower", leader: 1, version: "1.0.0" },
    ...{ commitIndex: 5_000, appliedIndex: 5_000, hasQuorumContact: true },
    ...{ isDiskFull: false, isMemoryScarce: false, isDraining: false, isOpen: true },
    ...{ loopDelayMaxMs: 2, auditState: "off", certificateEndsWallMs: null },
    points: node === 1 ? [POINT] : [],
    ...changes,
  };
}

function answering(node: number, changes: Partial<NodeWords> = {}): NodeFacts {
  return { node, words: words(node, changes), answers: true };
}

function silent(node: number, heardWallMs?: number): NodeFacts {
  return { node, words: words(node, { isDiskFull: true }), answers: false, heardWallMs };
}

const voter = (id: number): MemberFacts => ({ id, isVoter: true });

function facts(changes: Partial<HealthFacts> = {}): HealthFacts {
  return {
    members: [voter(1), voter(2), voter(3)],
    leader: 1,
    nodes: [answering(1), answering(2), answering(3)],
    nowMs: NOW_MS,
    isBeyondLoopback: false,
    ...changes,
  };
}

/** A cluster of three of which the second node says this of itself. */
function withSecond(changes: Partial<NodeWords>): HealthFacts {
  return facts({ nodes: [answering(1), answering(2, changes), answering(3)] });
}

test("all is well", () => {
  expect(judgeHealth(facts())).toEqual({
    level: "good",
    sentence: "All is well: 3 nodes serve, node 1 leads, and 99 of 100 commits take at most 3ms.",
    findings: [],
  });
});

test.each<[string, HealthFacts, "down" | "bad" | "warning", string, string]>([
  [
    "no leader",
    facts({
      leader: 0,
      nodes: [answering(1, { role: "follower", leader: 0 }), silent(2), silent(3)],
    }),
    "down",
    "The cluster has no leader, so it grants nothing: 1 of 3 voters answers, and 2 must.",
    "recovery",
  ],
  [
    "a node that is down",
    facts({ nodes: [answering(1), answering(2), silent(3)] }),
    "bad",
    "Node 3 does not answer; if one more fails, the cluster stops.",
    "recovery",
  ],
  [
    "a node that was heard a while ago",
    facts({ nodes: [answering(1), answering(2), silent(3, NOW_MS - 12_300)] }),
    "bad",
    "Node 3 does not answer, last heard 12s ago; if one more fails",
    "recovery",
  ],
  [
    "a learner that is down",
    facts({
      members: [voter(1), voter(2), { id: 3, isVoter: false }],
      nodes: [answering(1), answering(2), silent(3)],
    }),
    "bad",
    "Node 3 does not answer.",
    "recovery",
  ],
  [
    "a node whose number nobody knows",
    facts({
      nodes: [
        answering(1),
        answering(2),
        { node: -1, name: "ws://x:1", words: undefined, answers: false },
      ],
    }),
    "bad",
    "ws://x:1 does not answer",
    "recovery",
  ],
  [
    "data that are damaged",
    withSecond({ role: "quarantined" }),
    "bad",
    "Node 2 is quarantined: its data are damaged.",
    "recovery",
  ],
  [
    "a node that has lost the others",
    withSecond({ hasQuorumContact: false }),
    "bad",
    "Node 2 has no contact with a majority.",
    "recovery",
  ],
  [
    "the full disk of the leader",
    facts({ nodes: [answering(1, { isDiskFull: true }), answering(2), answering(3)] }),
    "down",
    "The disk of node 1 is full: the cluster grants nothing until there is room.",
    "recovery",
  ],
  [
    "full disks of a majority",
    facts({
      nodes: [answering(1), answering(2, { isDiskFull: true }), answering(3, { isDiskFull: true })],
    }),
    "down",
    "The disks of nodes 2 and 3 are full: the cluster grants nothing until there is room.",
    "recovery",
  ],
  [
    "a node that cannot start",
    withSecond({ role: "starting", isDiskFull: true }),
    "bad",
    "Node 2 has a full disk: it cannot start until there is room.",
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
    facts({ members: [voter(1), voter(2), { id: 3, isVoter: true, lagEntries: 2_000 }] }),
    "warning",
    "Node 3 is 2,000 entries behind the leader.",
    "members",
  ],
  [
    "a table that lags",
    withSecond({ appliedIndex: 3_000 }),
    "warning",
    "Node 2 is 2,000 entries behind the leader.",
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
    "Everyone who reaches a node may do everything: the cluster is not secured.",
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
    facts({ nodes: [answering(1, { points: [{ commitP99Ms: 800 }] })] }),
    "warning",
    "Commits are slow: one of a hundred takes 800ms or more.",
    "performance",
  ],
  [
    "possible deadlocks",
    withSecond({ possibleDeadlocks: 2 }),
    "warning",
    'Tasks may wait for each other forever: 2 possible deadlocks, shown by "holdfast graph".',
    "queues-and-fairness",
  ],
  [
    "a node that stood still",
    withSecond({ loopDelayMaxMs: 1_500 }),
    "warning",
    "Node 2 stood still for 1.5s just now.",
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

test("a cluster that is closed, or open to this machine only, gives no reason to look", () => {
  const closed = [1, 2, 3].map((id) => answering(id, { isOpen: false }));
  expect(judgeHealth(facts({ isBeyondLoopback: true, nodes: closed })).level).toBe("good");
  expect(judgeHealth(facts()).level).toBe("good");
});

test("what a node said before it fell silent does not count", () => {
  const { findings } = judgeHealth(facts({ nodes: [answering(1), silent(2), answering(3)] }));
  expect(findings.map(({ code }) => code)).toEqual(["unreachable"]);
});

test("all is well only when all are known: until then the sentence says who is not", () => {
  const unknown = { node: 2, words: undefined, answers: undefined };
  const nodes = [answering(1), unknown, { ...unknown, node: 3 }];
  expect(judgeHealth(facts({ nodes }))).toEqual({
    level: "asking",
    sentence: "Node 1 leads; it is not known yet how nodes 2 and 3 are.",
    findings: [],
  });
  expect(judgeHealth(facts({ nodes: [unknown] })).sentence).toBe(
    "The nodes are being asked how they are.",
  );
  const before = judgeHealth(facts({ leader: 0, nodes: [unknown] }));
  expect([before.level, before.findings]).toEqual(["asking", []]);
});

test("the worst comes first, and the sentence says that there is more", () => {
  const health = judgeHealth(withSecond({ isDraining: true, isDiskFull: true }));
  expect(health.findings.map(({ level }) => level)).toEqual(["bad", "warning"]);
  expect(health.sentence).toMatch(/^Node 2 has a full disk.* And 1 more to look at\.$/);
});

test("a node finds of itself what others would, and whether clients should go elsewhere", () => {
  const codes = (changes: Partial<NodeWords>) =>
    findingsOfNode(2, words(2, changes), NOW_MS).map(({ code, isUnready }) => [code, isUnready]);
  expect(codes({})).toEqual([]);
  expect(codes({ isDiskFull: true })).toEqual([["diskFull", false]]);
  expect(codes({ isDraining: true })).toEqual([["draining", true]]);
  expect(codes({ appliedIndex: 3_000 })).toEqual([["lag", true]]);
  expect(codes({ role: "starting", leader: 0 })).toEqual([["starting", true]]);
  expect(codes({ leader: 0, hasQuorumContact: false })).toEqual([
    ["noLeader", true],
    ["noMajority", true],
  ]);
});
