/**
 * Says why a TLS handshake with a node failed, and what to do: turns codes of Node.js and OpenSSL into
 * a sentence that follows the name of the node. For Node only. Text from the other side must leave
 * this file as visible characters only.
 */
import { printable } from "../text/index.js";

/** What was dialled, and whether with a certificate of this client. */
export interface DialledWith {
  readonly isSecure: boolean;
  readonly host: string;
  readonly hasCertificate: boolean;
}

interface DialError extends Error {
  readonly code?: string;
  /** The certificate, if it is for other hosts. */
  readonly cert?: { readonly subjectaltname?: string };
}

const UNKNOWN_CA =
  "its certificate is from a CA that is not trusted here: give the CA of the cluster (ca)";
const WRONG_CLOCK = "renew it, or set the clock of this machine";
const NO_TLS = "it does not speak TLS: is this its port for clients? A port without TLS is ws://";

const CERTIFICATE_PROBLEMS: Readonly<Record<string, string>> = Object.freeze({
  CERT_HAS_EXPIRED: `its certificate or its CA's has expired: ${WRONG_CLOCK}`,
  CERT_NOT_YET_VALID: `its certificate or its CA's is not valid yet: ${WRONG_CLOCK}`,
  CERT_SIGNATURE_FAILURE: UNKNOWN_CA,
  DEPTH_ZERO_SELF_SIGNED_CERT: UNKNOWN_CA,
  SELF_SIGNED_CERT_IN_CHAIN: UNKNOWN_CA,
  UNABLE_TO_GET_ISSUER_CERT: UNKNOWN_CA,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: UNKNOWN_CA,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: UNKNOWN_CA,
  INVALID_PURPOSE: "its certificate is not for servers, so it does not belong to a node",
});

/** The first that matches counts. */
const HANDSHAKE_PROBLEMS: readonly (readonly [RegExp, string])[] = [
  [/certificate[ _]required/i, "it wants a certificate of this client (cert, key)"],
  [/alert[ _]unknown[ _]ca/i, "it does not trust the CA of this client's certificate (cert)"],
  [/alert[ _](?:bad[ _])?certificate/i, "it refuses the certificate of this client (cert)"],
  [
    /protocol[ _]version|unsupported[ _]protocol/i,
    "it supports no version of TLS that is allowed here",
  ],
  [/wrong[ _]version[ _]number|packet[ _]length[ _]too[ _]long/i, NO_TLS],
];

const SHOWN_LENGTH_MAX = 200;
const CLOSED: ReadonlySet<string> = new Set(["ECONNRESET", "EPIPE"]);
const CERTIFICATE_ALERT = /alert[ _](?:unknown[ _]ca|(?:bad[ _])?certificate)/i;

/** Whether the node ended the handshake as it does for a certificate that it does not accept. */
export function endsHandshake(error: Error): boolean {
  const { code = "", message } = error as DialError;
  return CLOSED.has(code) || CERTIFICATE_ALERT.test(`${code} ${message}`);
}

/** `undefined` if the error has nothing to do with TLS. */
export function handshakeProblem(error: Error, dialled: DialledWith): string | undefined {
  const { code = "", message, cert } = error as DialError;
  if (CLOSED.has(code)) return closedText(dialled);
  if (!dialled.isSecure) return undefined;
  if (code === "ERR_TLS_CERT_ALTNAME_INVALID") {
    const names = printable((cert?.subjectaltname ?? "no host").slice(0, SHOWN_LENGTH_MAX));
    return `its certificate is not for ${dialled.host}, but for ${names}`;
  }
  const known = CERTIFICATE_PROBLEMS[code];
  if (known !== undefined) return known;
  const isOfTls = code === "EPROTO" || code.startsWith("ERR_SSL_");
  if (!isOfTls) return undefined;
  const [, found] = HANDSHAKE_PROBLEMS.find(([sign]) => sign.test(`${code} ${message}`)) ?? [];
  return found ?? `its TLS handshake failed (${code})`;
}

/** A server that expects TLS, or another certificate, often closes without a reason. */
function closedText({ isSecure, hasCertificate }: DialledWith): string {
  let why = "if it speaks TLS, its endpoint begins with wss://";
  if (isSecure && hasCertificate) why = "it may not accept the certificate of this client (cert)";
  else if (isSecure) why = "it may want a certificate of this client (cert, key)";
  return `it closed the connection without an answer; ${why}`;
}
