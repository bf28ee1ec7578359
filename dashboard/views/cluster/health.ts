/**
 * Whether all is well with a cluster, in sentences: first what matters most, each with the page of
 * the documents that helps. Pure: it judges what it is given, and knows no clock.
 */
import type { MembersView, VitalsView } from "../../../src/index.js";

export interface NodeHealth {
  readonly node: number;
  /** The last answer of the node; `undefined`: it never answered this page. */
  readonly vitals: VitalsView | undefined;
  /** Whether it answers this page now; `undefined`: not known yet. */
  readonly isAnswering: boolean | undefined;
}

export interface HealthFacts {
  /** As the leader last told; `undefined` if none did. */
  readonly members: MembersView | undefined;
  /** Whether a leader answers now. */
  readonly hasLeader: boolean;
  readonly nodes: readonly NodeHealth[];
  readonly nowMs: number;
  /** Clients can come from other machines. */
  readonly isBeyondLoopback: boolean;
}

export interface Finding {
  readonly level: "bad" | "warning";
  readonly sentence: string;
  /** A file of the documents. */
  readonly help: string;
}

export interface Health {
  readonly level: "good" | "warning" | "bad";
  /** Says it all in one sentence. */
  readonly sentence: string;
  /** What is wrong, the worst first; empty if all is well. */
  readonly findings: readonly Finding[];
}

const LAG_ENTRIES_MAX = 1_024;
const SLOW_COMMIT_MS = 500;
const STALL_MS = 1_000;
const DAY_MS = 86_400_000;
const CERTIFICATE_DAYS = 14;
/** Points of five seconds that say how it is now. */
const POINTS_NOW = 12;

const HELP = {
  access: "docs/operating/security.md",
  audit: "docs/operating/audit.md",
  client: "docs/operating/client-port.md",
  members: "docs/operating/members.md",
  monitoring: "docs/operating/monitoring.md",
  recovery: "docs/operating/recovery.md",
  performance: "docs/internals/performance.md",
  tls: "docs/operating/tls.md",
} as const;

export function judgeHealth(facts: HealthFacts): Health {
  const findings = [
    ...missingLeader(facts),
    ...downNodes(facts),
    ...flagged(facts, "isDiskFull", "bad", HELP.recovery, "has a full disk: it takes no commands"),
    ...auditFindings(facts),
    ...flagged(
      facts,
      "isMemoryScarce",
      "warning",
      HELP.client,
      "has little memory left: it refuses what would enlarge the table",
    ),
    ...laggingNodes(facts),
    ...certificateFindings(facts),
    ...openAccess(facts),
    ...versionFindings(facts),
    ...slowness(facts),
    ...flagged(facts, "isDraining", "warning", HELP.members, "is being stopped"),
  ];
  const ordered = [
    ...findings.filter(({ level }) => level === "bad"),
    ...findings.filter(({ level }) => level === "warning"),
  ];
  const [worst, ...others] = ordered;
  if (worst === undefined) return { level: "good", sentence: wellText(facts), findings: [] };
  const rest = others.length === 0 ? "" : ` And ${others.length} more to look at.`;
  return { level: worst.level, sentence: worst.sentence + rest, findings: ordered };
}

function wellText({ members, nodes }: HealthFacts): string {
  const answering = nodes.filter(({ isAnswering }) => isAnswering === true).length;
  const count = members?.members.length ?? answering;
  const leads = members === undefined ? "" : `, node ${members.leaderId} leads`;
  const commit = latest(nodes, "commitP99Ms");
  const speed = commit === null ? "" : `, and 99 of 100 commits take at most ${round(commit)} ms`;
  return `All is well: ${count === 1 ? "the only node serves" : `${count} nodes serve`}${leads}${speed}.`;
}

function missingLeader({ hasLeader, members, nodes }: HealthFacts): Finding[] {
  if (hasLeader) return [];
  const voters = members?.members.filter(({ role }) => role === "voter").map(({ id }) => id);
  const among = voters ?? nodes.map(({ node }) => node);
  const answering = nodes.filter(({ node, isAnswering }) => isAnswering && among.includes(node));
  const needed = Math.floor(among.length / 2) + 1;
  const sentence =
    `The cluster has no leader, so it grants nothing: ${answering.length} of ${among.length} ` +
    `voters answer, and ${needed} must.`;
  return [{ level: "bad", sentence, help: HELP.recovery }];
}

function downNodes({ members, hasLeader, nodes }: HealthFacts): Finding[] {
  const answers = (id: number): boolean | undefined =>
    nodes.find(({ node }) => node === id)?.isAnswering;
  const all = members?.members ?? [];
  // The leader knows better than this page, which some nodes may not let in.
  const isDown = ({ id, isReachable }: (typeof all)[number]): boolean =>
    hasLeader ? !isReachable : answers(id) === false;
  const down = all.filter(isDown);
  const voters = all.filter(({ role }) => role === "voter");
  const spare = voters.length - down.filter(({ role }) => role === "voter").length;
  const isLastOne = hasLeader && down.length > 0 && spare === Math.floor(voters.length / 2) + 1;
  return down.map(({ id }) => ({
    level: "bad",
    sentence: `Node ${id} does not answer${isLastOne ? "; if one more fails, the cluster stops" : ""}.`,
    help: HELP.recovery,
  }));
}

function flagged(
  { nodes }: HealthFacts,
  flag: "isDiskFull" | "isMemoryScarce" | "isDraining",
  level: Finding["level"],
  help: string,
  what: string,
): Finding[] {
  return current(nodes)
    .filter(({ vitals }) => vitals[flag])
    .map(({ node }) => ({ level, sentence: `Node ${node} ${what}.`, help }));
}

function auditFindings({ nodes }: HealthFacts): Finding[] {
  return current(nodes)
    .filter(({ vitals }) => vitals.auditState === "failing")
    .map(({ node }) => ({
      level: "bad",
      sentence: `Node ${node} cannot write its audit.`,
      help: HELP.audit,
    }));
}

function laggingNodes({ members, hasLeader, nodes }: HealthFacts): Finding[] {
  if (!hasLeader) return [];
  const behind = new Map<number, number>();
  for (const { id, isReachable, lagEntries } of members?.members ?? []) {
    if (isReachable) behind.set(id, lagEntries);
  }
  for (const { node, vitals } of current(nodes)) {
    const unapplied = vitals.commitIndex - vitals.appliedIndex;
    behind.set(node, Math.max(behind.get(node) ?? 0, unapplied));
  }
  return [...behind]
    .filter(([, entries]) => entries > LAG_ENTRIES_MAX)
    .map(([node, entries]) => ({
      level: "warning",
      sentence: `Node ${node} is ${entries} entries behind the leader.`,
      help: HELP.members,
    }));
}

function certificateFindings({ nodes, nowMs }: HealthFacts): Finding[] {
  return current(nodes).flatMap(({ node, vitals }): Finding[] => {
    const endsMs = vitals.certificateEndsWallMs;
    if (endsMs === null) return [];
    const days = Math.floor((endsMs - nowMs) / DAY_MS);
    if (days >= CERTIFICATE_DAYS) return [];
    const when =
      endsMs <= nowMs ? "has expired" : `expires in ${days === 1 ? "a day" : `${days} days`}`;
    const level = endsMs <= nowMs ? "bad" : "warning";
    return [{ level, sentence: `The certificate of node ${node} ${when}.`, help: HELP.tls }];
  });
}

function openAccess({ nodes, isBeyondLoopback }: HealthFacts): Finding[] {
  if (!isBeyondLoopback || !current(nodes).some(({ vitals }) => vitals.isOpen)) return [];
  const sentence = "Everyone who reaches a node may do everything: the cluster is not closed.";
  return [{ level: "warning", sentence, help: HELP.access }];
}

function versionFindings({ nodes }: HealthFacts): Finding[] {
  const versions = new Map<string, number[]>();
  for (const { node, vitals } of current(nodes)) {
    versions.set(vitals.version, [...(versions.get(vitals.version) ?? []), node]);
  }
  if (versions.size < 2) return [];
  const parts = [...versions].map(([version, ids]) => `${version} on ${ids.join(", ")}`);
  const sentence = `The nodes run different versions: ${parts.join("; ")}.`;
  return [{ level: "warning", sentence, help: HELP.members }];
}

function slowness({ nodes }: HealthFacts): Finding[] {
  const findings: Finding[] = [];
  const commitMs = latest(nodes, "commitP99Ms");
  if (commitMs !== null && commitMs > SLOW_COMMIT_MS) {
    const sentence = `Commits are slow: one of a hundred takes ${round(commitMs)} ms or more.`;
    findings.push({ level: "warning", sentence, help: HELP.performance });
  }
  for (const { node, vitals } of current(nodes)) {
    if (vitals.loopDelayMaxMs <= STALL_MS) continue;
    const sentence = `Node ${node} stood still for ${round(vitals.loopDelayMaxMs)} ms just now.`;
    findings.push({ level: "warning", sentence, help: HELP.monitoring });
  }
  return findings;
}

/** What nodes say that answer now: what others said is old. */
function current(nodes: readonly NodeHealth[]): { node: number; vitals: VitalsView }[] {
  return nodes.flatMap(({ node, vitals, isAnswering }) =>
    vitals === undefined || isAnswering !== true ? [] : [{ node, vitals }],
  );
}

/** The worst value of the last minute on a node that leads; `null`: there is none. */
function latest(nodes: readonly NodeHealth[], field: "commitP99Ms"): number | null {
  const values = current(nodes)
    .filter(({ vitals }) => vitals.role === "leader")
    .flatMap(({ vitals }) => vitals.points.slice(-POINTS_NOW).map((point) => point[field]))
    .filter((value) => value !== null);
  return values.length === 0 ? null : Math.max(...values);
}

function round(ms: number): number {
  return ms < 10 ? Math.round(ms * 10) / 10 : Math.round(ms);
}

/** Whether a host is this machine only. */
export function isLoopback(hostname: string): boolean {
  return hostname === "localhost" || hostname === "[::1]" || /^127(\.\d+){3}$/.test(hostname);
}
