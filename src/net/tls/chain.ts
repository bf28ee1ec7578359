/**
 * Certificates and the authorities that issued them.
 *
 * `leadsTo` checks again what OpenSSL checked in a handshake, for connections that were established
 * before the authorities changed. Node.js has no call for that. It must never replace the check in a
 * handshake.
 */
import { X509Certificate } from "node:crypto";

const CHAIN_LENGTH_MAX = 8;
const PEM_CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/** All certificates of a PEM file, in their order. Throws what OpenSSL says of one it cannot read. */
export function readCertificates(pem: string): X509Certificate[] {
  return (pem.match(PEM_CERTIFICATE) ?? []).map((block) => new X509Certificate(block));
}

export function endMsOf(certificate: X509Certificate): number {
  return Date.parse(certificate.validTo);
}

export function beginMsOf(certificate: X509Certificate): number {
  return Date.parse(certificate.validFrom);
}

/** The certificates that the other side of a connection sent after its own. */
export function intermediatesOf(leaf: X509Certificate): X509Certificate[] {
  const chain: X509Certificate[] = [];
  let next = leaf.issuerCertificate;
  while (next !== undefined && chain.length < CHAIN_LENGTH_MAX) {
    chain.push(next);
    next = next.issuerCertificate;
  }
  return chain;
}

/** Whether valid certificates lead from `leaf`, by way of `intermediates`, to one of `authorities`. */
export function leadsTo(
  authorities: readonly X509Certificate[],
  leaf: X509Certificate,
  intermediates: readonly X509Certificate[],
  nowMs: number,
): boolean {
  if (!isInTime(leaf, nowMs)) return false;
  let issued = leaf;
  for (let length = 1; length < CHAIN_LENGTH_MAX; length++) {
    const issuer = [...authorities, ...intermediates].find((candidate) => {
      return isInTime(candidate, nowMs) && hasIssued(candidate, issued);
    });
    if (issuer === undefined) return false;
    if (authorities.includes(issuer) && hasIssued(issuer, issuer)) return true;
    issued = issuer;
  }
  return false;
}

function hasIssued(issuer: X509Certificate, issued: X509Certificate): boolean {
  if (!issuer.ca || !issued.checkIssued(issuer)) return false;
  try {
    return issued.verify(issuer.publicKey);
  } catch {
    // A key of a kind that Node.js does not know.
    return false;
  }
}

function isInTime(certificate: X509Certificate, nowMs: number): boolean {
  return beginMsOf(certificate) <= nowMs && nowMs < endMsOf(certificate);
}
