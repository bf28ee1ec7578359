/** Clusters of real nodes under mutual TLS: the files of each node, and the certificates of clients. */
import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createSecureContext } from "node:tls";
import {
  type IssuedCertificate,
  issueClientCertificate,
  issueNodeCertificate,
} from "../../../src/certificates/index.js";

const CLUSTER = "prod";
const DAYS = { days: 30 };

export function clientOf(authority: IssuedCertificate): IssuedCertificate {
  return issueClientCertificate(authority, { cluster: CLUSTER, name: "worker", ...DAYS });
}

export function nodeOf(authority: IssuedCertificate, nodeId: number): IssuedCertificate {
  const hosts = ["127.0.0.1"];
  return issueNodeCertificate(authority, { cluster: CLUSTER, nodeId, hosts, ...DAYS });
}

/** What a connection shows, and whom it trusts. */
export function credentialsOf({ certificatePem, keyPem }: IssuedCertificate, ca: string) {
  return { ca, cert: certificatePem, key: keyPem };
}

/** With these the cluster of a test is asked how it is. */
export function observerTls(own: IssuedCertificate, ca: string) {
  return { secureContext: createSecureContext(credentialsOf(own, ca)), hasCertificate: true };
}

export class NodeCertificates {
  readonly directory = mkdtempSync(join(tmpdir(), "holdfast-tls-"));

  /** Require certificates from clients too, by the same authorities. */
  argumentsOf(id: number): readonly string[] {
    const at = (name: string): string => join(this.directory, `${id}`, name);
    return [
      ...[`--cluster-name=${CLUSTER}`, "--require-client-cert", `--client-ca=${at("ca")}`],
      ...[`--tls-cert=${at("cert")}`, `--tls-key=${at("key")}`, `--tls-ca=${at("ca")}`],
    ];
  }

  /** A node that runs reads them when it is told to. */
  write(id: number, own: IssuedCertificate, ca: string): void {
    const directory = join(this.directory, `${id}`);
    mkdirSync(directory, { recursive: true });
    for (const [name, text] of Object.entries(credentialsOf(own, ca))) {
      writeFileSync(join(directory, `${name}.new`), text);
      renameSync(join(directory, `${name}.new`), join(directory, name));
    }
  }

  remove(): void {
    rmSync(this.directory, { recursive: true, force: true });
  }
}
