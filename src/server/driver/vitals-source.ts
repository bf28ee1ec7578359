/**
 * What the vitals of a node are made of, read from the parts of its driver. Reads only.
 */
import { END_REASON, type VitalsPeer, type VitalsView } from "../../protocol/index.js";
import { isVoter, type NodeId, type Raft } from "../../raft/index.js";
import type { CatchUp } from "../vitals/catch-up.js";
import type { NodeTimes } from "../vitals/node-times.js";
import type { PointTotals } from "../vitals/point-ring.js";
import { peersInOrder, type VitalsFacts, type VitalsSource } from "../vitals/vitals.js";
import type { DriverPorts } from "./driver-ports.js";
import type { LeaderView } from "./leader-view.js";
import type { Observation } from "./observation.js";
import type { PeerSide } from "./peer-side.js";

/** How clients end holds. */
const CLIENT_ENDS: ReadonlySet<number> = new Set([
  END_REASON.released,
  END_REASON.closed,
  END_REASON.cancelled,
]);

export interface VitalsParts {
  readonly nodeId: number;
  readonly leaderView: LeaderView;
  readonly observation: Observation;
  readonly attachments: { readonly count: number };
  readonly applier: { readonly index: number };
  readonly handOver: { readonly isDiskFull: boolean };
  readonly times: NodeTimes;
  readonly catchUp: CatchUp;
  readonly peerSide: Pick<PeerSide, "endpointOf">;
}

export function vitalsSource(ports: DriverPorts, parts: VitalsParts): VitalsSource {
  const { raft, table, memory } = ports;
  const { leaderView, observation, handOver } = parts;
  const isOpen = (): boolean => table.anonymousLevels.everywhere === "admin";
  return {
    revision: () => leaderView.revision,
    isCaughtUp: () => parts.catchUp.isDone,
    watched: () => {
      const { voters, outgoing, learners } = raft.configuration;
      return {
        ...{ term: raft.term, leader: raft.leader, voters, outgoing, learners },
        linked: leaderView.linked,
        isDiskFull: handOver.isDiskFull,
        isMemoryScarce: memory.isScarce,
        isOpen: isOpen(),
        snapshotIndex: raft.snapshotIndex,
        auditState: auditStateOf(observation),
      };
    },
    totals: () => totalsOf(observation),
    takeTimes: () => parts.times.takeForPoint(),
    facts: () => factsOf(ports, parts, isOpen()),
  };
}

function factsOf(ports: DriverPorts, parts: VitalsParts, isOpen: boolean): VitalsFacts {
  const { raft, table, memory } = ports;
  const { nodeId, observation, attachments, applier, handOver, times } = parts;
  const { sessions, keys, holds, waiters, deadlocks } = parts.catchUp.since(table.counts());
  const { configuration } = raft;
  return {
    role: roleOf(raft, nodeId),
    term: raft.term,
    leader: raft.leader,
    commitIndex: raft.commitIndex,
    appliedIndex: applier.index,
    hasQuorumContact: raft.hasQuorumContact,
    isDiskFull: handOver.isDiskFull,
    isMemoryScarce: memory.isScarce,
    isOpen,
    logSyncP99Ms: times.logSyncP99Ms,
    connections: attachments.count,
    watches: observation.watches.count,
    ...{ sessions, keys, holds, waiters, deadlocks },
    possibleDeadlocks: table.possibleDeadlocks(),
    auditState: auditStateOf(observation),
    peers: peersInOrder(
      configuration.addresses
        .filter(({ id }) => id !== nodeId)
        .map(({ id }) => peerOf(ports, parts, id)),
    ),
  };
}

function peerOf({ raft, clock }: DriverPorts, parts: VitalsParts, node: NodeId): VitalsPeer {
  const { leaderView, times, peerSide } = parts;
  const heardMs = times.heardMs(node);
  const heardWallMs = heardMs === undefined ? null : clock.wallMs() - (clock.nowMs() - heardMs);
  return {
    node,
    endpoint: peerSide.endpointOf(node),
    isVoter: isVoter(raft.configuration, node),
    isConnected: leaderView.isLinked(node),
    heardWallMs: heardWallMs === null ? null : Math.max(0, Math.round(heardWallMs)),
    roundTripMs: times.roundTripMs(node),
    matchIndex: raft.peers.find((peer) => peer.id === node)?.matchIndex ?? null,
  };
}

function roleOf({ role, configuration }: Raft, nodeId: number): VitalsView["role"] {
  if (role === "follower" && !isVoter(configuration, nodeId)) return "learner";
  return role === "preCandidate" ? "candidate" : role;
}

function totalsOf({ changeLog }: Observation): PointTotals {
  const { granted, queued, left } = changeLog.totals;
  let lost = 0;
  for (const [reason, count] of changeLog.endsByReason.entries()) {
    if (!CLIENT_ENDS.has(reason)) lost += count;
  }
  return { grants: granted, waits: queued, failures: left, lost };
}

function auditStateOf({ auditState }: Observation): VitalsView["auditState"] {
  if (auditState === undefined) return "off";
  return auditState === "writing" ? "writing" : "failing";
}
