/**
 * A stranger on the network of a closed cluster, who has the certificate of its CA and no credential:
 * tries again and again, at every node, to hold a lock, to read, and to pass for a program or a node
 * with certificates of a CA of its own. Remembers what it got, which must be nothing.
 */
import { setTimeout as delay } from "node:timers/promises";
import { createSecureContext } from "node:tls";
import {
  createAuthority,
  issueClientCertificate,
  issueNodeCertificate,
} from "../../src/certificates/index.js";
import { connect, connectAdmin, HoldfastError } from "../../src/index.js";
import { readPage } from "../../src/reach/read-page.js";

const PAUSE_MS = 500;
const TIMEOUT_MS = 2_000;
const KEY = "orders/1";
const DAYS = { days: 30 };

const OWN_CA = createAuthority({ name: "stranger", ...DAYS });
const AS_PROGRAM = issueClientCertificate(OWN_CA, {
  ...{ cluster: "holdfast", name: "billing" },
  ...DAYS,
});
const AS_NODE = issueNodeCertificate(OWN_CA, {
  ...{ cluster: "holdfast", nodeId: 1, hosts: ["127.0.0.1"] },
  ...DAYS,
});

export interface Target {
  /** Address of a node for clients. */
  readonly client: string;
  /** Its address for nodes. */
  readonly peer: string;
}

type Attack = (target: Target, ca: string) => Promise<unknown>;

async function holds(client: string, tls: object): Promise<unknown> {
  const options = { endpoints: [client], followLeader: false, connectTimeoutMs: TIMEOUT_MS };
  await using connected = await connect({ ...options, ...tls });
  return (await connected.tryAcquire(KEY))?.token;
}

async function reads(client: string, ca: string): Promise<unknown> {
  const endpoints = [`wss://${client}`];
  await using admin = await connectAdmin({ endpoints, ca, timeoutMs: TIMEOUT_MS });
  return (await admin.members()).leaderId;
}

async function page(url: string, ca: string, own?: { cert: string; key: string }) {
  const tls = { secureContext: createSecureContext({ ca, ...own }), hasCertificate: !!own };
  const { status, text } = await readPage(url, AbortSignal.timeout(TIMEOUT_MS), tls);
  if (status !== 200) throw new Error(`${status}`);
  return text;
}

const program = { cert: AS_PROGRAM.certificatePem, key: AS_PROGRAM.keyPem };
const node = { cert: AS_NODE.certificatePem, key: AS_NODE.keyPem };

const ATTACKS: Readonly<Record<string, Attack>> = {
  "a lock": ({ client }, ca) => holds(`wss://${client}`, { ca }),
  "a lock in plain text": ({ client }) => holds(`ws://${client}`, {}),
  "a lock as billing": ({ client }, ca) => holds(`wss://${client}`, { ca, ...program }),
  members: ({ client }, ca) => reads(client, ca),
  "the status": ({ client }, ca) => page(`https://${client}/status`, ca),
  "the status in plain text": ({ client }) => page(`http://${client}/status`, ""),
  "the port of nodes": ({ peer }, ca) => page(`https://${peer}/`, ca),
  "the port of nodes as a node": ({ peer }, ca) => page(`https://${peer}/`, ca, node),
};

export class RunbookStranger implements AsyncDisposable {
  /** What it got, and should not have got. */
  readonly got: string[] = [];
  /** How it was refused: the attack and the code, or the text of the error. */
  readonly refusals = new Set<string>();
  readonly #targets: readonly Target[];
  readonly #ca: () => string;
  readonly #stopped: Promise<void>;
  #isStopping = false;

  /** @param ca the CAs of the cluster, at any time */
  constructor(targets: readonly Target[], ca: () => string) {
    this.#targets = targets;
    this.#ca = ca;
    this.#stopped = this.#work();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isStopping = true;
    await this.#stopped;
  }

  async #work(): Promise<void> {
    while (!this.#isStopping) {
      for (const target of this.#targets) await this.#attack(target);
      await delay(PAUSE_MS);
    }
  }

  async #attack(target: Target): Promise<void> {
    for (const [name, attack] of Object.entries(ATTACKS)) {
      try {
        const got = await attack(target, this.#ca());
        this.got.push(`${name} at ${target.client}: ${String(got)}`);
      } catch (error) {
        const why = error instanceof HoldfastError ? error.code : (error as Error).message;
        this.refusals.add(`${name}: ${why}`);
      }
    }
  }
}
