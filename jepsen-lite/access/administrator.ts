/**
 * Closes the cluster over the local socket of a node, and then changes grants and credentials while
 * everything else happens. Each change is in the history with its beginning and its end, by which
 * the checker judges what others were allowed.
 *
 * The order of a change without an answer may arrive late. So the keys that it concerns could be
 * judged only weakly from then on: their identity moves to a new area. A change that was answered has
 * no effect after later ones any more, however often the SDK has sent it.
 */
import { setTimeout as delay } from "node:timers/promises";
import type { RandomStream } from "../../lab/random-stream.js";
import { type Failure, failureOf } from "../clients/outcome.js";
import type { NodeProcess } from "../cluster/node-process.js";
import { type HistoryEvent, processNumber } from "../history/history-event.js";
import { type Access, connectAdmin, type GrantLevel, HoldfastError } from "../sdk.js";
import {
  ADMIN,
  areaOf,
  credentialOf,
  FICKLE,
  type Keyring,
  LEAVER,
  LOCK_IDENTITIES,
  OBSERVER,
  WORKER,
  writeKeyring,
} from "./keyring.js";

/** No client has that number. */
const PROCESS = processNumber(99, 0, 0);
const WORKLOAD = "identities";
const LOCAL = "local";
const TIMEOUT_MS = 3_000;
const REMOVED_MAX = 4;
const ATTEMPTS = 5;
const LOCK_LEVELS = [
  "none",
  "none",
  "observe",
  "acquire",
  "acquire",
  "acquire",
  "acquire",
  "acquire",
] as const;
const KEY_LEVELS = ["none", "none", "none", "observe", "acquire", "operate"] as const;
const FICKLE_LEVELS = ["none", "observe", "acquire", "acquire", "operate"] as const;

type Level = GrantLevel | "none";
type Target = { readonly key: string } | { readonly prefix: string };
type Outcome<T> = { readonly type: "ok"; readonly result: T } | Failure;

export interface AdministratorParts {
  readonly nodes: readonly NodeProcess[];
  /** Where clients find the keyring. */
  readonly file: string;
  /** Keys in each area. */
  readonly keys: number;
  readonly random: RandomStream;
  readonly record: (event: Omit<HistoryEvent, "time">) => void;
  readonly signal: AbortSignal;
}

export class Administrator {
  readonly #parts: AdministratorParts;
  readonly #stop = new AbortController();
  readonly #tokens = new Map<string, string>();
  readonly #areas = new Map<string, number>();
  /** Identities of whose area something is not known. */
  readonly #doubted = new Set<string>();
  /** Credentials of the leaver of which it is not known that they were removed. */
  readonly #leaving = new Set<string>();
  #isClosed = false;
  #leaver = 0;
  #removed: string[] = [];
  #running: Promise<void> = Promise.resolve();

  constructor(parts: AdministratorParts) {
    this.#parts = parts;
  }

  /** The token of an identity that may do everything. */
  get token(): string {
    return this.#tokens.get(credentialOf(ADMIN)) ?? "";
  }

  /** Everybody gets a token and grants; then `anonymous` loses its grant. Rejects if that fails. */
  async close(): Promise<void> {
    const all = { prefix: "" };
    for (const identity of [ADMIN, WORKER, ...LOCK_IDENTITIES, FICKLE, OBSERVER]) {
      await surely(() => this.#addIdentity(identity));
      await surely(() => this.#makeToken(identity, credentialOf(identity)));
    }
    await surely(() => this.#addIdentity(LEAVER));
    await surely(() => this.#replaceCredential());
    await surely(() => this.#setGrant(ADMIN, all, "admin"));
    await surely(() => this.#setGrant(WORKER, all, "operate"));
    for (const identity of LOCK_IDENTITIES) {
      // With a right to nothing it could not open another session.
      await surely(() => this.#setGrant(identity, { key: homeOf(identity) }, "acquire"));
    }
    for (const identity of [...LOCK_IDENTITIES, FICKLE, LEAVER]) {
      await surely(() => this.#moveOn(identity));
    }
    await surely(() => this.#setGrant("anonymous", all, "none"));
    this.#isClosed = true;
  }

  start(onFailure: (error: unknown) => void): void {
    this.#running = this.#run().catch(onFailure);
  }

  /** Resolves when its last change has an outcome. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const signal = AbortSignal.any([this.#stop.signal, this.#parts.signal]);
    // So that even a short run has a credential that was removed.
    await this.#replaceCredential();
    while (!signal.aborted) {
      const [doubted] = this.#doubted;
      if (doubted === undefined) await this.#changeSomething();
      else await this.#moveOn(doubted);
      const pauseMs = this.#parts.random.integer(10, 80);
      await delay(pauseMs, undefined, { signal }).catch(() => undefined);
    }
  }

  async #changeSomething(): Promise<void> {
    const { random, keys } = this.#parts;
    const choice = random.next();
    if (choice < 0.1) {
      await this.#replaceCredential();
    } else if (choice < 0.17) {
      const [first] = LOCK_IDENTITIES;
      const prefix = this.#areaOf(first);
      await this.#grant(OBSERVER, { prefix }, random.pick(["none", "observe"]), first);
    } else if (choice < 0.3) {
      await this.#grant(FICKLE, { prefix: this.#areaOf(FICKLE) }, random.pick(FICKLE_LEVELS));
    } else {
      const identity = random.pick(LOCK_IDENTITIES);
      const prefix = this.#areaOf(identity);
      const isOneKey = random.chance(0.3);
      const target = isOneKey ? { key: `${prefix}${random.below(keys)}` } : { prefix };
      await this.#grant(identity, target, random.pick(isOneKey ? KEY_LEVELS : LOCK_LEVELS));
    }
  }

  /** A new area in place of one of which something is not known. */
  async #moveOn(identity: string): Promise<Outcome<void>> {
    const number = this.#areas.get(identity) ?? 0;
    this.#doubted.delete(identity);
    this.#areas.set(identity, number + 1);
    const granted = await this.#grant(identity, { prefix: this.#areaOf(identity) }, "acquire");
    // Clients learn of an area only when its grants are known.
    if (granted.type !== "ok") {
      this.#doubted.add(identity);
      return granted;
    }
    await this.#publish();
    // If this fails, it does no harm: an identity may have more grants than it loses in this way.
    if (number > 0) await this.#setGrant(identity, { prefix: areaOf(identity, number) }, "none");
    return granted;
  }

  async #replaceCredential(): Promise<Outcome<unknown>> {
    if (this.#leaver > 0) this.#leaving.add(credentialOf(LEAVER, this.#leaver));
    for (const credential of this.#leaving) {
      const removal = await this.#record("remove-credential", { credential }, (access) => {
        return access.removeCredential(LEAVER, credential);
      });
      if (removal.type === "ok") this.#leaving.delete(credential);
    }
    const before = credentialOf(LEAVER, this.#leaver);
    const next = credentialOf(LEAVER, this.#leaver + 1);
    const made = await this.#makeToken(LEAVER, next);
    if (made.type !== "ok") return made;
    if (this.#leaver > 0) this.#removed = [before, ...this.#removed].slice(0, REMOVED_MAX);
    this.#leaver += 1;
    await this.#publish();
    return made;
  }

  /** Without rights it changes nothing for the checker, so it is not in the history. */
  #addIdentity(identity: string): Promise<Outcome<void>> {
    return this.#carryOut(LOCAL, (access) => access.addIdentity(identity));
  }

  async #makeToken(identity: string, credential: string): Promise<Outcome<unknown>> {
    const value = { identity, credential };
    const made = await this.#record("put-credential", value, (access) => {
      return access.createToken(identity, { label: credential });
    });
    if (made.type === "ok") this.#tokens.set(credential, made.result.token);
    return made;
  }

  /** `of`: whose area it is. */
  async #grant(identity: string, target: Target, level: Level, of = identity) {
    const outcome = await this.#setGrant(identity, target, level);
    if (outcome.type === "info" && this.#areas.has(of)) this.#doubted.add(of);
    return outcome;
  }

  #setGrant(identity: string, target: Target, level: Level): Promise<Outcome<void>> {
    return this.#record("grant", { identity, ...target, level }, (access) => {
      return level === "none"
        ? access.revoke(identity, target)
        : access.grant(identity, level, target);
    });
  }

  /** Over the local socket of a node or with a token; until the cluster is closed, over the socket. */
  async #record<T>(
    f: string,
    value: object,
    change: (access: Access) => Promise<T>,
  ): Promise<Outcome<T>> {
    const isLocal = !this.#isClosed || this.#parts.random.chance(0.5);
    const as = isLocal ? LOCAL : credentialOf(ADMIN);
    const event = { process: PROCESS, f, as, workload: WORKLOAD } as const;
    this.#parts.record({ ...event, type: "invoke", value });
    const outcome = await this.#carryOut(as, change);
    const { type, ...failure } = outcome.type === "ok" ? { type: outcome.type } : outcome;
    this.#parts.record({ ...event, type, ...failure });
    return outcome;
  }

  async #carryOut<T>(as: string, change: (access: Access) => Promise<T>): Promise<Outcome<T>> {
    let isSent = false;
    try {
      await using admin = await this.#connect(as);
      isSent = true;
      return { type: "ok", result: await change(admin.access) };
    } catch (error) {
      if (!isSent && error instanceof HoldfastError) {
        return { type: "fail", error: error.code };
      }
      return failureOf(error);
    }
  }

  #connect(as: string) {
    const { nodes, random } = this.#parts;
    const options = { timeoutMs: TIMEOUT_MS };
    if (as !== LOCAL) {
      const endpoints = nodes.map(({ plan }) => plan.endpoint);
      return connectAdmin({ ...options, endpoints, token: this.token });
    }
    return connectAdmin({ ...options, endpoints: [random.pick(nodes).plan.localEndpoint] });
  }

  #areaOf(identity: string): string {
    return areaOf(identity, this.#areas.get(identity) ?? 0);
  }

  async #publish(): Promise<void> {
    const keyring: Keyring = {
      tokens: Object.fromEntries(this.#tokens),
      areas: Object.fromEntries(this.#areas),
      leaver: credentialOf(LEAVER, this.#leaver),
      removed: this.#removed,
    };
    await writeKeyring(this.#parts.file, keyring);
  }
}

/** Before the load nothing is broken, and all of it may be repeated. */
async function surely(change: () => Promise<Outcome<unknown>>): Promise<void> {
  let why = "";
  for (let times = 0; times < ATTEMPTS; times += 1) {
    const outcome = await change();
    if (outcome.type === "ok") return;
    why = outcome.error;
  }
  throw new Error(`the cluster could not be closed: ${why}`);
}

function homeOf(identity: string): string {
  return `${WORKLOAD}/${identity}`;
}
