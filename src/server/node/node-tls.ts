/**
 * The TLS files of a node, which are read at the start and again when they change. They may be
 * written one after the other, or together by changing a symbolic link, as Kubernetes does. So their
 * directories are watched, and after a pause in the changes all files are read and used together or
 * not at all. Bad files must never replace good credentials.
 */
import { type FSWatcher, watch } from "node:fs";
import { readFile } from "node:fs/promises";
import { isIP } from "node:net";
import { dirname } from "node:path";
import { endMsOf } from "../../certificates/index.js";
import { HoldfastError, OptionError } from "../../errors/index.js";
import { type TlsCredentials, TransportTls } from "../../net/index.js";
import type { TlsStatus } from "../pages/metrics.js";
import type { NodeLogger } from "../ports.js";
import { CertificateWarnings } from "./certificate-warnings.js";
import type { ResolvedTls } from "./resolve-options.js";

/** The pause after the last change in a directory, in which a pair of files is surely complete. */
const QUIET_MS = 1_000;
/** Some file systems do not report changes; and certificates expire. */
const LOOK_MS = 60_000;

const FILE_PROBLEMS: Readonly<Record<string, string>> = Object.freeze({
  ENOENT: "it does not exist",
  EACCES: "permission denied",
  EPERM: "permission denied",
  EISDIR: "it is a directory",
  ENOTDIR: "a part of the path is not a directory",
  ELOOP: "too many symbolic links",
});

export class NodeTls {
  readonly transport: TransportTls;
  readonly #files: ResolvedTls;
  readonly #advertisedHost: string;
  readonly #log: NodeLogger;
  readonly #warnings: CertificateWarnings;
  readonly #watchers: FSWatcher[] = [];
  #look: NodeJS.Timeout | undefined;
  #quiet: NodeJS.Timeout | undefined;
  #reloading: Promise<void> = Promise.resolve();
  /** The last refusal, which is not logged again. */
  #refused = "";
  #reloadsDone = 0;
  #reloadsRefused = 0;

  private constructor(
    files: ResolvedTls,
    transport: TransportTls,
    advertisedHost: string,
    log: NodeLogger,
  ) {
    this.#files = files;
    this.#advertisedHost = advertisedHost;
    this.transport = transport;
    this.#log = log;
    this.#warnings = new CertificateWarnings(log);
  }

  /** Rejects with `UNAVAILABLE` for files that cannot be read or used; one sentence says why. */
  static async load(
    files: ResolvedTls,
    nodeId: number,
    advertisedHost: string,
    log: NodeLogger,
  ): Promise<NodeTls> {
    const { cluster, minVersion, requiresClientCert } = files;
    const credentials = await readCredentials(files);
    const options = { cluster, nodeId, minVersion, requiresClientCert, credentials };
    return new NodeTls(files, new TransportTls(options), advertisedHost, log);
  }

  /** Follows the files from now on, until `close`. */
  follow(): void {
    const { cert, key, ca, clientCa } = this.#files;
    const paths = [cert, key, ca, ...(clientCa === undefined ? [] : [clientCa])];
    for (const directory of new Set(paths.map((path) => dirname(path)))) this.#watch(directory);
    this.#look = setInterval(() => void this.#reload(false), LOOK_MS).unref();
    this.#warn();
    this.#warnOfHost();
  }

  /** Reads the files now, because an operator asked for it. */
  reload(): Promise<void> {
    return this.#reload(true);
  }

  get status(): TlsStatus {
    return {
      reloadsDone: this.#reloadsDone,
      reloadsRefused: this.#reloadsRefused,
      certificateEndsAt: endMsOf(this.transport.current.certificate) / 1_000,
    };
  }

  close(): void {
    clearInterval(this.#look);
    clearTimeout(this.#quiet);
    for (const watcher of this.#watchers) watcher.close();
  }

  #watch(directory: string): void {
    const onChange = (): void => {
      clearTimeout(this.#quiet);
      this.#quiet = setTimeout(() => void this.#reload(false), QUIET_MS).unref();
    };
    try {
      const watcher = watch(directory, { persistent: false }, onChange);
      watcher.on("error", (error) => this.#cannotWatch(directory, error));
      this.#watchers.push(watcher);
    } catch (error) {
      this.#cannotWatch(directory, error);
    }
  }

  #cannotWatch(directory: string, error: unknown): void {
    const lookMs = LOOK_MS;
    this.#log("warn", "the TLS files cannot be watched, and are read at intervals instead", {
      directory,
      lookMs,
      error,
    });
  }

  /** One at a time. `isAsked`: log the result even if nothing has changed. */
  #reload(isAsked: boolean): Promise<void> {
    this.#reloading = this.#reloading.then(() => this.#reloadNow(isAsked));
    return this.#reloading;
  }

  async #reloadNow(isAsked: boolean): Promise<void> {
    try {
      const credentials = await readCredentials(this.#files);
      if (isSame(credentials, this.transport.current.given)) {
        this.#refused = "";
        if (isAsked) this.#log("info", "the TLS files have not changed");
      } else {
        this.transport.replace(credentials);
        this.#refused = "";
        this.#reloadsDone += 1;
        this.#log("info", "TLS files reloaded", { expires: this.#expiry() });
        this.#warnOfHost();
      }
    } catch (error) {
      if (!(error instanceof HoldfastError)) throw error;
      if (error.message !== this.#refused || isAsked) {
        this.#refused = error.message;
        this.#reloadsRefused += 1;
        this.#log("error", "new TLS files refused, the old ones stay in use", {
          error: error.message,
        });
      }
    }
    this.#warn();
  }

  #expiry(): string {
    return new Date(this.status.certificateEndsAt * 1_000).toISOString();
  }

  #warn(): void {
    const { certificate, authorities, clientAuthorities } = this.transport.current;
    const nowMs = this.transport.wallMs();
    this.#warnings.look("certificate of this node", certificate, nowMs);
    for (const authority of [...authorities, ...clientAuthorities])
      this.#warnings.look("certificate of an authority", authority, nowMs);
  }

  /** Clients check the host name. Nodes do not, so nothing else would show this mistake. */
  #warnOfHost(): void {
    const { certificate } = this.transport.current;
    const host = this.#advertisedHost;
    const isNamed =
      isIP(host) === 0
        ? certificate.checkHost(host) !== undefined
        : certificate.checkIP(host) !== undefined;
    if (isNamed) return;
    const names = certificate.subjectAltName;
    this.#log("warn", "the certificate does not name the host that clients are given", {
      host,
      names,
    });
  }
}

async function readCredentials(files: ResolvedTls): Promise<TlsCredentials> {
  const read = async (path: string, option: string) => {
    return { path, text: await readText(path, option) };
  };
  const { cert, key, ca, clientCa } = files;
  return {
    cert: await read(cert, "tlsCert"),
    key: await read(key, "tlsKey"),
    ca: await read(ca, "tlsCa"),
    clientCa: clientCa === undefined ? undefined : await read(clientCa, "clientCa"),
  };
}

async function readText(path: string, option: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException;
    const reason = FILE_PROBLEMS[code] ?? code;
    throw new OptionError(
      "UNAVAILABLE",
      (say) => `${path} (${say(option)}) cannot be read: ${reason}`,
    );
  }
}

function isSame(left: TlsCredentials, right: TlsCredentials): boolean {
  return (
    left.cert.text === right.cert.text &&
    left.key.text === right.key.text &&
    left.ca.text === right.ca.text &&
    left.clientCa?.text === right.clientCa?.text
  );
}
