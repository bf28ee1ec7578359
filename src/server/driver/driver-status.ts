/**
 * Numbers of one driver as they are at this moment, for `/status` and `/metrics`.
 */

import type { DriverParts } from "./driver-parts.js";
import type { DriverPorts, DriverStatus } from "./driver-ports.js";

export function driverStatus(
  { raft, memory }: DriverPorts,
  {
    applier,
    attachments,
    proposer,
    admission,
    kept,
    handOver,
    snapshots,
    observation,
    accessLog,
    signIn,
    times,
  }: DriverParts,
  leaderChangesTotal: number,
): DriverStatus {
  return {
    role: raft.role,
    term: raft.term,
    leader: raft.leader,
    commitIndex: raft.commitIndex,
    appliedIndex: applier.index,
    firstIndex: raft.firstIndex,
    lastIndex: raft.lastIndex,
    snapshotIndex: raft.snapshotIndex,
    snapshots: snapshots.status,
    configuration: raft.configuration,
    isDiskFull: handOver.isDiskFull,
    isMemoryScarce: memory.isScarce,
    hasQuorumContact: raft.hasQuorumContact,
    connections: attachments.count,
    leaderChangesTotal,
    entriesProposedTotal: proposer.count,
    commandsAppliedTotal: applier.commandCount,
    commandsRefusedTotal: admission.refusedCount,
    keptBytes: kept.bytes,
    observation: observation.status,
    refusals: accessLog.refusals,
    signInsRefusedTotal: signIn.refusedTotal,
    times,
  };
}
