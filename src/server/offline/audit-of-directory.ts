/** Reads the audit of a node that does not run, from its data directory. Changes nothing in it. */
import type { AuditPage, AuditPlace } from "../../protocol/index.js";
import {
  type AuditHead,
  type AuditReport,
  verifyAudit,
  withStoppedAudit,
} from "../../storage/index.js";
import { type AuditFilter, readAuditPage } from "../reads/audit-page.js";

const PAGE_ENTRIES = 1_000;

/**
 * Checks the chain of the audit. `expected`: a head that was kept elsewhere. Fails with
 * `INVALID_ARGUMENT` if `path` is not a data directory, and with `UNAVAILABLE` if a process uses
 * it, permission is missing, or another version wrote it.
 */
export function verifyAuditOf(path: string, expected: AuditHead | undefined): Promise<AuditReport> {
  return withStoppedAudit(path, (audit) => verifyAudit(audit, expected));
}

/**
 * Calls `onPage` with the records that fit, newest first, at most `limit` of them. Fails as
 * `verifyAuditOf` does.
 */
export function listAuditOf(
  path: string,
  filter: AuditFilter,
  limit: number,
  onPage: (page: AuditPage) => void,
): Promise<void> {
  return withStoppedAudit(path, async (audit) => {
    let left = limit;
    let before: AuditPlace | undefined;
    for (;;) {
      const page = await readAuditPage(audit, filter, Math.min(left, PAGE_ENTRIES), before);
      onPage(page);
      left -= page.entries.length;
      if (page.next === null || left === 0) return;
      before = page.next;
    }
  });
}
