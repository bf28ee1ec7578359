/**
 * Makes certificates (RFC 5280) with keys on the curve P-256: a CA that signs itself, and those that
 * it issues for nodes and clients. For development, and for clusters with a CA of their own. It must
 * refuse a CA with any other kind of key, since it can sign only in one way.
 */
import {
  createHash,
  createPrivateKey,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
  sign,
  X509Certificate,
} from "node:crypto";
import { HoldfastError } from "../errors/index.js";
import { EXTENSION, NAME_TAG, partsOf } from "./certificate-parts.js";
import {
  bitString,
  CONTEXT,
  CONTEXT_CONSTRUCTED,
  element,
  elementsIn,
  insideOf,
  objectId,
  sequence,
  TAG,
  time,
  unsignedInteger,
} from "./der.js";
import { hostName } from "./hosts.js";
import { identityUri, invalid, requireName } from "./identity.js";
import { beginMsOf, endMsOf } from "./validity.js";

/** A certificate with its private key (PKCS #8), both as PEM. */
export interface IssuedCertificate {
  readonly certificatePem: string;
  readonly keyPem: string;
}

interface Validity {
  /** From now, 1 to 36,500. A certificate expires no later than its CA. */
  readonly days: number;
  /** Default: the clock of this machine. */
  readonly now?: Date;
}

export interface AuthorityOptions extends Validity {
  /** Shown by tools, 1 to 64 characters. */
  readonly name: string;
}

export interface NodeCertificateOptions extends Validity {
  /** Name of the cluster, as its nodes have it. */
  readonly cluster: string;
  readonly nodeId: number;
  /** The DNS names and IP addresses that clients and the other nodes use for it. */
  readonly hosts: readonly string[];
}

export interface ClientCertificateOptions extends Validity {
  readonly cluster: string;
  /** 1 to 64 characters. */
  readonly name: string;
}

const DAY_MS = 86_400_000;
const DAYS_MAX = 36_500;
/** A new certificate is valid for clocks that are late by less than this. */
const CLOCK_SKEW_MS = 3_600_000;

const CURVE = "prime256v1";
/** All bits but the first are random, so that the number is positive. */
const SERIAL_BYTES = 16;
/** The length of the hash that identifies a key (RFC 7093, 2). */
const KEY_ID_BYTES = 20;

const SIGNATURE_ALGORITHM = sequence(objectId("1.2.840.10045.4.3.2")); // ecdsa-with-SHA256
const COMMON_NAME = objectId("2.5.4.3");
const SERVER_AUTHENTICATION = objectId("1.3.6.1.5.5.7.3.1");
const CLIENT_AUTHENTICATION = objectId("1.3.6.1.5.5.7.3.2");
const TRUE = element(TAG.boolean, Uint8Array.of(0xff));
const VERSION_3 = element(CONTEXT_CONSTRUCTED + 0, unsignedInteger(Uint8Array.of(2)));

/** Values of keyUsage. */
const SIGNS_HANDSHAKES = bitString(Uint8Array.of(0b1000_0000), 7);
const SIGNS_CERTIFICATES = bitString(Uint8Array.of(0b0000_0110), 1);
const CERTIFICATE_SIGNING_BIT = 0b0000_0100;

/** Makes a CA that can issue certificates, but no other CA. Throws `INVALID_ARGUMENT`. */
export function createAuthority({ name, ...validity }: AuthorityOptions): IssuedCertificate {
  requireName(name, "CA's name");
  const key = generateKeyPairSync("ec", { namedCurve: CURVE });
  const subject = distinguishedName(name);
  const { notBefore, notAfter } = lifetime(validity);
  return issue(key, {
    issuer: { subject, key: key.privateKey },
    ...{ subject, notBefore, notAfter },
    extensions: [
      extension(
        EXTENSION.basicConstraints,
        sequence(TRUE, unsignedInteger(Uint8Array.of(0))),
        TRUE,
      ),
      extension(EXTENSION.keyUsage, SIGNS_CERTIFICATES, TRUE),
    ],
  });
}

/** Issues a certificate for a node, which is server and client of TLS. Throws `INVALID_ARGUMENT`. */
export function issueNodeCertificate(
  authority: IssuedCertificate,
  { cluster, nodeId, hosts, ...validity }: NodeCertificateOptions,
): IssuedCertificate {
  const names = [uriName(identityUri({ kind: "node", cluster, nodeId })), ...hosts.map(hostName)];
  const usages = [SERVER_AUTHENTICATION, CLIENT_AUTHENTICATION];
  return issueBy(authority, `node ${nodeId}`, names, usages, validity);
}

/** Issues a certificate for a client, which cannot be a server. Throws `INVALID_ARGUMENT`. */
export function issueClientCertificate(
  authority: IssuedCertificate,
  { cluster, name, ...validity }: ClientCertificateOptions,
): IssuedCertificate {
  const names = [uriName(identityUri({ kind: "client", cluster, name }))];
  return issueBy(authority, name, names, [CLIENT_AUTHENTICATION], validity);
}

/** Issues a certificate with these alternative names and usages. Throws `INVALID_ARGUMENT`. */
export function issueBy(
  authority: IssuedCertificate,
  commonName: string,
  names: readonly Uint8Array[],
  usages: readonly Uint8Array[],
  validity: Validity,
): IssuedCertificate {
  const issuer = openAuthority(authority);
  const { notBefore, notAfter } = lifetime(validity, issuer);
  return issue(generateKeyPairSync("ec", { namedCurve: CURVE }), {
    ...{ issuer, notBefore, notAfter },
    subject: distinguishedName(commonName),
    extensions: [
      extension(EXTENSION.basicConstraints, sequence(), TRUE),
      extension(EXTENSION.keyUsage, SIGNS_HANDSHAKES, TRUE),
      extension(EXTENSION.extendedKeyUsage, sequence(...usages)),
      extension(EXTENSION.subjectAltName, sequence(...names)),
      extension(EXTENSION.authorityKeyId, sequence(element(CONTEXT + 0, issuer.keyId))),
    ],
  });
}

interface Authority {
  /** As an element. */
  readonly subject: Uint8Array;
  readonly key: KeyObject;
  readonly keyId: Uint8Array;
  readonly notBefore: Date;
  readonly notAfter: Date;
}

/** Throws `INVALID_ARGUMENT` if others would not accept certificates of this CA. */
function openAuthority({ certificatePem, keyPem }: IssuedCertificate): Authority {
  const certificate = readable("the CA's certificate", () => new X509Certificate(certificatePem));
  const key = readable("the CA's key", () => createPrivateKey(keyPem));
  if (!certificate.checkPrivateKey(key)) {
    throw uselessAuthority("the CA's key does not fit its certificate: they are of different CAs");
  }
  const parts = partsOf(certificate);
  if (
    !certificate.ca ||
    parts === undefined ||
    !signsCertificates(parts.extension(EXTENSION.keyUsage))
  ) {
    throw uselessAuthority("the certificate given as the CA's must not issue others");
  }
  if (key.asymmetricKeyDetails?.namedCurve !== CURVE) {
    throw uselessAuthority("the CA's key is not on the curve P-256, as one made here would be");
  }
  const [keyId] = elementsIn(parts.extension(EXTENSION.subjectKeyId) ?? Uint8Array.of()) ?? [];
  return {
    ...{ subject: parts.subject, key },
    keyId: keyId?.content ?? keyIdOf(publicKeyBytes(certificate.publicKey)),
    notBefore: new Date(beginMsOf(certificate)),
    notAfter: new Date(endMsOf(certificate)),
  };
}

function signsCertificates(keyUsage: Uint8Array | undefined): boolean {
  if (keyUsage === undefined) return true;
  const [, bits = 0] = elementsIn(keyUsage)?.[0]?.content ?? [];
  return (bits & CERTIFICATE_SIGNING_BIT) !== 0;
}

function readable<T>(what: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw uselessAuthority(`${what} cannot be read: ${why}`, error);
  }
}

/** `details` distinguish it from a wrong argument of another kind. */
function uselessAuthority(message: string, cause?: unknown): HoldfastError {
  return new HoldfastError("INVALID_ARGUMENT", message, {
    cause,
    details: { argument: "authority" },
  });
}

interface Certificate {
  readonly issuer: Pick<Authority, "subject" | "key">;
  readonly subject: Uint8Array;
  readonly notBefore: Date;
  readonly notAfter: Date;
  readonly extensions: readonly Uint8Array[];
}

function issue(
  { publicKey, privateKey }: { readonly publicKey: KeyObject; readonly privateKey: KeyObject },
  { issuer, subject, notBefore, notAfter, extensions }: Certificate,
): IssuedCertificate {
  const spki = publicKeyBytes(publicKey);
  const serial = randomBytes(SERIAL_BYTES);
  serial[0] = (serial[0] ?? 0) & 0x7f;
  const keyId = element(TAG.octetString, keyIdOf(spki));
  const signed = sequence(
    ...[VERSION_3, unsignedInteger(serial), SIGNATURE_ALGORITHM, issuer.subject],
    ...[sequence(time(notBefore), time(notAfter)), subject, spki],
    element(
      CONTEXT_CONSTRUCTED + 3,
      sequence(...extensions, extension(EXTENSION.subjectKeyId, keyId)),
    ),
  );
  const signature = bitString(sign("sha256", signed, issuer.key));
  const certificate = new X509Certificate(sequence(signed, SIGNATURE_ALGORITHM, signature));
  return {
    certificatePem: certificate.toString(),
    keyPem: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
  };
}

/** `issuer`: the CA, within whose lifetime the certificate stays. */
function lifetime(
  { days, now = new Date() }: Validity,
  issuer?: Pick<Authority, "notBefore" | "notAfter">,
): { readonly notBefore: Date; readonly notAfter: Date } {
  if (!Number.isInteger(days) || days < 1 || days > DAYS_MAX) {
    throw invalid(`a certificate is valid for 1 to ${DAYS_MAX} days, not ${days}`);
  }
  const from = now.getTime() - CLOCK_SKEW_MS;
  const until = now.getTime() + days * DAY_MS;
  if (issuer === undefined) return { notBefore: new Date(from), notAfter: new Date(until) };
  const { notBefore, notAfter } = issuer;
  if (notAfter.getTime() <= now.getTime()) {
    throw uselessAuthority(`the CA has expired, at ${notAfter.toISOString()}: make another one`);
  }
  if (notBefore.getTime() > now.getTime()) {
    throw uselessAuthority(
      `the CA is not valid before ${notBefore.toISOString()}: is the clock right?`,
    );
  }
  return {
    notBefore: new Date(Math.max(from, notBefore.getTime())),
    notAfter: new Date(Math.min(until, notAfter.getTime())),
  };
}

function extension(
  id: string,
  value: Uint8Array,
  critical: Uint8Array = Uint8Array.of(),
): Uint8Array {
  return sequence(objectId(id), critical, element(TAG.octetString, value));
}

function distinguishedName(commonName: string): Uint8Array {
  const value = element(TAG.utf8String, Buffer.from(commonName));
  return sequence(element(TAG.set, sequence(COMMON_NAME, value)));
}

function uriName(uri: string): Uint8Array {
  return element(NAME_TAG.uri, Buffer.from(uri));
}

/** The SubjectPublicKeyInfo. */
function publicKeyBytes(key: KeyObject): Uint8Array {
  return key.export({ type: "spki", format: "der" });
}

/** SHA-256 over the bits of the key, cut to the length of SHA-1 (RFC 7093, 2, method 1). */
function keyIdOf(spki: Uint8Array): Uint8Array {
  const bits = insideOf(spki, TAG.sequence)?.[1]?.content.subarray(1) ?? spki;
  return createHash("sha256").update(bits).digest().subarray(0, KEY_ID_BYTES);
}
