/**
 * Reads the certificates of a PEM file, and says whether one is valid at a time and whether another
 * has issued it, by the same rules for nodes and commands. It must never replace the check in a
 * handshake, which is OpenSSL's.
 */
import { X509Certificate } from "node:crypto";

const PEM_CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/** All certificates of a PEM file, in their order. Throws what OpenSSL says of one it cannot read. */
export function readCertificates(pem: string): X509Certificate[] {
  return (pem.match(PEM_CERTIFICATE) ?? []).map((block) => new X509Certificate(block));
}

export function beginMsOf(certificate: X509Certificate): number {
  return Date.parse(certificate.validFrom);
}

/** OpenSSL refuses the certificate from this time on. */
export function endMsOf(certificate: X509Certificate): number {
  return Date.parse(certificate.validTo);
}

export function isInTime(certificate: X509Certificate, nowMs: number): boolean {
  return beginMsOf(certificate) <= nowMs && nowMs < endMsOf(certificate);
}

/** Whether `issuer` is a CA whose name and signature `issued` has. */
export function hasIssued(issuer: X509Certificate, issued: X509Certificate): boolean {
  if (!issuer.ca || !issued.checkIssued(issuer)) return false;
  try {
    return issued.verify(issuer.publicKey);
  } catch {
    // A key of a kind that Node.js does not know.
    return false;
  }
}
