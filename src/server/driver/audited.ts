/**
 * What the loop reports to the audit besides orders and refusals: changes of members, operations on
 * the cluster, saved snapshots. It decides nothing.
 */
import type { LockTable } from "../../lockfsm/index.js";
import {
  type ChangeMemberOperation,
  type LogLevelOperation,
  OP,
  type TransferOperation,
} from "../../protocol/index.js";
import type { Configuration } from "../../raft/index.js";
import type { Attachment } from "../commands/attachments.js";
import type { AuditAction } from "../commands/audit-actions.js";
import { ActionLog } from "../reads/action-log.js";
import { wholeEntryAt } from "../reads/revisions.js";
import type { DriverPorts } from "./driver-ports.js";

const UNKNOWN = { identity: "", credential: "" };

/** What waits to be written to the audit, if the node keeps one. */
export function actionLogOf({ audit, clock, raft }: DriverPorts): ActionLog | undefined {
  if (audit === undefined) return undefined;
  const index = raft.appliedIndex;
  const { mark } = audit.store;
  return new ActionLog(clock, index, mark === undefined ? index : wholeEntryAt(mark.through));
}

/** On each node. Who asked for it is in the record of the operation, on the node that led then. */
export function membersAction({ voters, outgoing, learners }: Configuration): AuditAction {
  return {
    ...{ kind: "members", identity: "", credential: "", address: "", key: "", outcome: "done" },
    what: "configuration",
    details: { voters: voters.join(), outgoing: outgoing.join(), learners: learners.join() },
  };
}

/** On the node that leads. */
export function operationAction(
  table: LockTable,
  operation: ChangeMemberOperation | TransferOperation,
  credential: number,
  address: string,
): AuditAction {
  const by = table.giverOf(credential) ?? UNKNOWN;
  const { node } = operation;
  const isChange = operation.op === OP.changeMember;
  const details = isChange ? { action: operation.action, address: operation.address } : {};
  return {
    ...{ kind: "operation", identity: by.identity, credential: by.credential, address, key: "" },
    ...{ what: isChange ? "changeMember" : "transfer", outcome: "begun" },
    details: { node, ...details },
  };
}

/** On the node that the client asked. */
export function savedAction(
  table: LockTable,
  { credential, connection: { address } }: Attachment,
  index: number,
): AuditAction {
  const by = table.giverOf(credential) ?? UNKNOWN;
  return {
    ...{ kind: "snapshot", identity: by.identity, credential: by.credential, address, key: "" },
    ...{ what: "saveSnapshot", outcome: "done", details: { index } },
  };
}

/** On the node whose log it is. */
export function logLevelAction(
  table: LockTable,
  { credential, connection: { address } }: Attachment,
  { level, forMs }: LogLevelOperation,
): AuditAction {
  const by = table.giverOf(credential) ?? UNKNOWN;
  return {
    ...{ kind: "operation", identity: by.identity, credential: by.credential, address, key: "" },
    ...{ what: "logLevel", outcome: "done", details: { level, forMs } },
  };
}
