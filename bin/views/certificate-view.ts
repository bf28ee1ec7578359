/** A certificate as people and programs read it: whose it is, its hosts, and until when it is valid. */
import type { X509Certificate } from "node:crypto";
import {
  beginMsOf,
  endMsOf,
  isInTime,
  readCertifiedIdentity,
  readHosts,
} from "../../src/certificates/index.js";
import { printable } from "../../src/text/index.js";
import { formatWallTime } from "../text/wall-time.js";

const DAY_MS = 86_400_000;

export interface CertificateView {
  readonly certificate: X509Certificate;
  /** The file that should be its key; `undefined`: there is none. */
  readonly key: { readonly file: string; readonly fits: boolean } | undefined;
  /** The CAs that should have issued it; `undefined`: there are none. */
  readonly authority: { readonly file: string; readonly verifies: boolean } | undefined;
}

/** Whether its key does not fit, its CA did not issue it, or it is not valid now. */
export function isWrong({ certificate, key, authority }: CertificateView, nowMs: number): boolean {
  return key?.fits === false || authority?.verifies === false || !isInTime(certificate, nowMs);
}

export function certificateLines(view: CertificateView, nowMs: number): string[] {
  const { certificate, authority } = view;
  const hosts = readHosts(certificate);
  const rows = [
    ["for", forText(certificate)],
    ...(hosts.length === 0 ? [] : [["hosts", hosts.join(", ")]]),
    ["valid", validText(certificate, nowMs)],
    ["issued by", issuerText(certificate)],
    ["key", keyText(view)],
    ...(authority === undefined ? [] : [["CA", authorityText(authority)]]),
  ];
  return rows.map(([name = "", text = ""]) => `${name.padEnd(11)}${printable(text)}`);
}

export function certificateDocument(view: CertificateView, nowMs: number): Record<string, unknown> {
  const { certificate, key, authority } = view;
  return {
    ...identityDocument(certificate),
    hosts: readHosts(certificate),
    subject: oneLine(certificate.subject),
    issuer: oneLine(certificate.issuer),
    serial: certificate.serialNumber.toLowerCase(),
    notBefore: new Date(beginMsOf(certificate)).toISOString(),
    notAfter: new Date(endMsOf(certificate)).toISOString(),
    isValidNow: isInTime(certificate, nowMs),
    keyFits: key?.fits ?? null,
    isVerified: authority?.verifies ?? null,
  };
}

/** `kind`, and for a node or client its cluster and its number or name. */
export function identityDocument(certificate: X509Certificate): Record<string, unknown> {
  const identity = readCertifiedIdentity(certificate);
  return { ...(identity ?? { kind: certificate.ca ? "ca" : "other" }) };
}

/** `node 1 of cluster holdfast`. */
export function forText(certificate: X509Certificate): string {
  const identity = readCertifiedIdentity(certificate);
  if (identity?.kind === "node") return `node ${identity.nodeId} of cluster ${identity.cluster}`;
  if (identity?.kind === "client") return `client ${identity.name} of cluster ${identity.cluster}`;
  const name = oneLine(certificate.subject);
  return certificate.ca ? `a CA, ${name}` : `neither a node nor a client of Holdfast: ${name}`;
}

/** `until 2027-12-25 08:00:00.000`. */
export function untilText(certificate: X509Certificate): string {
  return `until ${formatWallTime(endMsOf(certificate))}`;
}

function validText(certificate: X509Certificate, nowMs: number): string {
  const [from, until] = [beginMsOf(certificate), endMsOf(certificate)];
  const range = `${formatWallTime(from)} to ${formatWallTime(until)}`;
  if (nowMs < from) return `NOT YET: ${range}`;
  if (nowMs >= until) return `EXPIRED: ${range}`;
  const days = Math.floor((until - nowMs) / DAY_MS);
  return `${range}, ${days === 1 ? "1 day" : `${days} days`} left`;
}

function issuerText(certificate: X509Certificate): string {
  return certificate.checkIssued(certificate) ? "itself" : oneLine(certificate.issuer);
}

function keyText({ certificate, key }: CertificateView): string {
  if (key !== undefined) return key.fits ? `${key.file} fits` : `${key.file} DOES NOT FIT`;
  return certificate.ca ? "none found" : "none found: see --key";
}

function authorityText({ file, verifies }: { file: string; verifies: boolean }): string {
  return verifies
    ? `${file} verifies it`
    : `${file} DOES NOT VERIFY it: another CA issued it, or the CA is not valid now`;
}

/** Node.js puts each part of a distinguished name on a line of its own. */
function oneLine(name: string): string {
  return name.replaceAll("\n", ", ");
}
