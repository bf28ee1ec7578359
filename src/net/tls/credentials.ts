/**
 * The certificate and key of a node and the authorities that it trusts. They are checked at the start
 * and before they replace others, so that the other nodes accept what is accepted here. Every refusal
 * is a sentence that names the file and says what to do. It must never contain any part of a key.
 */
import { createPrivateKey, type KeyObject, type X509Certificate } from "node:crypto";
import {
  beginMsOf,
  endMsOf,
  isInTime,
  percentEncoded,
  readCertificates,
  readCertifiedIdentity,
} from "../../certificates/index.js";
import { HoldfastError, OptionError, type SayOption } from "../../errors/index.js";
import type { NodeId } from "../../raft/index.js";
import { quoted } from "../../text/index.js";
import { leadsTo } from "./chain.js";

/** A PEM file as it was read. */
export interface TlsFile {
  readonly path: string;
  readonly text: string;
}

export interface TlsCredentials {
  /** The certificate of this node, with intermediate certificates after it. */
  readonly cert: TlsFile;
  readonly key: TlsFile;
  /** The authorities of the cluster's nodes. */
  readonly ca: TlsFile;
  /** The authorities of clients; `undefined`: clients are not asked for certificates. */
  readonly clientCa: TlsFile | undefined;
}

export interface CheckedCredentials {
  readonly given: TlsCredentials;
  readonly certificate: X509Certificate;
  readonly authorities: readonly X509Certificate[];
  readonly clientAuthorities: readonly X509Certificate[];
}

export interface NodeName {
  readonly cluster: string;
  readonly nodeId: NodeId;
}

const SERVER_AUTH = "1.3.6.1.5.5.7.3.1";
const CLIENT_AUTH = "1.3.6.1.5.5.7.3.2";

/** Throws `UNAVAILABLE`, whatever the files contain. */
export function checkCredentials(
  given: TlsCredentials,
  name: NodeName,
  nowMs: number,
): CheckedCredentials {
  try {
    return check(given, name, nowMs);
  } catch (error) {
    if (error instanceof HoldfastError) throw error;
    throw wrong(given.cert, "tlsCert", `cannot be used (${textOf(error)})`);
  }
}

function check(given: TlsCredentials, name: NodeName, nowMs: number): CheckedCredentials {
  const [certificate, ...intermediates] = certificatesIn(given.cert, "tlsCert");
  if (certificate === undefined) throw wrong(given.cert, "tlsCert", "has no certificate");
  const authorities = authoritiesIn(given.ca, "tlsCa", nowMs);
  const { clientCa } = given;
  const clientAuthorities =
    clientCa === undefined ? [] : authoritiesIn(clientCa, "clientCa", nowMs);
  checkTime(given.cert, certificate, nowMs);
  checkName(given.cert, certificate, name);
  checkUse(given.cert, certificate);
  if (!certificate.checkPrivateKey(keyIn(given.key))) {
    throw wrong(
      given.key,
      "tlsKey",
      `is not the key of the certificate in ${given.cert.path}: give the pair that was made together`,
    );
  }
  if (!leadsTo(authorities, certificate, intermediates, nowMs)) {
    throw wrong(
      given.cert,
      "tlsCert",
      (say) =>
        `was not issued by an authority in ${given.ca.path} (${say("tlsCa")}): ` +
        "the other nodes would refuse it",
    );
  }
  return { given, certificate, authorities, clientAuthorities };
}

function certificatesIn(file: TlsFile, option: string): X509Certificate[] {
  let found: X509Certificate[];
  try {
    found = readCertificates(file.text);
  } catch (error) {
    throw wrong(file, option, `has a certificate that cannot be read (${textOf(error)})`);
  }
  if (found.length > 0) return found;
  throw wrong(file, option, "has no certificate: a PEM file is needed (BEGIN CERTIFICATE)");
}

/** At least one of them must be valid now. */
function authoritiesIn(file: TlsFile, option: string, nowMs: number): X509Certificate[] {
  const found = certificatesIn(file, option);
  const [first] = found;
  if (first === undefined || found.some((one) => one.ca && isInTime(one, nowMs))) return found;
  if (!found.some((one) => one.ca)) {
    throw wrong(file, option, "has no certificate of an authority (CA:TRUE)");
  }
  checkTime(file, first, nowMs);
  throw wrong(file, option, "has no authority that is valid now");
}

function checkTime(file: TlsFile, certificate: X509Certificate, nowMs: number): void {
  const clock = `the clock of this machine says ${dateText(nowMs)}`;
  const endMs = endMsOf(certificate);
  if (nowMs >= endMs) {
    throw refusal(
      `the certificate in ${file.path} expired at ${dateText(endMs)}, and ${clock}: ` +
        "make a new one, or set the clock",
    );
  }
  const beginMs = beginMsOf(certificate);
  if (nowMs >= beginMs) return;
  throw refusal(
    `the certificate in ${file.path} is not valid before ${dateText(beginMs)}, and ${clock}: ` +
      "set the clock, or make a certificate that is valid now",
  );
}

function checkName(file: TlsFile, certificate: X509Certificate, name: NodeName): void {
  const identity = readCertifiedIdentity(certificate);
  const needed = `holdfast://${percentEncoded(name.cluster)}/node/${name.nodeId}`;
  const isOf = (whom: (say: SayOption) => string): OptionError =>
    new OptionError(
      "UNAVAILABLE",
      (say) => `the certificate in ${file.path} belongs to ${whom(say)}: this node needs ${needed}`,
    );
  if (identity === undefined) {
    throw wrong(
      file,
      "tlsCert",
      `names no node of a cluster: it needs the URI ${needed} as an alternative name, ` +
        "and no other that begins with holdfast:",
    );
  }
  if (identity.kind === "client") throw isOf(() => `the client ${quoted(identity.name)}`);
  if (identity.cluster !== name.cluster) {
    throw isOf(
      (say) => `a node of the cluster ${quoted(identity.cluster)} (${say("clusterName")})`,
    );
  }
  if (identity.nodeId !== name.nodeId) throw isOf(() => `node ${identity.nodeId}`);
}

/** A node uses its certificate as a server and, when it dials a peer, as a client. */
function checkUse(file: TlsFile, certificate: X509Certificate): void {
  const uses: readonly string[] | undefined = certificate.keyUsage;
  if (uses === undefined || (uses.includes(SERVER_AUTH) && uses.includes(CLIENT_AUTH))) return;
  throw wrong(
    file,
    "tlsCert",
    "does not allow both uses that a node has for it: its extendedKeyUsage must name " +
      "serverAuth and clientAuth, or be left out",
  );
}

function keyIn(file: TlsFile): KeyObject {
  try {
    return createPrivateKey(file.text);
  } catch (error) {
    const isEncrypted = file.text.includes("ENCRYPTED");
    throw wrong(
      file,
      "tlsKey",
      isEncrypted
        ? "is encrypted, and a node cannot ask for a passphrase: decrypt it, and let only the " +
            "user of the node read it"
        : `has no private key in PEM (${textOf(error)})`,
    );
  }
}

function wrong(
  file: TlsFile,
  option: string,
  what: string | ((say: SayOption) => string),
): OptionError {
  return new OptionError("UNAVAILABLE", (say) => {
    return `${file.path} (${say(option)}) ${typeof what === "string" ? what : what(say)}`;
  });
}

function refusal(message: string): HoldfastError {
  return new HoldfastError("UNAVAILABLE", message);
}

function dateText(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 16).replace("T", " ")} UTC`;
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
