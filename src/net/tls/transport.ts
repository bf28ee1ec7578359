/**
 * TLS of one node: its certificate, the authorities that it trusts, and how its ports and its links
 * to peers use them. Credentials are replaced as a whole and for all uses in the same turn. The
 * users of established connections are then notified and check them again.
 *
 * Where the certificate of the other side counts, sessions must never be resumed: a resumed handshake
 * shows no certificate, so one that has expired or is no longer trusted would be accepted.
 */
import { constants, X509Certificate } from "node:crypto";
import type { ServerOptions } from "node:https";
import { isIP } from "node:net";
import {
  connect,
  createSecureContext,
  type SecureContext,
  type SecureContextOptions,
  type TLSSocket,
} from "node:tls";
import { readCertifiedIdentity } from "../../certificates/index.js";
import { OptionError } from "../../errors/index.js";
import type { NodeId } from "../../raft/index.js";
import { DIAL_OPTIONS } from "../../reach/index.js";
import { quoted } from "../../text/index.js";
import type { PeerAddress } from "../types.js";
import { intermediatesOf, leadsTo } from "./chain.js";
import { type CheckedCredentials, checkCredentials, type TlsCredentials } from "./credentials.js";

export type TlsVersion = "1.2" | "1.3";
/** The ports of a node. */
export type TlsPort = "client" | "peer";

export interface TransportTlsOptions {
  readonly cluster: string;
  readonly nodeId: NodeId;
  readonly minVersion: TlsVersion;
  /** Whether a client without a certificate is refused. */
  readonly requiresClientCert: boolean;
  readonly credentials: TlsCredentials;
  /** Default: the clock of this machine. */
  readonly wallMs?: () => number;
}

/** `trustsLess`: an authority that was trusted before is not trusted any more. */
type TlsListener = (trustsLess: boolean) => void;

interface DialedPeer extends PeerAddress {
  readonly peer: NodeId;
}

export class TransportTls {
  readonly cluster: string;
  readonly nodeId: NodeId;
  readonly requiresClientCert: boolean;
  readonly wallMs: () => number;
  readonly #minVersion: "TLSv1.2" | "TLSv1.3";
  #checked: CheckedCredentials;
  /** For connections that this node dials. */
  #outgoing: SecureContext;
  readonly #listeners = new Set<TlsListener>();

  /** Throws `UNAVAILABLE`, as `checkCredentials`. */
  constructor(options: TransportTlsOptions) {
    this.cluster = options.cluster;
    this.nodeId = options.nodeId;
    this.requiresClientCert = options.requiresClientCert;
    this.wallMs = options.wallMs ?? Date.now;
    this.#minVersion = `TLSv${options.minVersion}`;
    this.#checked = checkCredentials(options.credentials, options, this.wallMs());
    this.#outgoing = this.#contextOf(this.#checked);
  }

  get current(): CheckedCredentials {
    return this.#checked;
  }

  get asksClients(): boolean {
    return this.#checked.given.clientCa !== undefined;
  }

  /** Uses these credentials from now on, or throws `UNAVAILABLE` and keeps the old ones. */
  replace(credentials: TlsCredentials): void {
    const checked = checkCredentials(credentials, this, this.wallMs());
    this.#outgoing = this.#contextOf(checked);
    const trustsLess = isWithout(checked, this.#checked);
    this.#checked = checked;
    for (const listener of this.#listeners) listener(trustsLess);
  }

  /** Calls `listener` after each replacement. @returns a function that ends this */
  onReplaced(listener: TlsListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** For the server of a port. Only the part that `contextOptions` returns can change later. */
  serverOptions(port: TlsPort): ServerOptions {
    const asks = port === "peer" || this.asksClients;
    return {
      ...this.contextOptions(port),
      requestCert: asks,
      rejectUnauthorized: port === "peer" || this.requiresClientCert,
    };
  }

  contextOptions(port: TlsPort): SecureContextOptions {
    const { ca, clientCa } = this.#checked.given;
    // A node that joins reads pages of the client port, and shows the certificate of a node.
    const trusted = port === "peer" || clientCa === undefined ? [ca] : [clientCa, ca];
    const asks = port === "peer" || clientCa !== undefined;
    return {
      ...this.#ownOptions(this.#checked),
      ca: trusted.map(({ text }) => text),
      secureOptions: constants.SSL_OP_NO_RENEGOTIATION | (asks ? constants.SSL_OP_NO_TICKET : 0),
    };
  }

  /** Connects to the peer port of another node, which must prove that it is `peer`. */
  dial({ host, port, peer }: DialedPeer): TLSSocket {
    return connect({
      ...DIAL_OPTIONS,
      host,
      port,
      servername: isIP(host) === 0 ? host : "",
      secureContext: this.#outgoing,
      // Replaces the check of the host name: that would prove nothing about the node.
      checkServerIdentity: (_host, { raw }) => {
        const problem = this.peerProblem(new X509Certificate(raw), peer);
        return problem === undefined ? undefined : new CertificateError(problem);
      },
    });
  }

  /** For pages of other nodes. */
  get pageTls(): { readonly secureContext: SecureContext; readonly hasCertificate: boolean } {
    return { secureContext: this.#outgoing, hasCertificate: true };
  }

  /** Why the certificate does not belong to node `peer`, in words that follow "it". */
  peerProblem(certificate: X509Certificate, peer: NodeId): string | undefined {
    const found = this.nodeOf(certificate);
    if (typeof found === "string") return `has ${found}`;
    return found === peer ? undefined : `has the certificate of node ${found}, not of node ${peer}`;
  }

  /** The node of this cluster that a certificate names, or a text that says whose it is instead. */
  nodeOf(certificate: X509Certificate): NodeId | string {
    const identity = readCertifiedIdentity(certificate);
    if (identity === undefined) return "a certificate that names no node of a cluster";
    if (identity.cluster !== this.cluster) {
      return `a certificate of the cluster ${quoted(identity.cluster)}, not ${quoted(this.cluster)}`;
    }
    return identity.kind === "node" ? identity.nodeId : "the certificate of a client";
  }

  /**
   * Whether the certificate of an established connection would still be accepted on that port. On
   * every port only the authorities of nodes can name a node: authorities of clients are not
   * trusted with what nodes may do, and a handshake on the port of clients accepts both.
   */
  isTrusted(port: TlsPort, certificate: X509Certificate): boolean {
    const { authorities, clientAuthorities } = this.#checked;
    const isOfNodes = port === "peer" || readCertifiedIdentity(certificate)?.kind === "node";
    const trusted = isOfNodes ? authorities : [...clientAuthorities, ...authorities];
    return leadsTo(trusted, certificate, intermediatesOf(certificate), this.wallMs());
  }

  #contextOf(checked: CheckedCredentials): SecureContext {
    const { cert, ca } = checked.given;
    try {
      return createSecureContext({ ...this.#ownOptions(checked), ca: ca.text });
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      throw new OptionError(
        "UNAVAILABLE",
        (say) => `${cert.path} (${say("tlsCert")}) cannot be used: ${why}`,
      );
    }
  }

  #ownOptions({ given }: CheckedCredentials): SecureContextOptions {
    const { cert, key } = given;
    return { cert: cert.text, key: key.text, minVersion: this.#minVersion };
  }
}

/** The dialed peer has a valid certificate that is not the right one. */
export class CertificateError extends Error {
  override readonly name = "CertificateError";
}

/** Whether an authority of `before` is missing in `now`. */
function isWithout(now: CheckedCredentials, before: CheckedCredentials): boolean {
  const isMissing = (authorities: readonly X509Certificate[], former: X509Certificate): boolean =>
    !authorities.some(({ fingerprint256 }) => fingerprint256 === former.fingerprint256);
  return (
    before.authorities.some((former) => isMissing(now.authorities, former)) ||
    before.clientAuthorities.some((former) => isMissing(now.clientAuthorities, former))
  );
}
