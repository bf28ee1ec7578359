/**
 * The node or client that a certificate names, by one URI in its subjectAltName:
 * `holdfast://CLUSTER/node/ID` or `holdfast://CLUSTER/client/NAME`. Each identity has exactly one
 * spelling. This file must not decide whether a certificate is trusted: TLS does that before.
 */
import type { X509Certificate } from "node:crypto";
import { HoldfastError } from "../errors/index.js";
import { NAME_TAG, subjectNamesOf } from "./certificate-parts.js";

/** The node or client that a certificate names. */
export type CertifiedIdentity =
  | { readonly kind: "node"; readonly cluster: string; readonly nodeId: number }
  | { readonly kind: "client"; readonly cluster: string; readonly name: string };

const NODE_ID_MAX = 2 ** 32 - 1;
/** The limit of `clusterName` of a node. */
const CLUSTER_NAME_LENGTH_MAX = 128;
/** The limit of a common name (RFC 5280, Appendix A.1). */
const NAME_LENGTH_MAX = 64;

const SCHEME = /^holdfast:/i;
const FORM = /^holdfast:\/\/([^/]+)\/(node|client)\/([^/]+)$/;
const NODE_ID = /^[1-9][0-9]{0,9}$/;
/** Controls and halves of surrogate pairs. */
const UNFIT = /[\p{Cc}\p{Cs}]/u;
/** Reserved by RFC 3986, and not encoded by `encodeURIComponent`. */
const LEFT_PLAIN = /[!'()*]/g;

/** Throws `INVALID_ARGUMENT` for a name or number beyond the limits. */
export function identityUri(identity: CertifiedIdentity): string {
  requireName(identity.cluster, "cluster's name", CLUSTER_NAME_LENGTH_MAX);
  const cluster = percentEncoded(identity.cluster);
  if (identity.kind === "node") {
    const { nodeId } = identity;
    const isId = Number.isInteger(nodeId) && nodeId >= 1 && nodeId <= NODE_ID_MAX;
    if (!isId) throw invalid(`a node's number is 1 to ${NODE_ID_MAX}, not ${nodeId}`);
    return `holdfast://${cluster}/node/${nodeId}`;
  }
  requireName(identity.name, "client's name", NAME_LENGTH_MAX);
  return `holdfast://${cluster}/client/${percentEncoded(identity.name)}`;
}

/**
 * Returns the node or client that the certificate names, or `undefined` unless it has exactly one URI
 * with the scheme `holdfast`, in exactly the form above. Names of other kinds and URIs with other
 * schemes are ignored. `undefined` for a CA.
 */
export function readCertifiedIdentity(certificate: X509Certificate): CertifiedIdentity | undefined {
  if (certificate.ca) return undefined;
  const uris = (subjectNamesOf(certificate) ?? [])
    .filter(({ tag }) => tag === NAME_TAG.uri)
    .map(({ value }) => Buffer.from(value).toString("latin1"))
    .filter((uri) => SCHEME.test(uri));
  const [uri] = uris;
  return uri === undefined || uris.length > 1 ? undefined : identityIn(uri);
}

/** Throws `INVALID_ARGUMENT`. */
export function requireName(name: string, what: string, lengthMax = NAME_LENGTH_MAX): void {
  const length = [...name].length;
  if (length < 1 || length > lengthMax) {
    throw invalid(`a ${what} has 1 to ${lengthMax} characters, not ${length}`);
  }
  if (UNFIT.test(name)) throw invalid(`a ${what} must not have control characters`);
}

export function percentEncoded(text: string): string {
  return encodeURIComponent(text).replace(
    LEFT_PLAIN,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

export function invalid(message: string): HoldfastError {
  return new HoldfastError("INVALID_ARGUMENT", message);
}

function identityIn(uri: string): CertifiedIdentity | undefined {
  const [, encodedCluster = "", kind, encodedName = ""] = FORM.exec(uri) ?? [];
  const cluster = decoded(encodedCluster);
  const name = decoded(encodedName);
  if (cluster === undefined || name === undefined) return undefined;
  let identity: CertifiedIdentity;
  if (kind === "client") identity = { kind, cluster, name };
  else if (NODE_ID.test(name)) identity = { kind: "node", cluster, nodeId: Number(name) };
  else return undefined;
  try {
    // Another spelling of an identity does not count.
    return identityUri(identity) === uri ? identity : undefined;
  } catch {
    return undefined;
  }
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
