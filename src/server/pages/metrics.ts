/**
 * The page `/metrics`, in the Prometheus text format 0.0.4. Names and labels are a contract. Labels
 * never contain names of locks, sessions or clients, because there may be a million of them.
 */
import type { DoorCounts } from "../../doors/index.js";
import type { TableCounts } from "../../lockfsm/index.js";
import { type HandshakeCounts, LIMITED_BY, type PortLoad, type Traffic } from "../../net/index.js";
import { CHANGE_TYPES, END_REASON, MODEL_VERSION, PROTOCOL_VERSION } from "../../protocol/index.js";
import type { LogWrites } from "../../storage/index.js";
import type { DriverStatus, ObservationStatus } from "../driver/driver-ports.js";
import { LIMIT_LABELS, type LimitCounts, type LimitName } from "../limits/limit-counts.js";
import { VERSION } from "../version.js";
import type { Histogram } from "../vitals/histogram.js";
import { counter, gauge, histogramText, type Metric, metricText } from "../vitals/metric-text.js";
import type { AccessFigures } from "./access-figures.js";

/** What this process has written to the disk and moved over the sockets. */
export interface NodeTraffic {
  readonly log: LogWrites;
  readonly clients: Traffic;
  readonly peers: Traffic;
  /** `undefined`: there is no port for clients of Redis. */
  readonly redis: Readonly<DoorCounts> | undefined;
}

/** What has become of the TLS files of the node. */
export interface TlsStatus {
  readonly reloadsDone: number;
  readonly reloadsRefused: number;
  /** Seconds since 1970. */
  readonly certificateEndsAt: number;
}

/** What the metrics show of TLS. */
export interface TlsTold extends TlsStatus {
  readonly client: HandshakeCounts | undefined;
  readonly peer: HandshakeCounts | undefined;
}

/** What the metrics show of the process around the node. */
export interface ProcessMetrics {
  /** The longest stall of the event loop within the last ten seconds. */
  readonly loopDelayMaxMs: number;
  readonly stalls: Histogram;
  /** The metrics of the process itself. */
  readonly text: string;
}

export function metricsText(
  status: DriverStatus,
  counts: TableCounts,
  access: AccessFigures | undefined,
  traffic: NodeTraffic,
  clientPort: PortLoad,
  limits: LimitCounts,
  { loopDelayMaxMs, stalls, text }: ProcessMetrics,
  tls: TlsTold | undefined,
): string {
  const { times } = status;
  const metrics = [
    buildMetric(),
    ...raftMetrics(status),
    ...snapshotMetrics(status),
    ...loopMetrics(status, loopDelayMaxMs),
    ...portMetrics(clientPort),
    ...limitMetrics(limits),
    ...trafficMetrics(traffic),
    ...tableMetrics(counts),
    ...refusalMetrics(status),
    ...(access === undefined ? [] : accessMetrics(access)),
    ...observationMetrics(status.observation),
    ...(tls === undefined ? [] : tlsMetrics(tls)),
  ];
  return [
    ...metrics.map(metricText),
    ...[...times.histograms, stalls].map((histogram) => histogramText([histogram])),
    histogramText(times.roundTrips),
    text,
  ].join("");
}

function buildMetric(): Metric {
  const versions = `version="${VERSION}",model="${MODEL_VERSION}",protocol="${PROTOCOL_VERSION}"`;
  return gauge("build_info", "Versions of this node.", [[versions, 1]]);
}

function raftMetrics(status: DriverStatus): Metric[] {
  return [
    gauge("has_leader", "Whether a leader is known.", status.leader === 0 ? 0 : 1),
    gauge("is_leader", "Whether this node leads.", status.role === "leader" ? 1 : 0),
    gauge("term", "Raft term.", status.term),
    gauge("commit_index", "Last committed log index.", status.commitIndex),
    gauge("applied_index", "Last applied log index.", status.appliedIndex),
    gauge("first_index", "First log index that is kept.", status.firstIndex),
    gauge("disk_full", "Whether the log lacks room to grow.", status.isDiskFull ? 1 : 0),
    counter("leader_changes_total", "New leaders seen.", status.leaderChangesTotal),
    counter("proposals_total", "Entries proposed here.", status.entriesProposedTotal),
  ];
}

function snapshotMetrics({ snapshotIndex, snapshots }: DriverStatus): Metric[] {
  const seconds = snapshots.durationMs / 1_000;
  return [
    gauge("snapshot_index", "Log index of the newest snapshot.", snapshotIndex),
    counter("snapshots_taken_total", "Snapshots taken here.", snapshots.takenTotal),
    counter("snapshots_installed_total", "Taken over.", snapshots.installedTotal),
    gauge("snapshot_bytes", "Size of the newest snapshot.", snapshots.bytes),
    gauge("snapshot_duration_seconds", "How long the last snapshot took.", seconds),
  ];
}

function loopMetrics(status: DriverStatus, loopDelayMaxMs: number): Metric[] {
  const stallSeconds = loopDelayMaxMs / 1_000;
  return [
    counter("commands_applied_total", "Commands applied.", status.commandsAppliedTotal),
    counter("commands_busy_total", "Commands answered BUSY.", status.commandsRefusedTotal),
    gauge("kept_bytes", "Bytes of commands not applied here yet.", status.keptBytes),
    gauge(
      "event_loop_delay_max_seconds",
      "Longest stall of the event loop in ten seconds.",
      stallSeconds,
    ),
    gauge("memory_scarce", "Whether new locks are refused.", status.isMemoryScarce ? 1 : 0),
    gauge("client_connections", "Open client connections.", status.connections),
  ];
}

function inputMetrics({ input, heldInputs }: PortLoad): Metric[] {
  const kinds = Object.entries(input);
  const by = (figureOf: (totals: (typeof kinds)[number][1]) => number) =>
    kinds.map(([kind, totals]) => [`by="${kind}"`, figureOf(totals)] as const);
  return [
    counter(
      "input_bytes_total",
      "Bytes received at all doors.",
      by(({ bytes }) => bytes),
    ),
    counter(
      "input_requests_total",
      "Requests taken.",
      by(({ requests }) => requests),
    ),
    counter(
      "input_seconds_total",
      "Time for which the event loop worked on input.",
      by(({ loopMs }) => loopMs / 1_000),
    ),
    gauge("input_held", "Connections that wait for their share of the loop.", heldInputs),
  ];
}

function portMetrics(port: PortLoad): Metric[] {
  return [
    ...inputMetrics(port),
    gauge("client_connections_max", "Client connections that may be open.", port.connectionsMax),
    gauge("client_sockets", "Open sockets of the client port, of pages too.", port.sockets),
    gauge("client_sockets_max", "Sockets that may be open there.", port.socketsMax),
    gauge("client_unfinished_bytes", "Kept of unfinished messages.", port.unfinishedBytes),
    counter(
      "client_refused_total",
      "Connections refused because there was no place.",
      port.refusedTotal,
    ),
  ];
}

function limitMetrics(limits: LimitCounts): Metric[] {
  const names = Object.keys(LIMIT_LABELS) as LimitName[];
  const totals = LIMITED_BY.flatMap((by) =>
    names.map((limit) => {
      return [`by="${by}",limit="${LIMIT_LABELS[limit]}"`, limits.total(by, limit)] as const;
    }),
  );
  return [
    gauge("limits_enforced", "Whether what exceeds limits is refused.", limits.isEnforced ? 1 : 0),
    counter("limit_exceeded_total", "Limits of identities and addresses exceeded.", totals),
  ];
}

function trafficMetrics({ log, clients, peers, redis }: NodeTraffic): Metric[] {
  const byDirection = (sent: number, received: number) =>
    [
      ['direction="sent"', sent],
      ['direction="received"', received],
    ] as const;
  const metricsOf = (side: string, whom: string, traffic: Traffic): Metric[] => {
    const { framesSent, framesReceived, bytesSent, bytesReceived } = traffic;
    return [
      counter(
        `${side}_frames_total`,
        `Messages to and from ${whom}.`,
        byDirection(framesSent, framesReceived),
      ),
      counter(
        `${side}_bytes_total`,
        `Their bytes, without what is before the payload of a frame.`,
        byDirection(bytesSent, bytesReceived),
      ),
    ];
  };
  return [
    counter("log_syncs_total", "Records of the log, each one synced write.", log.records),
    counter("log_bytes_total", "Their bytes.", log.bytes),
    ...metricsOf("client", "clients", clients),
    ...metricsOf("peer", "the other nodes", peers),
    ...(redis === undefined ? [] : redisMetrics(redis)),
  ];
}

function redisMetrics(counts: Readonly<DoorCounts>): Metric[] {
  const { connections, commandsTotal, refusedTotal, cutOffTotal, unendableKinds } = counts;
  return [
    gauge("redis_connections", "Open connections of Redis clients.", connections),
    counter("redis_commands_total", "Commands of Redis clients.", commandsTotal),
    counter("redis_refused_total", "Those answered with an error.", refusedTotal),
    counter("redis_cut_off_total", "Connections closed for what they did.", cutOffTotal),
    gauge(
      "redis_unendable_kinds",
      "Kinds of locks refused, as their end would be.",
      unendableKinds,
    ),
  ];
}

function tableMetrics(counts: TableCounts): Metric[] {
  return [
    gauge("sessions", "Sessions in the table.", counts.sessions),
    gauge("keys", "Keys in use.", counts.keys),
    gauge("holds", "Holds in the table.", counts.holds),
    gauge("waiters", "Requests that wait.", counts.waiters),
    gauge("cooldowns", "Cooldowns: ended holds that keep keys closed.", counts.cooldowns),
    gauge("leases", "Leases of named owners in the table, among the holds.", counts.leases),
    gauge("table_bytes", "What the table takes, as tableBytesMax counts it.", counts.tableBytes),
    counter(
      "table_limit_exceeded_total",
      "Commands that met a limit of their identity in the table.",
      Object.entries(counts.limited).map(([name, met]) => [`limit="${name}"`, met] as const),
    ),
    counter("deadlocks_total", "Requests refused for closing a cycle.", counts.deadlocks),
    counter(
      "deadlock_searches_deferred_total",
      "Searches for cycles that were left to later entries.",
      counts.searchesDeferred,
    ),
    counter(
      "deadlock_searches_given_up_total",
      "Searches for cycles for which a whole entry was too short.",
      counts.searchesGivenUp,
    ),
  ];
}

function refusalMetrics({ refusals, signInsRefusedTotal }: DriverStatus): Metric[] {
  const byVerb = refusals.map(
    ({ verb, code, count }) => [`verb="${verb}",code="${code}"`, count] as const,
  );
  return [
    counter("auth_refusals_total", "Requests refused because of who asked.", byVerb),
    counter("sign_ins_refused_total", "Sign-ins refused.", signInsRefusedTotal),
  ];
}

function accessMetrics({ state, identities, expiring }: AccessFigures): Metric[] {
  return [
    gauge("access_open", "Whether everybody may do everything.", state === "open" ? 1 : 0),
    gauge("identities", "Identities in the table.", identities),
    gauge("credentials_expiring", "Credentials that expire within seven days.", expiring.soon),
    gauge("credentials_expired", "Credentials that have expired.", expiring.expired),
  ];
}

function observationMetrics(observation: ObservationStatus): Metric[] {
  const { changesByType, endsByReason, audit } = observation;
  const byType = CHANGE_TYPES.map((type) => [`type="${type}"`, changesByType[type]] as const);
  const byReason = Object.entries(END_REASON).map(
    ([name, number]) => [`reason="${name}"`, endsByReason[number] ?? 0] as const,
  );
  const metrics = [
    gauge("watches", "Watches of clients of this node.", observation.watches),
    counter(
      "watches_compacted_total",
      "Watches ended because what came next was forgotten.",
      observation.watchesCompactedTotal,
    ),
    gauge("history_changes", "Changes of locks kept in memory.", observation.changes),
    gauge("history_bytes", "What these take.", observation.changeBytes),
    counter("changes_total", "Changes of locks applied here, key by key.", byType),
    counter("hold_ends_total", "Ends of holds applied here, key by key.", byReason),
  ];
  if (audit === undefined) return metrics;
  return [
    ...metrics,
    gauge(
      "audit_failing",
      "Whether the audit cannot be written.",
      audit.state === "writing" ? 0 : 1,
    ),
    gauge("audit_lag", "Changes that the audit has not looked at yet.", audit.lag),
    counter("audit_records_total", "Records that the audit has written.", audit.writtenTotal),
    counter("audit_gaps_total", "Times that the audit lost something.", audit.gapsTotal),
    gauge("audit_lost_records", "Records of the audit that its store has lost.", audit.lostTotal),
    gauge("audit_bytes", "What the kept records of the audit take.", audit.bytesKept),
    gauge(
      "audit_size_limited",
      "Whether the size of the audit has removed records younger than its age.",
      audit.isSizeLimited ? 1 : 0,
    ),
  ];
}

function tlsMetrics({ client, peer, ...status }: TlsTold): Metric[] {
  const byPort = (count: (counts: HandshakeCounts) => number) =>
    Object.entries({ client, peer }).map(
      ([port, counts]) => [`port="${port}"`, counts === undefined ? 0 : count(counts)] as const,
    );
  return [
    gauge(
      "certificate_expiry_timestamp_seconds",
      "When the certificate of this node expires, in seconds since 1970.",
      status.certificateEndsAt,
    ),
    counter("tls_reloads_total", "Changed TLS files taken over, and refused.", [
      ['result="done"', status.reloadsDone],
      ['result="refused"', status.reloadsRefused],
    ]),
    counter(
      "tls_handshakes_total",
      "TLS handshakes that succeeded.",
      byPort(({ completed }) => completed),
    ),
    counter(
      "tls_handshakes_failed_total",
      "TLS handshakes that failed.",
      byPort(({ failed }) => failed),
    ),
  ];
}
