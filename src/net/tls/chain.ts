/**
 * The chain of issuers from a certificate to an authority.
 *
 * `leadsTo` checks again what OpenSSL checked in a handshake, for connections that were established
 * before the authorities changed. Node.js has no call for that. It must never replace the check in a
 * handshake.
 */
import type { X509Certificate } from "node:crypto";
import { hasIssued, isInTime } from "../../certificates/index.js";

const CHAIN_LENGTH_MAX = 8;

/**
 * The certificates that the other side of a connection sent after its own. `leaf` is what the first
 * call of `getPeerX509Certificate` on that connection returned: later calls return no intermediates.
 */
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
