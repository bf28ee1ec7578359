/** Certificates for tests of TLS: an authority, and what it and another one issue. */
import {
  createAuthority,
  type IssuedCertificate,
  issueClientCertificate,
  issueNodeCertificate,
} from "../../src/certificates/index.js";

const DAY_MS = 86_400_000;
const CLUSTER = "holdfast";
const DAYS = 30;

export const AUTHORITY = createAuthority({ name: "test CA", days: 3_650, now: daysFromNow(-100) });
/** A CA of the same name with another key. */
export const OTHER_AUTHORITY = createAuthority({ name: "test CA", days: 3_650 });

export function daysFromNow(days: number): Date {
  return new Date(Date.now() + days * DAY_MS);
}

interface Issuing {
  readonly authority?: IssuedCertificate;
  /** Days from now, when it is issued for 30. */
  readonly from?: number;
}

export function nodeCertificate(
  nodeId: number,
  hosts: readonly string[] = ["localhost", "127.0.0.1"],
  { authority = AUTHORITY, from = 0 }: Issuing = {},
): IssuedCertificate {
  const options = { cluster: CLUSTER, nodeId, hosts, days: DAYS, now: daysFromNow(from) };
  return issueNodeCertificate(authority, options);
}

export function clientCertificate(
  name: string,
  { authority = AUTHORITY, from = 0 }: Issuing = {},
): IssuedCertificate {
  const options = { cluster: CLUSTER, name, days: DAYS, now: daysFromNow(from) };
  return issueClientCertificate(authority, options);
}
