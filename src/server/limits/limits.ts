/**
 * Limits by identity and by address on what the clients of this node may have and ask for, so that
 * the clients of one leave room for others. Requests that give something back are never refused:
 * keepalives, releases, sessions that come back, unwatch. They are read later, like everything from
 * connections whose allowance is spent, because refusing costs almost as much as executing. An
 * identity with `admin` is exempt from limits by identity, and so is everybody on an open cluster.
 * Programs on the machine of this node are exempt from limits by address, because a proxy there
 * carries everybody.
 *
 * The gateway limits connections by address, and unfinished messages.
 */
import type { LockTable, TableCommand } from "../../lockfsm/index.js";
import { isOwnMachine, type LimitedBy } from "../../net/index.js";
import { ACCESS_LEVEL, type Command, isStrong, NO_CREDENTIAL, OP } from "../../protocol/index.js";
import type { ClientLimits } from "../options.js";
import type { Clock } from "../ports.js";
import { HeldBack } from "./held-back.js";
import type { LimitCounts } from "./limit-counts.js";
import { type LimitedClient, NO_LIMITS, UNCOUNTED, Usage } from "./usage.js";

/** A smaller map is not searched for those that may be forgotten. */
const SWEEP_SIZE_MIN = 256;

/** Commands that nobody is known for count as of `anonymous`. */
const ANONYMOUS_IDENTITY = 0;

/**
 * This many bytes cost as much as a command. Most commands are shorter, so only the bytes of
 * unusual ones matter. The defaults still let one identity send 12 MiB a second, several times what
 * a node can execute, and a node reads and decodes that in a few hundredths of its time. In
 * fragments of one byte they cost four tenths of its time, less than as many commands would.
 */
const BYTES_PER_COMMAND = 256;

/** `Infinity`: no limit. */
export interface NodeLimits {
  readonly identity: ClientLimits;
  readonly address: ClientLimits;
  readonly counts: LimitCounts;
}

export interface LimitsParts {
  readonly table: LockTable;
  readonly clock: Pick<Clock, "nowMs">;
}

export class Limits {
  readonly #parts: LimitsParts;
  readonly #limits: NodeLimits;
  readonly #usages: Readonly<Record<LimitedBy, Map<string, Usage>>> = {
    identity: new Map(),
    address: new Map(),
  };
  readonly #sweepAtSize: Record<LimitedBy, number> = {
    identity: SWEEP_SIZE_MIN,
    address: SWEEP_SIZE_MIN,
  };
  readonly #heldBack: HeldBack;

  constructor(limits: NodeLimits, parts: LimitsParts) {
    this.#limits = limits;
    this.#parts = parts;
    this.#heldBack = new HeldBack((usage) => this.#isExceeded(usage, "commandsPerSecondMax"));
  }

  /** A client connected; it may have signed in later. */
  arrive({ connection, share }: LimitedClient): void {
    const { address } = connection;
    if (isOwnMachine(address)) return;
    share.address = this.#usageOf("address", address);
    share.address.connections += 1;
  }

  /**
   * The first request of a client, whose identity is certain from now on. Returns why its identity
   * may have no further connection; `undefined` if it may.
   */
  count(client: LimitedClient): string | undefined {
    const { share } = client;
    const usage = this.#usageOf(
      "identity",
      this.#parts.table.viewerOf(client.credential)?.name ?? "",
    );
    share.isCounted = true;
    share.identity = usage;
    usage.connections += 1;
    this.judge(client);
    const max = usage.limits.connectionsMax;
    if (usage.connections <= max || !this.#isExceeded(usage, "connectionsMax")) {
      return undefined;
    }
    return `this identity has all the connections to this node that one may have (${max})`;
  }

  /** Rights have changed, or a client is counted. */
  judge(client: LimitedClient): void {
    const { connection, share } = client;
    if (!share.isCounted) return;
    const viewer = this.#parts.table.viewerOf(client.credential);
    const isExempt = this.#levelOf(client.credential) >= ACCESS_LEVEL.admin;
    share.identity.limitBy(isExempt ? NO_LIMITS : this.#limits.identity, this.#parts.clock.nowMs());
    connection.limitedIdentity = isExempt ? "" : share.identity.name;
    connection.identify(viewer?.highest === ACCESS_LEVEL.none ? undefined : viewer?.name);
    client.turnOf = this.isOpen ? undefined : viewer?.number;
  }

  /** A connection has ended. Safe to call again. */
  leave(client: LimitedClient): void {
    const { share } = client;
    this.#heldBack.leave(client);
    share.countWatches(0);
    share.identity.connections -= 1;
    share.address.connections -= 1;
    share.identity = UNCOUNTED;
    share.address = UNCOUNTED;
  }

  /** Whether `anonymous` is an admin: then nobody is distinguished from others. */
  get isOpen(): boolean {
    return this.#levelOf(NO_CREDENTIAL) >= ACCESS_LEVEL.admin;
  }

  /**
   * How many of the sessions whose commands another node forwarded are of which identity; a session
   * counts once for each run of its commands. `undefined` on an open cluster.
   */
  runsOf(commands: readonly TableCommand[]): ReadonlyMap<number, number> | undefined {
    if (this.isOpen) return undefined;
    const { table } = this.#parts;
    const runs = new Map<number, number>();
    let before: number | undefined;
    for (const { session, epoch } of commands) {
      if (session === before) continue;
      before = session;
      const identity = session === 0 ? table.viewerOf(epoch)?.number : table.identityOf(session);
      const number = identity ?? ANONYMOUS_IDENTITY;
      runs.set(number, (runs.get(number) ?? 0) + 1);
    }
    return runs;
  }

  /**
   * These bytes of a client were read, and the requests in them. If that was too much, nothing more
   * is read until `serve` says so. Returns whether that has just begun.
   */
  received(client: LimitedClient, bytes: number): boolean {
    const { identity, address } = client.share;
    const cost = bytes / BYTES_PER_COMMAND;
    identity.commands.pay(cost);
    address.commands.pay(cost);
    if (identity.commands.left > 0 && address.commands.left > 0) return false;
    return this.#heldBack.judge(client, this.#parts.clock.nowMs());
  }

  /** When `serve` has something to do. */
  get nextDeadlineMs(): number {
    return this.#heldBack.nextDeadlineMs;
  }

  /** Once a turn: lets those be read again that may spend something. */
  serve(nowMs: number): void {
    this.#heldBack.serve(nowMs);
  }

  /** Whether a command that was just paid for exceeds a limit and is refused for now. */
  refusesCommand(client: LimitedClient, command: Command): boolean {
    const { identity, address } = client.share;
    if (identity.commands.left >= 0 && address.commands.left >= 0) return false;
    if (!isStrong(command) && command.op !== OP.open) return false;
    const nowMs = this.#parts.clock.nowMs();
    let isRefused = false;
    for (const usage of [identity, address]) {
      if (usage.commands.left >= 0) continue;
      usage.commands.fill(nowMs);
      if (usage.commands.left >= 0) continue;
      if (this.#isExceeded(usage, "commandsPerSecondMax")) isRefused = true;
      else usage.commands.forgive();
    }
    return isRefused;
  }

  /** Whether limits refuse a read. @param cost what it costs at least */
  refusesRead(client: LimitedClient, cost: number): boolean {
    const { identity, address } = client.share;
    const isWithinIdentity = identity.reads.take(cost);
    const isWithinAddress = address.reads.take(cost);
    if (isWithinIdentity && isWithinAddress) return false;
    // Ask again those in which nothing was left, by the clock.
    const nowMs = this.#parts.clock.nowMs();
    let isRefused = false;
    for (const usage of [
      isWithinIdentity ? undefined : identity,
      isWithinAddress ? undefined : address,
    ]) {
      if (usage === undefined) continue;
      usage.reads.fill(nowMs);
      if (usage.reads.take(cost)) continue;
      if (this.#isExceeded(usage, "readCostPerSecondMax")) isRefused = true;
    }
    return isRefused;
  }

  /** Why the client may have no further watch; `undefined` if it may. */
  watchRefusal(client: LimitedClient): string | undefined {
    for (const usage of [client.share.identity, client.share.address]) {
      const { watchesMax } = usage.limits;
      if (usage.watches >= watchesMax && this.#isExceeded(usage, "watchesMax")) {
        return `this ${usage.by} has all the watches of this node that one may have (${watchesMax})`;
      }
    }
    return undefined;
  }

  /** Counts what exceeds a limit, and returns whether it is refused. */
  #isExceeded(usage: Usage, limit: keyof ClientLimits): boolean {
    const { counts } = this.#limits;
    counts.note(usage.by, limit, usage.name, usage.limits[limit]);
    return counts.isEnforced;
  }

  #usageOf(by: LimitedBy, name: string): Usage {
    const usages = this.#usages[by];
    let usage = usages.get(name);
    if (usage === undefined) {
      if (usages.size >= this.#sweepAtSize[by]) this.#sweep(by);
      usage = new Usage(by, name, this.#limits[by], this.#parts.clock.nowMs());
      usages.set(name, usage);
    }
    return usage;
  }

  /** Forgets those without a connection that owe nothing. Costs one look per new one. */
  #sweep(by: LimitedBy): void {
    const usages = this.#usages[by];
    const nowMs = this.#parts.clock.nowMs();
    for (const [name, usage] of usages) if (usage.isOver(nowMs)) usages.delete(name);
    this.#sweepAtSize[by] = Math.max(SWEEP_SIZE_MIN, 2 * usages.size);
  }

  #levelOf(credential: number): number {
    return this.#parts.table.viewerOf(credential)?.everywhere ?? ACCESS_LEVEL.none;
  }
}
