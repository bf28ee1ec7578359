/**
 * What the audit records besides ended holds: what operators did, and what this node refused. Types
 * only; `reads/action-log.ts` keeps them until they are written.
 */
import type { AuditKind } from "../../protocol/index.js";

/** Values in the details of an action; never a secret. */
export type ActionDetails = Readonly<Record<string, string | number | boolean | null | undefined>>;

export interface AuditAction {
  readonly kind: Exclude<AuditKind, "hold">;
  /** "" if it is not known. */
  readonly identity: string;
  /** `KIND:LABEL` of the credential, or the name in a certificate; "" without one. */
  readonly credential: string;
  /** The client's address, as this node saw it; "" if it was not a client of this node. */
  readonly address: string;
  /** The name of the request, or what happened. */
  readonly what: string;
  /** The key that it is about; "" if none. */
  readonly key: string;
  /** `done`, or the code of the error. */
  readonly outcome: string;
  readonly details: ActionDetails;
}

/** Receives actions. */
export interface AuditActions {
  /** Inside `apply`: every node notes it under the same entry, and again when it replays the log. */
  onApplied(action: AuditAction, wallMs: number): void;
  /** Known to this node only, and noted once. */
  onHere(action: AuditAction): void;
}
