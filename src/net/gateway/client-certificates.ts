/**
 * The identities of clients by their certificates, and which requests are refused because of them.
 * Used only with TLS. What an identity may do is not decided here.
 *
 * If certificates are not required, a bad one is refused by an HTTP answer that says why, because TLS
 * alerts say little.
 */
import type { Duplex } from "node:stream";
import type { TLSSocket } from "node:tls";
import { readCertifiedIdentity } from "../../certificates/index.js";
import type { NodeId } from "../../raft/index.js";
import { quoted } from "../../text/index.js";
import type { RequestRefusal } from "../listen.js";
import type { ShownCertificate } from "../tls/secure-port.js";
import type { TransportTls } from "../tls/transport.js";

interface Standing {
  /** The name in the certificate. */
  readonly name?: string;
  /** Why pages and clients are refused. */
  readonly refusal?: string;
  /**
   * Another node of the cluster, by an authority of nodes: as a member it can read pages, as it does
   * to join. It is not a client.
   */
  readonly node?: NodeId;
}

const ANONYMOUS: Standing = Object.freeze({});

export class ClientCertificates {
  readonly #tls: TransportTls;
  readonly #tell: (line: string) => void;
  readonly #standings = new WeakMap<Duplex, Standing>();

  constructor(tls: TransportTls, tell: (line: string) => void) {
    this.#tls = tls;
    this.#tell = tell;
  }

  meet(socket: TLSSocket, shown: ShownCertificate | undefined): void {
    const standing = this.#judge(shown);
    this.#standings.set(socket, standing);
    const { refusal } = standing;
    if (refusal !== undefined) this.#tell(`${socket.remoteAddress} ${refusal}`);
  }

  /** The name of the client, if it has shown one. */
  nameOf(socket: Duplex): string | undefined {
    return this.#standings.get(socket)?.name;
  }

  /** The node of the cluster whose certificate it has shown, member or not. */
  nodeOf(socket: Duplex): NodeId | undefined {
    return this.#standings.get(socket)?.node;
  }

  judgePage(socket: Duplex): RequestRefusal | undefined {
    const { refusal } = this.#standings.get(socket) ?? { refusal: "was not seen" };
    return refusal === undefined ? undefined : forbidden(`this client ${refusal}`);
  }

  judgeClient(socket: Duplex): RequestRefusal | undefined {
    return this.nodeOf(socket) !== undefined
      ? forbidden("the certificate of a node is not a client's")
      : this.judgePage(socket);
  }

  #judge(shown: ShownCertificate | undefined): Standing {
    if (shown === undefined) {
      return this.#tls.requiresClientCert ? { refusal: "showed no certificate" } : ANONYMOUS;
    }
    const { certificate, problem } = shown;
    if (problem !== undefined) return { refusal: problem };
    const identity = readCertifiedIdentity(certificate);
    const { cluster } = this.#tls;
    if (identity === undefined) {
      return { refusal: "has a certificate that names no client of a cluster" };
    }
    if (identity.cluster !== cluster) {
      const found = quoted(identity.cluster);
      return { refusal: `has a certificate for the cluster ${found}, not ${quoted(cluster)}` };
    }
    if (identity.kind === "client") return { name: identity.name };
    if (this.#tls.isTrusted("client", certificate)) return { node: identity.nodeId };
    return { refusal: `names node ${identity.nodeId}, but no authority of nodes signed it` };
  }
}

function forbidden(text: string): RequestRefusal {
  return { status: 403, code: "FORBIDDEN", text };
}
