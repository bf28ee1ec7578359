/**
 * Why a TLS connection failed, in words for the log that follow the name of the other side. Errors
 * that are not about TLS have no words here.
 */

/** What OpenSSL finds wrong with the certificate of the other side. */
const CERTIFICATE_PROBLEMS: Readonly<Record<string, string>> = Object.freeze({
  CERT_HAS_EXPIRED: "has expired",
  CERT_NOT_YET_VALID: "is not valid yet: is a clock wrong?",
  INVALID_PURPOSE: "is not meant for this use (extendedKeyUsage)",
  CERT_SIGNATURE_FAILURE: "has a signature that is not its authority's",
  DEPTH_ZERO_SELF_SIGNED_CERT: "is of no authority",
  SELF_SIGNED_CERT_IN_CHAIN: "is of another authority",
  UNABLE_TO_GET_ISSUER_CERT: "is of another authority",
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: "is of another authority",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: "is of another authority",
});

/** What ended a handshake, by the code of its error. */
const HANDSHAKE_PROBLEMS: Readonly<Record<string, string>> = Object.freeze({
  ERR_SSL_HTTP_REQUEST: "spoke plain text: this port speaks TLS (wss://, https://)",
  ERR_SSL_UNSUPPORTED_PROTOCOL: "speaks no version of TLS that this node allows (tlsMinVersion)",
  ERR_SSL_PEER_DID_NOT_RETURN_A_CERTIFICATE: "showed no certificate",
  ERR_TLS_HANDSHAKE_TIMEOUT: "did not finish its TLS handshake in time",
});
const ALERT_OF_VERSION = "ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION";
/** OpenSSL has read plain text as if it were TLS. */
const NO_TLS: ReadonlySet<string> = new Set([
  "ERR_SSL_WRONG_VERSION_NUMBER",
  "ERR_SSL_PACKET_LENGTH_TOO_LONG",
]);
const ALERT_OF_CERTIFICATE = /_ALERT_(?:UNKNOWN_CA|(?:BAD_)?CERTIFICATE)/;

/** The reason in the message of an error whose code is the system's. */
const OPENSSL_REASON = /SSL routines:[^:]*:([^:]+):/;

/** The code of OpenSSL's reason, or the code of the system. */
function codeOf({ code = "", message }: NodeJS.ErrnoException): string {
  const reason = code === "EPROTO" ? OPENSSL_REASON.exec(message)?.[1] : undefined;
  return reason === undefined ? code : `ERR_SSL_${reason.toUpperCase().replaceAll(" ", "_")}`;
}

/** For example `has expired`. */
export function certificateProblem(code: string): string {
  return CERTIFICATE_PROBLEMS[code] ?? `is not accepted (${code})`;
}

/** What the dialing side did wrong; `undefined` if it only closed the connection. */
export function incomingProblem(error: Error): string | undefined {
  const code = codeOf(error);
  const known = HANDSHAKE_PROBLEMS[code];
  if (known !== undefined) return known;
  if (NO_TLS.has(code)) return "spoke plain text: this port speaks TLS (wss://, https://)";
  if (ALERT_OF_CERTIFICATE.test(code)) return "does not accept the certificate of this node";
  return code.startsWith("ERR_SSL_") ? `did not agree on TLS with this node (${code})` : undefined;
}

/** What is wrong with the dialed side; `undefined` for errors that are not about TLS. */
export function outgoingProblem(error: Error): string | undefined {
  const code = codeOf(error);
  if (code in CERTIFICATE_PROBLEMS) return `has a certificate that ${certificateProblem(code)}`;
  if (NO_TLS.has(code)) return "speaks plain text, and this node TLS";
  if (code === ALERT_OF_VERSION) return "allows no version of TLS that this node speaks";
  if (ALERT_OF_CERTIFICATE.test(code)) return "does not accept the certificate of this node";
  return code.startsWith("ERR_SSL_") ? `did not agree on TLS with this node (${code})` : undefined;
}
