/**
 * The plain HTTP pages of the client port. `/livez` says only that the loop turns and never depends
 * on a quorum; `/readyz` says whether clients should come here. No page shows names of locks.
 */
import type { TableCounts } from "../../lockfsm/index.js";
import {
  type HttpAnswer,
  type PageBrowser,
  type PageCaller,
  type Pages,
  type PortLoad,
  problemAnswer,
} from "../../net/index.js";
import type { NodeEndpoint } from "../../protocol/index.js";
import { isVoter } from "../../raft/index.js";
import { type Finding, findingsOfNode, type NodeWords } from "../../views/index.js";
import type { DriverStatus, PageRight } from "../driver/driver-ports.js";
import type { LimitCounts } from "../limits/limit-counts.js";
import { VERSION } from "../version.js";
import type { AccessFigures } from "./access-figures.js";
import { metricsText, type NodeTraffic, type ProcessMetrics, type TlsTold } from "./metrics.js";

const NEEDS_TOKEN =
  "this page needs an access token (Authorization: Bearer …), or the certificate of a client " +
  "with permissions or of a member";
const UNSURE =
  "it has not heard from a majority since it started, and does not know yet who may read this page";
const TEXT = "text/plain; charset=utf-8";
const NO_COUNTS: TableCounts = Object.freeze({
  sessions: 0,
  keys: 0,
  holds: 0,
  waiters: 0,
  cooldowns: 0,
  leases: 0,
  endlessLeases: 0,
  tableBytes: 0,
  searchesDeferred: 0,
  searchesGivenUp: 0,
  deadlocks: 0,
  limited: Object.freeze({ sessions: 0, claims: 0, bytes: 0, waiters: 0 }),
});
/** The status of a node that still starts. */
const NOT_YET = Object.freeze({
  role: "starting",
  term: 0,
  leader: 0,
  commitIndex: 0,
  appliedIndex: 0,
  connections: 0,
  peers: [],
  members: [],
});
const METRICS_TEXT = "text/plain; version=0.0.4; charset=utf-8";

/** What the pages show of a driver. */
export interface PagedDriver {
  readonly status: DriverStatus;
  readonly endpoints: readonly NodeEndpoint[];
}

/** The port for clients of Redis. */
export interface RedisTold {
  readonly address: string;
  /** Kinds of locks that are refused, because their clients could not end them. */
  readonly unendableKinds: number;
  /** Why clients of Redlock get no lock there; absent: none was seen. */
  readonly redlock?: string;
}

/** Where the pages get their figures, read again for each request. */
export interface PageSource {
  readonly id: number;
  readonly clusterId: string;
  readonly incarnation: number;
  readonly pid: number;
  readonly uptimeMs: () => number;
  readonly wallMs: () => number;
  /** When the TLS certificate of the node expires; `null` without TLS. */
  readonly certificateEndsWallMs: () => number | null;
  /** The longest stall of the event loop within the last ten seconds. */
  readonly loopDelayMaxMs: () => number;
  /** For `/metrics`. */
  readonly process: () => ProcessMetrics;
  readonly endpoint: () => string;
  /** `undefined` while the node starts: while its log is read and its table is restored. */
  readonly driver: () => PagedDriver | undefined;
  readonly counts: () => TableCounts | undefined;
  readonly possibleDeadlocks: () => number;
  readonly access: () => AccessFigures | undefined;
  /** How long the cluster, which was restored, will open no session. */
  readonly quietMs: () => number;
  readonly traffic: () => NodeTraffic;
  readonly clientPort: () => PortLoad;
  readonly limits: () => LimitCounts;
  /** `undefined`: everything is in plain text. */
  readonly tls: () => TlsTold | undefined;
  /** `undefined`: it has no port for clients of Redis. */
  readonly redis: () => RedisTold | undefined;
  readonly isDraining: () => boolean;
  /** Whether the caller has a right to anything; without one it may only know how the node is. */
  readonly judge: (caller: PageCaller) => PageRight;
  /**
   * A file of the dashboard, if there is one at that path. `isStranger`: must not learn the
   * members.
   */
  readonly pageFile: (
    path: string,
    browser: PageBrowser,
    isStranger: boolean,
  ) => HttpAnswer | undefined;
}

export function createPages(source: PageSource): Pages {
  return (path, caller) => {
    switch (path) {
      case "/livez":
        return text(200, "ok\n");
      case "/readyz":
        return readiness(source, source.judge(caller) === "granted");
      default:
        return filed(path, caller, source) ?? answerTo(source.judge(caller), path, source);
    }
  };
}

function filed(path: string, caller: PageCaller, source: PageSource): HttpAnswer | undefined {
  if (caller.browser === undefined) return undefined;
  return source.pageFile(path, caller.browser, source.judge(caller) !== "granted");
}

function answerTo(right: PageRight, path: string, source: PageSource): HttpAnswer {
  switch (right) {
    case "granted":
      return pageOf(path, source);
    case "refused":
      return problemAnswer(401, "UNAUTHENTICATED", NEEDS_TOKEN);
    case "unsure":
      return problemAnswer(503, "UNAVAILABLE", UNSURE);
  }
}

function pageOf(path: string, source: PageSource): HttpAnswer {
  switch (path) {
    case "/":
      return text(200, `holdfast ${VERSION}, node ${source.id}\n`);
    case "/status":
      return {
        status: 200,
        contentType: "application/json",
        body: `${JSON.stringify(statusOf(source))}\n`,
      };
    case "/metrics":
      return { status: 200, contentType: METRICS_TEXT, body: metricsOf(source) };
    default:
      return problemAnswer(404, "INVALID_ARGUMENT", "there is no page here");
  }
}

/**
 * Whether clients should come here, and why not, a line each. `tellsAll`: also what is wrong with a
 * node that is ready.
 */
function readiness(source: PageSource, tellsAll: boolean): HttpAnswer {
  const findings = findingsOfNode(source.id, wordsOf(source), source.wallMs());
  const unready = findings.filter(({ isUnready }) => isUnready);
  const others = tellsAll ? findings.filter(({ isUnready }) => !isUnready) : [];
  const lines = [...(unready.length === 0 ? ["ok"] : []), ...[...unready, ...others].map(lineOf)];
  return text(unready.length === 0 ? 200 : 503, `${lines.join("\n")}\n`);
}

function lineOf({ sentence, help }: Finding): string {
  return `${sentence} What helps: ${help}`;
}

function wordsOf(source: PageSource): NodeWords {
  const status = source.driver()?.status;
  const process = {
    version: VERSION,
    isDraining: source.isDraining(),
    loopDelayMaxMs: Math.round(source.loopDelayMaxMs() * 10) / 10,
    certificateEndsWallMs: source.certificateEndsWallMs(),
  };
  if (status === undefined) return { ...NOT_YET, ...process };
  const { role, leader, commitIndex, appliedIndex, hasQuorumContact } = status;
  const { isDiskFull, isMemoryScarce, snapshots, observation } = status;
  const auditState = auditStateOf(observation.audit?.state);
  const own = { role, leader, commitIndex, appliedIndex, hasQuorumContact };
  const conditions = { isDiskFull, isMemoryScarce, isRestoring: snapshots.isRestoring, auditState };
  return { ...own, ...conditions, ...process };
}

function statusOf(source: PageSource): Record<string, unknown> {
  const driver = source.driver();
  return {
    id: source.id,
    pid: source.pid,
    endpoint: source.endpoint(),
    clusterId: source.clusterId,
    incarnation: source.incarnation,
    version: VERSION,
    uptimeMs: Math.floor(source.uptimeMs()),
    ...(driver === undefined ? NOT_YET : driverStatusOf(driver, source.id)),
    ...conditionsOf(wordsOf(source)),
    ...(source.counts() ?? NO_COUNTS),
    possibleDeadlocks: source.possibleDeadlocks(),
    access: accessOf(source.access()),
    quietMs: source.quietMs(),
    clientPort: source.clientPort(),
    redis: source.redis(),
  };
}

function auditStateOf(state: string | undefined): NodeWords["auditState"] {
  if (state === undefined) return "off";
  return state === "writing" ? "writing" : "failing";
}

/** What is judged of the node, and is not in its other figures. */
function conditionsOf(words: NodeWords): Partial<NodeWords> {
  const { hasQuorumContact, isDraining, auditState, certificateEndsWallMs, loopDelayMaxMs } = words;
  return { hasQuorumContact, isDraining, auditState, certificateEndsWallMs, loopDelayMaxMs };
}

/** An object, so that there is room for what a node demands by itself. */
function accessOf(figures: AccessFigures | undefined): Record<string, unknown> | undefined {
  return figures && { state: figures.state, identities: figures.identities };
}

function driverStatusOf({ status, endpoints }: PagedDriver, self: number): Record<string, unknown> {
  const { role, term, leader, commitIndex, appliedIndex, configuration } = status;
  return {
    role: role === "follower" && !isVoter(configuration, self) ? "learner" : role,
    term,
    leader,
    commitIndex,
    appliedIndex,
    firstIndex: status.firstIndex,
    snapshotIndex: status.snapshotIndex,
    snapshots: status.snapshots,
    isDiskFull: status.isDiskFull,
    isMemoryScarce: status.isMemoryScarce,
    connections: status.connections,
    seeing: status.observation,
    peers: endpoints.filter(({ id }) => id !== self),
    members: configuration.addresses.map(({ id, address }) => {
      return { id, role: isVoter(configuration, id) ? "voter" : "learner", address };
    }),
  };
}

function metricsOf(source: PageSource): string {
  const status = source.driver()?.status;
  if (status === undefined) return "";
  const counts = source.counts() ?? NO_COUNTS;
  return metricsText(
    status,
    counts,
    source.access(),
    source.traffic(),
    source.clientPort(),
    source.limits(),
    source.process(),
    source.tls(),
  );
}

function text(status: number, body: string): HttpAnswer {
  return { status, contentType: TEXT, body };
}
