/**
 * A program of a runbook: a client that keeps a lock, acquires another one again and again, and loses
 * neither, while an operator changes the cluster. It reads its options from a file, as commands do with
 * `HOLDFAST_CONFIG`. When it is restarted, it hands the lock over to its successor.
 */
import { readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { expect } from "vitest";
import { parseDuration } from "../../bin/text/durations.js";
import { type Client, connect, type Lock } from "../../src/index.js";
import { until } from "../e2e/world/process-life.js";
import type { Service } from "./runbook-hosts.js";

const ROUNDS = 3;
/** Leaves the processor to those who are tested. */
const PAUSE_MS = 20;

interface ProgramFile {
  readonly endpoints: string;
  readonly ttl: string;
  readonly ca?: string;
  readonly cert?: string;
  readonly certKey?: string;
  readonly tokenFile?: string;
}

interface Run {
  readonly client: Client;
  readonly kept: Lock;
}

export class RunbookProgram implements Service {
  readonly #keys: string;
  readonly #file: () => string;
  #run: Run | undefined;
  #rounds = 0;
  #isStopping = false;
  #stopped: Promise<void> = Promise.resolve();

  /** @param keys what the keys that it acquires begin with */
  constructor(keys: string, file: () => string) {
    this.#keys = keys;
    this.#file = file;
  }

  /** The successor has the options that the file has now. */
  async restart(): Promise<void> {
    const before = await this.#pause();
    const handed = await before?.client.handOver();
    const client = await connect(this.#options());
    const kept =
      handed === undefined
        ? await client.acquire(`${this.#keys}kept`)
        : (await client.adopt(handed)).locks[0];
    if (kept?.isHeld !== true) throw new Error(`${this.#keys}kept was lost`);
    this.#run = { client, kept };
    this.#isStopping = false;
    this.#stopped = this.#work(this.#run);
    // Reported by `worksOn` and `stop`.
    this.#stopped.catch(() => undefined);
  }

  /** Resolves after some more rounds; rejects if the program lost something since it began. */
  async worksOn(): Promise<void> {
    if (this.#run === undefined) return;
    const enough = this.#rounds + ROUNDS;
    const stopped = this.#stopped.then(() => Promise.reject(new Error(`${this.#keys} stopped`)));
    await Promise.race([
      until(`the program of ${this.#keys} to go on`, () => this.#rounds >= enough),
      stopped,
    ]);
    this.#expectKept(this.#run);
  }

  async stop(): Promise<void> {
    const run = await this.#pause();
    if (run === undefined) return;
    expect(await run.kept.release()).toEqual({ released: true });
    await run.client.close();
    this.#run = undefined;
  }

  /** For a program that may have failed. */
  async close(): Promise<void> {
    this.#isStopping = true;
    await this.#run?.client.close();
    await this.#stopped.catch(() => undefined);
  }

  #options() {
    const file = JSON.parse(readFileSync(this.#file(), "utf8")) as ProgramFile;
    const { endpoints, ttl, ca, cert, certKey, tokenFile } = file;
    const contentOf = (path: string): string => readFileSync(path, "utf8");
    return {
      endpoints: endpoints.split(","),
      ttlMs: parseDuration(ttl) as number,
      name: `program of ${this.#keys}`,
      ...(ca !== undefined && { ca: contentOf(ca) }),
      ...(cert !== undefined && { cert: contentOf(cert) }),
      ...(certKey !== undefined && { key: contentOf(certKey) }),
      ...(tokenFile !== undefined && { token: () => contentOf(tokenFile).trim() }),
    };
  }

  /** Ends the work, which must have gone well. */
  async #pause(): Promise<Run | undefined> {
    this.#isStopping = true;
    await this.#stopped;
    if (this.#run !== undefined) this.#expectKept(this.#run);
    return this.#run;
  }

  #expectKept({ kept }: Run): void {
    expect(kept.signal.reason).toBeUndefined();
    expect(kept.isHeld).toBe(true);
  }

  async #work({ client }: Run): Promise<void> {
    let lastToken = 0;
    while (!this.#isStopping) {
      const lock = await client.acquire(`${this.#keys}work`);
      expect(lock.token).toBeGreaterThan(lastToken);
      lastToken = lock.token;
      expect(await lock.release()).toEqual({ released: true });
      this.#rounds += 1;
      await delay(PAUSE_MS);
    }
  }
}
