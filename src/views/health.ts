/**
 * What is wrong with a cluster, in sentences: the one list of findings that the page, `holdfast
 * status`, `holdfast top` and a node's `/readyz` show. Each has a level, a sentence for people and the
 * page of the documents that helps. It judges what nodes say of themselves and what is known of the
 * members, from any source. Pure: it knows no clock, and must never take silence for health.
 */
import { agoText, formatDuration } from "./durations.js";
import { nodesText } from "./node-names.js";
import { countText } from "./phrase.js";

/** What one node says of itself. What its report does not have is `undefined`, and not judged. */
export interface NodeWords {
  readonly role: string;
  /** 0 while it knows of none. */
  readonly leader: number;
  readonly commitIndex: number;
  readonly appliedIndex: number;
  readonly version?: string | undefined;
  readonly pid?: number | undefined;
  readonly term?: number | undefined;
  /** When its process began, and now, by its own wall clock. */
  readonly startedWallMs?: number | undefined;
  readonly wallMs?: number | undefined;
  /** Connections of clients of it. */
  readonly connections?: number | undefined;
  /** 99 of 100 writes of its log took at most about this long lately; `null`: there were none. */
  readonly logSyncP99Ms?: number | null | undefined;
  /** Whether it has heard from a majority, or from a leader that has. */
  readonly hasQuorumContact?: boolean | undefined;
  readonly isDiskFull?: boolean | undefined;
  readonly isMemoryScarce?: boolean | undefined;
  readonly isDraining?: boolean | undefined;
  /** Its table is being replaced by a snapshot. */
  readonly isRestoring?: boolean | undefined;
  /** Everybody may do everything in the cluster. */
  readonly isOpen?: boolean | undefined;
  readonly auditState?: string | undefined;
  /** Cycles of waits that may be deadlocks, by what the table knows, and have lasted a minute. */
  readonly possibleDeadlocks?: number | undefined;
  /** `null` without TLS. */
  readonly certificateEndsWallMs?: number | null | undefined;
  /** The longest stall of its event loop within the last ten seconds. */
  readonly loopDelayMaxMs?: number | undefined;
  readonly points?: readonly { readonly commitP99Ms: number | null }[] | undefined;
}

export interface NodeFacts {
  readonly node: number;
  /** Safe to show, if its number is not known. */
  readonly name?: string | undefined;
  /** Its last answer; `undefined`: there was none. */
  readonly words: NodeWords | undefined;
  /** Whether it answers now; `undefined`: not known yet. */
  readonly answers: boolean | undefined;
  /** When it was last heard; `undefined`: never, or that is not known. */
  readonly heardWallMs?: number | undefined;
}

/** A member, as others see it. */
export interface MemberFacts {
  readonly id: number;
  readonly isVoter: boolean;
  /** Committed entries that are not known to be durable there, by the leader. */
  readonly lagEntries?: number | undefined;
}

export interface HealthFacts {
  /** In the order of their ids; `undefined` while nobody has named them. */
  readonly members: readonly MemberFacts[] | undefined;
  /** The node that leads and serves; 0: none does, as far as anybody who answers knows. */
  readonly leader: number;
  readonly nodes: readonly NodeFacts[];
  readonly nowMs: number;
  /** Clients can come from other machines. */
  readonly isBeyondLoopback?: boolean | undefined;
}

export interface Finding {
  /** For programs; never changes its meaning. */
  readonly code: FindingCode;
  /** "down": the cluster grants nothing. "bad": it serves, and somebody should act soon. */
  readonly level: "down" | "bad" | "warning";
  readonly sentence: string;
  /** A file of the documents. */
  readonly help: string;
}

type FindingCode = keyof typeof HELP;

export interface Health {
  /** "asking": nothing is wrong as far as known, and not all nodes have answered yet. */
  readonly level: "good" | "asking" | "warning" | "bad" | "down";
  /** Says it all in one sentence. */
  readonly sentence: string;
  /** What is wrong, the worst first; empty if nothing is. */
  readonly findings: readonly Finding[];
}

const LAG_ENTRIES_MAX = 1_024;
const SLOW_COMMIT_MS = 500;
const STALL_MS = 1_000;
const DAY_MS = 86_400_000;
const CERTIFICATE_DAYS = 14;
/** Points of five seconds that say how it is now. */
const POINTS_NOW = 12;
/** Roles of nodes that take no part. */
const ABSENT_ROLES = ["quarantined", "starting"];

const HELP = {
  noLeader: "docs/operating/recovery.md",
  unreachable: "docs/operating/recovery.md",
  quarantined: "docs/operating/recovery.md",
  starting: "docs/operating/recovery.md",
  diskFull: "docs/operating/recovery.md",
  noMajority: "docs/operating/recovery.md",
  restoring: "docs/operating/members.md",
  lag: "docs/operating/members.md",
  draining: "docs/operating/members.md",
  versions: "docs/operating/members.md",
  audit: "docs/operating/audit.md",
  memory: "docs/operating/client-port.md",
  certificate: "docs/operating/tls.md",
  open: "docs/operating/security.md",
  slowCommits: "docs/internals/performance.md",
  deadlock: "docs/coding/queues-and-fairness.md",
  stalled: "docs/operating/monitoring.md",
} as const;

const LEVELS = ["down", "bad", "warning"] as const;

/** The level in a word, before the sentence. */
export const LEVEL_WORDS: Readonly<Record<Health["level"], string>> = {
  good: "Well",
  asking: "Asking",
  warning: "Warning",
  bad: "Problem",
  down: "Down",
};

/** A finding as a line. */
export function findingText({ level, sentence, help }: Finding): string {
  return `${LEVEL_WORDS[level]}: ${sentence} ${helpText(help)}`;
}

export function helpText(help: string): string {
  return `What helps: ${help}`;
}

export function judgeHealth(facts: HealthFacts): Health {
  const all = [
    ...missingLeader(facts),
    ...fullDisks(facts),
    ...silentNodes(facts),
    ...current(facts).flatMap(({ node, words }) => ownFindings(node, words, facts)),
    ...lagging(facts),
    ...openAccess(facts),
    ...versions(facts),
    ...slowCommits(facts),
    ...deadlocks(facts),
  ];
  const findings = LEVELS.flatMap((level) => all.filter((finding) => finding.level === level));
  const [worst, ...others] = findings;
  if (worst !== undefined) {
    const rest = others.length === 0 ? "" : ` And ${others.length} more to look at.`;
    return { level: worst.level, sentence: worst.sentence + rest, findings };
  }
  const unknown = facts.nodes.filter(({ answers }) => answers === undefined);
  if (unknown.length === 0 && facts.nodes.length > 0) {
    return { level: "good", sentence: wellText(facts), findings };
  }
  return { level: "asking", sentence: askingText(facts, unknown), findings };
}

/**
 * What a node finds wrong with itself; `isUnready`: clients should go to another one. Without `nowMs`
 * its certificate is not judged.
 */
export function findingsOfNode(
  node: number,
  words: NodeWords,
  nowMs = Number.NEGATIVE_INFINITY,
): readonly (Finding & { readonly isUnready: boolean })[] {
  const own = { node, words, answers: true };
  const facts = { members: undefined, leader: words.leader, nodes: [own], nowMs };
  const isLost = words.leader === 0 && !ABSENT_ROLES.includes(words.role);
  const all = [
    ...(isLost ? [finding("noLeader", "bad", `Node ${node} knows of no leader.`)] : []),
    ...ownDisk(node, words),
    ...ownFindings(node, words, facts),
    ...(words.hasQuorumContact === false && isLost ? [withoutMajority(node)] : []),
    ...lagging(facts),
  ];
  return all.map((one) => ({ ...one, isUnready: UNREADY.has(one.code) }));
}

const UNREADY: ReadonlySet<FindingCode> = new Set([
  ...(["noLeader", "noMajority", "quarantined", "starting", "restoring", "lag"] as const),
  "draining",
]);

function wellText({ members, nodes, leader }: HealthFacts): string {
  const count = members?.length ?? nodes.length;
  const commit = latestCommitMs(nodes);
  const speed =
    commit === null ? "" : `, and 99 of 100 commits take at most ${formatDuration(commit)}`;
  const who = count === 1 ? "the only node serves" : `${count} nodes serve, node ${leader} leads`;
  return `All is well: ${who}${speed}.`;
}

function askingText({ nodes, leader }: HealthFacts, unknown: readonly NodeFacts[]): string {
  if (unknown.length === nodes.length) return "The nodes are being asked how they are.";
  const rest = `it is not known yet how ${nodesText(unknown.map(({ node }) => node))} ${unknown.length === 1 ? "is" : "are"}.`;
  return leader === 0 ? `Some nodes answer; ${rest}` : `Node ${leader} leads; ${rest}`;
}

function missingLeader({ leader, members, nodes }: HealthFacts): Finding[] {
  if (leader !== 0) return [];
  const voters = votersOf(members) ?? nodes.map(({ node }) => node);
  // Before anybody has answered nothing is known of leaders either.
  if (!nodes.some(({ answers }) => answers !== undefined)) return [];
  const answering = nodes.filter(
    ({ node, answers, words }) =>
      answers === true && voters.includes(node) && !ABSENT_ROLES.includes(words?.role ?? ""),
  );
  const needed = Math.floor(voters.length / 2) + 1;
  const sentence =
    `The cluster has no leader, so it grants nothing: ${answering.length} of ${voters.length} ` +
    `voters ${answering.length === 1 ? "answers" : "answer"}, and ${needed} must.`;
  return [finding("noLeader", "down", sentence)];
}

/** A leader without room takes no commands, and a majority without room stores none. */
function fullDisks({ leader, members, nodes }: HealthFacts): Finding[] {
  const full = current({ nodes }).filter(({ words }) => words.isDiskFull === true);
  if (full.length === 0) return [];
  const ids = full.map(({ node }) => node);
  const voters = votersOf(members) ?? nodes.map(({ node }) => node);
  const needed = Math.floor(voters.length / 2) + 1;
  const isStopped =
    ids.includes(leader) || voters.filter((id) => !ids.includes(id)).length < needed;
  if (!isStopped) return full.flatMap(({ node, words }) => ownDisk(node, words));
  const disks =
    full.length === 1 ? `The disk of node ${ids[0]} is` : `The disks of ${nodesText(ids)} are`;
  const sentence = `${disks} full: the cluster grants nothing until there is room.`;
  return [finding("diskFull", "down", sentence)];
}

function ownDisk(node: number, { isDiskFull, role }: NodeWords): Finding[] {
  if (isDiskFull !== true) return [];
  const what = role === "starting" ? "cannot start" : "takes no commands";
  return [
    finding("diskFull", "bad", `Node ${node} has a full disk: it ${what} until there is room.`),
  ];
}

function silentNodes({ leader, members, nodes, nowMs }: HealthFacts): Finding[] {
  const silent = nodes.filter(({ answers }) => answers === false);
  const absent = current({ nodes }).filter(({ words }) => ABSENT_ROLES.includes(words.role));
  const voters = votersOf(members) ?? [];
  const missing = [...silent, ...absent].filter(({ node }) => voters.includes(node));
  const spare = voters.length - missing.length;
  const isLastOne =
    leader !== 0 && missing.length > 0 && spare === Math.floor(voters.length / 2) + 1;
  const warning = isLastOne ? "; if one more fails, the cluster stops" : "";
  return silent.map(({ node, name = `Node ${node}`, heardWallMs }) => {
    const since = heardWallMs === undefined ? "" : `, last heard ${agoText(nowMs - heardWallMs)}`;
    return finding("unreachable", "bad", `${name} does not answer${since}${warning}.`);
  });
}

/** What a node that answers says is wrong with itself, apart from its disk. */
function ownFindings(node: number, words: NodeWords, { leader, nowMs }: HealthFacts): Finding[] {
  const name = `Node ${node}`;
  const found: Finding[] = [];
  if (words.role === "quarantined") {
    found.push(finding("quarantined", "bad", `${name} is quarantined: its data are damaged.`));
  }
  if (words.role === "starting" && words.isDiskFull !== true) {
    found.push(finding("starting", "warning", `${name} is starting.`));
  }
  if (leader !== 0 && words.hasQuorumContact === false) found.push(withoutMajority(node));
  if (words.auditState === "failing") {
    found.push(finding("audit", "bad", `${name} cannot write its audit.`));
  }
  if (words.isMemoryScarce === true) {
    const sentence = `${name} has little memory left: it refuses what would enlarge the table.`;
    found.push(finding("memory", "warning", sentence));
  }
  found.push(...certificate(node, words, nowMs));
  if ((words.loopDelayMaxMs ?? 0) > STALL_MS) {
    const sentence = `${name} stood still for ${formatDuration(words.loopDelayMaxMs ?? 0)} just now.`;
    found.push(finding("stalled", "warning", sentence));
  }
  if (words.isRestoring === true) {
    found.push(finding("restoring", "warning", `${name} takes over a snapshot.`));
  }
  if (words.isDraining === true) {
    found.push(finding("draining", "warning", `${name} is being stopped.`));
  }
  return found;
}

function withoutMajority(node: number): Finding {
  return finding("noMajority", "bad", `Node ${node} has no contact with a majority.`);
}

function certificate(node: number, words: NodeWords, nowMs: number): Finding[] {
  const endsMs = words.certificateEndsWallMs ?? Number.POSITIVE_INFINITY;
  const days = Math.floor((endsMs - nowMs) / DAY_MS);
  if (days >= CERTIFICATE_DAYS) return [];
  const isOver = endsMs <= nowMs;
  const when = isOver ? "has expired" : `expires in ${days === 1 ? "a day" : `${days} days`}`;
  const sentence = `The certificate of node ${node} ${when}.`;
  return [finding("certificate", isOver ? "bad" : "warning", sentence)];
}

function lagging({ leader, members, nodes }: HealthFacts): Finding[] {
  if (leader === 0) return [];
  const behind = new Map<number, number>();
  for (const { node, words } of current({ nodes })) {
    const lag = members?.find(({ id }) => id === node)?.lagEntries ?? 0;
    behind.set(node, Math.max(lag, words.commitIndex - words.appliedIndex));
  }
  return [...behind]
    .filter(([, entries]) => entries > LAG_ENTRIES_MAX)
    .map(([node, entries]) =>
      finding(
        "lag",
        "warning",
        `Node ${node} is ${countText(entries, "entry", "entries")} behind the leader.`,
      ),
    );
}

function openAccess({ nodes, isBeyondLoopback }: HealthFacts): Finding[] {
  if (isBeyondLoopback !== true) return [];
  if (!current({ nodes }).some(({ words }) => words.isOpen === true)) return [];
  const sentence = "Everyone who reaches a node may do everything: the cluster is not secured.";
  return [finding("open", "warning", sentence)];
}

function versions({ nodes }: HealthFacts): Finding[] {
  const ids = new Map<string, number[]>();
  for (const { node, words } of current({ nodes })) {
    const { version } = words;
    if (version !== undefined) ids.set(version, [...(ids.get(version) ?? []), node]);
  }
  if (ids.size < 2) return [];
  const parts = [...ids].map(([version, on]) => `${version} on ${on.join(", ")}`);
  const sentence = `The nodes run different versions: ${parts.join("; ")}.`;
  return [finding("versions", "warning", sentence)];
}

function slowCommits({ nodes }: HealthFacts): Finding[] {
  const ms = latestCommitMs(nodes);
  if (ms === null || ms <= SLOW_COMMIT_MS) return [];
  const sentence = `Commits are slow: one of a hundred takes ${formatDuration(ms)} or more.`;
  return [finding("slowCommits", "warning", sentence)];
}

/** All tables agree about them. */
function deadlocks({ nodes }: HealthFacts): Finding[] {
  const counts = current({ nodes }).map(({ words }) => words.possibleDeadlocks ?? 0);
  const most = Math.max(0, ...counts);
  if (most === 0) return [];
  const which = most === 1 ? "one possible deadlock" : `${most} possible deadlocks`;
  const sentence = `Tasks may wait for each other forever: ${which}, shown by "holdfast graph".`;
  return [finding("deadlock", "warning", sentence)];
}

/** What nodes say that answer now: what others said is old. */
function current({ nodes }: Pick<HealthFacts, "nodes">): { node: number; words: NodeWords }[] {
  return nodes.flatMap(({ node, words, answers }) =>
    answers === true && words !== undefined ? [{ node, words }] : [],
  );
}

/** The worst of the last minute, on the leader. */
function latestCommitMs(nodes: readonly NodeFacts[]): number | null {
  const values = current({ nodes })
    .filter(({ words }) => words.role === "leader")
    .flatMap(({ words }) => (words.points ?? []).slice(-POINTS_NOW))
    .flatMap(({ commitP99Ms }) => (commitP99Ms === null ? [] : [commitP99Ms]));
  return values.length === 0 ? null : Math.max(...values);
}

function votersOf(members: readonly MemberFacts[] | undefined): readonly number[] | undefined {
  return members?.filter(({ isVoter }) => isVoter).map(({ id }) => id);
}

function finding(code: FindingCode, level: Finding["level"], sentence: string): Finding {
  return { code, level, sentence, help: HELP[code] };
}
