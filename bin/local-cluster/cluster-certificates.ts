/**
 * The certificates of a local cluster with TLS: a private CA, and what it has issued for each node and
 * for clients, in `certs` in the directory of the cluster, under the names that `holdfast cert` gives.
 * The first start with TLS makes them, and later starts use them again.
 *
 * All files are checked before any is written. Only a certificate that has expired or soon will is
 * replaced; a file that is damaged or of another cluster must never be overwritten.
 */
import { createPrivateKey, X509Certificate } from "node:crypto";
import { join, resolve } from "node:path";
import { isDeepStrictEqual } from "node:util";
import {
  createAuthority,
  endMsOf,
  hasIssued,
  type IssuedCertificate,
  issueClientCertificate,
  issueNodeCertificate,
  readCertifiedIdentity,
} from "../../src/certificates/index.js";
import { HoldfastError } from "../../src/errors/index.js";
import type { TlsOptions } from "../../src/index.js";
import { EXIT } from "../exit/exit-codes.js";
import { Failure } from "../exit/failure.js";
import { AUTHORITY_DAYS, ISSUED_DAYS, LOCAL_HOSTS } from "../options/certificate-options.js";
import { pemPathsOf, readIfThere, savePemPair } from "../output/pem-pair.js";
import type { ClusterPlan } from "./cluster-plan.js";

const DIRECTORY = "certs";
const AUTHORITY = "ca";
const CLIENT_NAME = "local";
const CLIENT = `client-${CLIENT_NAME}`;
const RENEWED_DAYS_BEFORE = 30;
const DAY_MS = 86_400_000;

/** The files of a client, as absolute paths: it may run in another directory. */
export interface ClientFiles {
  readonly ca: string;
  readonly cert: string;
  readonly certKey: string;
}

/** A certificate that the CA issues. */
interface Role {
  /** The name of its files, without `.crt` and `.key`. */
  readonly name: string;
  /** What a good one names. */
  readonly identity: NonNullable<ReturnType<typeof readCertifiedIdentity>>;
  issue(authority: IssuedCertificate): IssuedCertificate;
}

export class ClusterCertificates {
  readonly #directory: string;
  readonly #roles: readonly Role[];
  /** The CA and what it has issued, by name, as far as there are files. */
  readonly #pairs: Map<string, IssuedCertificate>;

  private constructor(
    directory: string,
    roles: readonly Role[],
    pairs: Map<string, IssuedCertificate>,
  ) {
    this.#directory = directory;
    this.#roles = roles;
    this.#pairs = pairs;
  }

  /** Reads and checks what is there. Writes nothing; rejects with a `Failure` for wrong files. */
  static async open(plan: ClusterPlan): Promise<ClusterCertificates> {
    const directory = join(plan.directory, DIRECTORY);
    const roles = rolesOf(plan);
    const pairs = new Map<string, IssuedCertificate>();
    const authority = await readAuthority(directory);
    if (authority !== undefined) pairs.set(AUTHORITY, authority);
    for (const role of roles) {
      const pair = await readIssued(directory, role, authority);
      if (pair !== undefined) pairs.set(role.name, pair);
    }
    return new ClusterCertificates(directory, roles, pairs);
  }

  /**
   * Makes what is missing, and again what expires soon. Resolves to the certificates that were
   * replaced.
   */
  async complete(): Promise<string[]> {
    const nowMs = Date.now();
    const found = new Map(this.#pairs);
    const replaced: string[] = [];
    const make = async (name: string, issue: () => IssuedCertificate) => {
      const pair = explained(issue);
      const paths = pemPathsOf(join(this.#directory, name));
      await savePemPair(paths, pair, found.has(name));
      if (found.has(name)) replaced.push(paths.certificate);
      this.#pairs.set(name, pair);
      return pair;
    };
    const former = found.get(AUTHORITY);
    const keeps = former !== undefined && !isOld(former, nowMs);
    const authority = keeps ? former : await make(AUTHORITY, newAuthority);
    for (const { name, issue } of this.#roles) {
      const pair = found.get(name);
      // A new CA does not verify what the old one has issued.
      if (pair !== undefined && keeps && !isOld(pair, nowMs)) continue;
      await make(name, () => issue(authority));
    }
    return replaced;
  }

  get clientFiles(): ClientFiles {
    const { certificate: cert, key: certKey } = pemPathsOf(resolve(this.#directory, CLIENT));
    return { ca: pemPathsOf(resolve(this.#directory, AUTHORITY)).certificate, cert, certKey };
  }

  /**
   * To read the pages of the nodes, as one of them: a secured cluster shows its pages to nodes. Empty if
   * there are no files yet.
   */
  get access(): TlsOptions {
    const [authority, own] = [this.#pairs.get(AUTHORITY), this.#pairs.get(nodeName(1))];
    if (authority === undefined || own === undefined) return {};
    return { ca: authority.certificatePem, cert: own.certificatePem, key: own.keyPem };
  }

  serverArguments(nodeId: number): string[] {
    const { certificate, key } = pemPathsOf(resolve(this.#directory, nodeName(nodeId)));
    const { ca } = this.clientFiles;
    const own = [`--tls-cert=${certificate}`, `--tls-key=${key}`];
    return [...own, `--tls-ca=${ca}`, `--client-ca=${ca}`];
  }
}

function newAuthority(): IssuedCertificate {
  return createAuthority({ name: "CA of a local cluster", days: AUTHORITY_DAYS });
}

function rolesOf({ clusterName: cluster, nodes }: ClusterPlan): Role[] {
  const days = ISSUED_DAYS;
  const client = { cluster, name: CLIENT_NAME };
  return [
    ...nodes.map(({ id: nodeId }): Role => {
      const options = { cluster, nodeId, hosts: LOCAL_HOSTS, days };
      return {
        name: nodeName(nodeId),
        identity: { kind: "node", cluster, nodeId },
        issue: (authority) => issueNodeCertificate(authority, options),
      };
    }),
    {
      name: CLIENT,
      identity: { kind: "client", ...client },
      issue: (authority) => issueClientCertificate(authority, { ...client, days }),
    },
  ];
}

function nodeName(nodeId: number): string {
  return `node-${nodeId}`;
}

function readAuthority(directory: string): Promise<IssuedCertificate | undefined> {
  const advice = `restore it, or delete ${directory} to have all certificates made again`;
  return readPair(join(directory, AUTHORITY), advice, (certificate) =>
    certificate.ca ? undefined : "is not the certificate of a CA",
  );
}

async function readIssued(
  directory: string,
  { name, identity }: Role,
  authority: IssuedCertificate | undefined,
): Promise<IssuedCertificate | undefined> {
  const path = join(directory, name);
  const { certificate: file, key } = pemPathsOf(path);
  const advice = `restore it, or delete ${file} and ${key} to have them made again`;
  const pair = await readPair(path, advice, (certificate) => {
    if (!isDeepStrictEqual(readCertifiedIdentity(certificate), identity)) {
      const whose = identity.kind === "node" ? `node ${identity.nodeId}` : "the client";
      return `is not the certificate of ${whose} of this cluster`;
    }
    if (authority === undefined) return undefined;
    const isOurs = hasIssued(new X509Certificate(authority.certificatePem), certificate);
    return isOurs ? undefined : "was not issued by the CA next to it";
  });
  if (pair === undefined || authority !== undefined) return pair;
  const ca = pemPathsOf(join(directory, AUTHORITY));
  throw new Failure(
    EXIT.failed,
    `${ca.certificate} is missing, which issued ${file}: restore it and ${ca.key}, ` +
      `or delete ${directory} to have all certificates made again`,
  );
}

/** `problemOf` answers in words that follow the name of the file. */
async function readPair(
  path: string,
  advice: string,
  problemOf: (certificate: X509Certificate) => string | undefined,
): Promise<IssuedCertificate | undefined> {
  const paths = pemPathsOf(path);
  const certificatePem = await readIfThere(paths.certificate);
  const keyPem = await readIfThere(paths.key);
  if (certificatePem === undefined && keyPem === undefined) return undefined;
  const wrong = (file: string, what: string): Failure =>
    new Failure(EXIT.failed, `${file} ${what}: ${advice}`);
  if (certificatePem === undefined) throw wrong(paths.certificate, "is missing");
  if (keyPem === undefined) throw wrong(paths.key, "is missing");
  const certificate = readable(() => new X509Certificate(certificatePem));
  if (certificate === undefined) throw wrong(paths.certificate, "is damaged");
  const key = readable(() => createPrivateKey(keyPem));
  if (key === undefined) throw wrong(paths.key, "is damaged");
  if (!certificate.checkPrivateKey(key)) {
    throw wrong(paths.key, `is not the key of ${paths.certificate}`);
  }
  const problem = problemOf(certificate);
  if (problem !== undefined) throw wrong(paths.certificate, problem);
  return { certificatePem, keyPem };
}

function readable<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}

function isOld({ certificatePem }: IssuedCertificate, nowMs: number): boolean {
  return endMsOf(new X509Certificate(certificatePem)) - nowMs < RENEWED_DAYS_BEFORE * DAY_MS;
}

/** The CA may be one that can issue no certificate, as one that is not valid yet. */
function explained<T>(issue: () => T): T {
  try {
    return issue();
  } catch (error) {
    if (!(error instanceof HoldfastError)) throw error;
    throw new Failure(EXIT.failed, error.message, { cause: error });
  }
}
