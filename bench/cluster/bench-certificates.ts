/**
 * Certificates for one run of the bench: mutual TLS between its nodes, and a client certificate that
 * the nodes demand. `holdfast cert` makes them in the directory of the run.
 */
import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { findCommand } from "./find-command.js";

const VALIDITY = ["--days=1"];

/** As PEM. */
export interface ClientFiles {
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
}

export class BenchCertificates {
  /** The files of the clients of the run. */
  readonly client: ClientFiles;
  readonly #directory: string;

  private constructor(directory: string, client: ClientFiles) {
    this.#directory = directory;
    this.client = client;
  }

  /** For the nodes 1 to `nodes`. */
  static async create(directory: string, nodes: number): Promise<BenchCertificates> {
    const cert = (...words: readonly string[]) =>
      promisify(execFile)(process.execPath, [findCommand(), "cert", ...words, ...VALIDITY], {
        cwd: directory,
      });
    await cert("ca");
    for (let id = 1; id <= nodes; id += 1) await cert("node", `${id}`, "--host=127.0.0.1");
    await cert("client", "bench");
    const read = (name: string) => readFile(join(directory, "certs", name), "utf8");
    const [ca, own, key] = [read("ca.crt"), read("client-bench.crt"), read("client-bench.key")];
    return new BenchCertificates(directory, { ca: await ca, cert: await own, key: await key });
  }

  /** The flags of a node. */
  argumentsOf(id: number): string[] {
    const file = (name: string) => join(this.#directory, "certs", name);
    return [
      `--tls-cert=${file(`node-${id}.crt`)}`,
      `--tls-key=${file(`node-${id}.key`)}`,
      `--tls-ca=${file("ca.crt")}`,
      `--client-ca=${file("ca.crt")}`,
      "--require-client-cert",
    ];
  }
}
