/** Reads the audit of a node that does not run, from its data directory. Changes nothing in it. */
import {
  type AuditHead,
  type AuditReport,
  verifyAudit,
  withStoppedAudit,
} from "../../storage/index.js";

/**
 * Checks the chain of the audit. `expected`: a head that was kept elsewhere. Fails with
 * `INVALID_ARGUMENT` if `path` is no data directory, and with `UNAVAILABLE` if a process uses it,
 * permission is missing, or another version wrote it.
 */
export function verifyAuditOf(path: string, expected: AuditHead | undefined): Promise<AuditReport> {
  return withStoppedAudit(path, (audit) => verifyAudit(audit, expected));
}
