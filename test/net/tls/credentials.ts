/** Certificates of a cluster for tests: made once, in memory. */
import {
  createAuthority,
  type IssuedCertificate,
  issueClientCertificate,
  issueNodeCertificate,
} from "../../../src/certificates/index.js";
import type { TlsCredentials } from "../../../src/net/tls/credentials.js";
import { TransportTls, type TransportTlsOptions } from "../../../src/net/tls/transport.js";

export const TEST_CLUSTER = "test";
const DAY_MS = 86_400_000;
/** Long ago, so that what it has issued can have expired. */
const FOUNDED = { days: 1_000, now: daysFromNow(-200) };
export const AUTHORITY = createAuthority({ name: "authority of tests", ...FOUNDED });
export const OTHER_AUTHORITY = createAuthority({ name: "another authority", ...FOUNDED });
export const THIRD_AUTHORITY = createAuthority({ name: "a third authority", ...FOUNDED });

export function daysFromNow(days: number): Date {
  return new Date(Date.now() + days * DAY_MS);
}

export interface NodeCertificate {
  readonly cluster?: string;
  readonly authority?: IssuedCertificate;
  readonly days?: number;
  readonly now?: Date;
}

export function nodeCertificate(nodeId: number, options: NodeCertificate = {}): IssuedCertificate {
  const { cluster = TEST_CLUSTER, authority = AUTHORITY, days = 10, now } = options;
  return issueNodeCertificate(authority, {
    ...{ cluster, nodeId, hosts: ["127.0.0.1", "localhost"], days },
    ...(now === undefined ? {} : { now }),
  });
}

export function clientCertificate(name: string, options: NodeCertificate = {}): IssuedCertificate {
  const { cluster = TEST_CLUSTER, authority = AUTHORITY, days = 10, now } = options;
  return issueClientCertificate(authority, {
    ...{ cluster, name, days },
    ...(now === undefined ? {} : { now }),
  });
}

export function credentialsOf(
  own: IssuedCertificate,
  ca = AUTHORITY.certificatePem,
  clientCa?: string,
): TlsCredentials {
  return {
    cert: { path: "node.pem", text: own.certificatePem },
    key: { path: "node.key", text: own.keyPem },
    ca: { path: "ca.pem", text: ca },
    clientCa: clientCa === undefined ? undefined : { path: "clients.pem", text: clientCa },
  };
}

/** TLS of a node with a good certificate, unless `changed` says otherwise. */
export function tlsOf(nodeId: number, changed: Partial<TransportTlsOptions> = {}): TransportTls {
  return new TransportTls({
    ...{ cluster: TEST_CLUSTER, nodeId, minVersion: "1.3", requiresClientCert: false },
    credentials: credentialsOf(nodeCertificate(nodeId)),
    ...changed,
  });
}
