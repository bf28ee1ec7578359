/**
 * Operating a cluster from a program: show and change its members, its leader and what is held in
 * it. Checks arguments and interprets answers; the connection carries the requests.
 */
import {
  type AuditPage,
  type LogLevel,
  type LogLevelView,
  type MemberAction,
  type MembersView,
  OP,
  type VitalsView,
} from "../../protocol/index.js";
import {
  changeSetting,
  endSession,
  type Orders,
  type Revoked,
  revoke,
  setLimit,
} from "../calls/orders.js";
import { type CallOptions, requireAddress, requireNodeId, signalOf } from "../options/checks.js";
import {
  type AdminCallOptions,
  type AuditOptions,
  type EndSessionOptions,
  type LogLevelOptions,
  type RevokeOptions,
  type RevokeTarget,
  requireLogLevel,
  resolveAuditOptions,
  resolveSnapshotOptions,
  resolveVitalsOptions,
  type SetLogLevelOptions,
  type SnapshotOptions,
  type VitalsOptions,
} from "../options/operator-options.js";
import {
  type Question,
  resolveWatch,
  type WatchOptions,
  type WatchTarget,
} from "../options/view-options.js";
import { ClusterViews, type Views } from "../reads/cluster-views.js";
import type { Watch } from "../reads/watch-stream.js";
import type { Platform } from "../transport/platform.js";
import { type Access, ClusterAccess } from "./access.js";
import type { AdminConnection } from "./admin-connection.js";
import { askForSnapshot, type ClusterSnapshot } from "./cluster-snapshot.js";
import { askForLogLevel, askForMembers } from "./log-level.js";

/**
 * Operates one cluster. Needs no session and holds no locks, so it works even if the cluster has no
 * room for another session or does not open one yet. Any node of the cluster takes the requests,
 * and the leader decides them.
 *
 * Each change names the state that it wants. It resolves at once if that state exists already: to
 * add a member that has this address, to promote a voter, to demote a learner, to remove a node
 * that is not a member. So it is safe to repeat a call whose answer was lost. This object itself
 * does so until `timeoutMs` is over. A change resolves when it is committed and in force. A late copy
 * of a setting, a limit or a change of access has no effect after a later one.
 *
 * A revoke of a key ends the holds that exist when it is called, and opens the key if an ended hold
 * keeps it closed. When its answer is lost, the revoke is repeated. The repetition does not count
 * what the first one did, and may open what the first one left closed.
 *
 * Calls reject with the signal's reason or with a `HoldfastError`, whose message says what is in
 * the way: `BUSY` (retryable: another change is under way, or the node has not caught up yet),
 * `FORBIDDEN` (the voters that would remain and can be reached are not a majority),
 * `INVALID_ARGUMENT` (no such member, an address of another member, the last voter), `UNAVAILABLE`
 * (no leader answered in time; if `details.indeterminate` is true, the change may have happened),
 * `CANCELLED` (closed).
 */
export interface Admin extends Views, Orders, AsyncDisposable {
  /** The cluster that answered first. Nodes of other clusters are refused. */
  readonly clusterId: string;
  /** All endpoints that are known now. */
  readonly endpoints: readonly string[];
  /** Who may do what: identities, their credentials and their grants. */
  readonly access: Access;
  /**
   * How the node is to which this `Admin` is connected, and what happened on it lately. It answers by
   * itself, also while there is no leader. With one endpoint and `followLeader: false` that is always
   * the same node.
   */
  vitals(options?: VitalsOptions): Promise<VitalsView>;
  /**
   * How another member is, as it tells the node to which this `Admin` is connected: for members that
   * cannot be reached from here. `undefined`: that node does not hear from it. Rejects with
   * `INVALID_ARGUMENT` for a node that is not a member.
   */
  vitalsOf(node: number, options?: VitalsOptions): Promise<VitalsView | undefined>;
  /**
   * Which lines a node logs, and until when. Rejects with `INVALID_ARGUMENT` for a node that is not a
   * member, with `UNAVAILABLE` for one that does not answer.
   */
  logLevel(options?: LogLevelOptions): Promise<LogLevelView>;
  /**
   * Has a node log lines of that level and of those above it (`debug`, `info`, `warn`, `error`) for a
   * while. It goes back by itself, also when it is started again, and logs both. Needs the right
   * `admin`. Rejects like `logLevel`.
   */
  setLogLevel(level: LogLevel, options?: SetLogLevelOptions): Promise<LogLevelView>;
  /**
   * A page of the audit of the node to which this `Admin` is connected, newest first: who held what,
   * and what operators did. Needs `admin`, and a node with `--audit`: `INVALID_ARGUMENT` otherwise.
   * A page may be empty and have a `next`. Nodes differ in what they keep; with one endpoint and
   * `followLeader: false` it is always the same node.
   */
  audit(options?: AuditOptions): Promise<AuditPage>;
  /** The members of the cluster and the state of each, as the leader sees it. */
  members(options?: AdminCallOptions): Promise<MembersView>;
  /**
   * Adds a node as a learner: it receives every entry and has no vote until it is promoted. If the
   * node is a member already, this changes its address.
   *
   * @param id 1 – 2^32 − 1, never used before in this cluster
   * @param address `host:port` at which the other nodes reach it
   */
  addMember(id: number, address: string, options?: AdminCallOptions): Promise<void>;
  /** Makes a learner a voter. `BUSY` until it has caught up with the log. */
  promoteMember(id: number, options?: AdminCallOptions): Promise<void>;
  /** Makes a voter a learner: its vote no longer counts, so a node that lost data does no harm. */
  demoteMember(id: number, options?: AdminCallOptions): Promise<void>;
  /**
   * Removes a node from the cluster. A leader that is removed first hands leadership to another
   * voter.
   */
  removeMember(id: number, options?: AdminCallOptions): Promise<void>;
  /**
   * Hands leadership to the voter `id`, or, without an `id`, to the voter whose log is most
   * complete. Resolves to the id of the new leader. Commands of clients wait meanwhile; none of
   * them fails.
   */
  transferLeadership(id?: number, options?: AdminCallOptions): Promise<number>;
  /**
   * A snapshot of everything that was committed when this was called, from the first node that can
   * give one. `holdfast snapshot save` writes it to a file, and `holdfast snapshot restore` makes a
   * new cluster of that file. Also rejects with `BUSY` when a node has too many snapshots under
   * way, and with `DISK_FULL` when it has no room for one.
   */
  snapshot(options?: SnapshotOptions): Promise<ClusterSnapshot>;
  /**
   * Watches the changes of a key, or of all keys that begin with a prefix ("orders/"), in the order
   * of the log, as `Client.watch` does. It has no session, so it begins when a node has answered:
   * await `begun`, and then read the current state with `inspect` or `keysPage`. Stays connected
   * while it is open.
   */
  watch(target: WatchTarget, options?: WatchOptions): Watch;
  /** Ends the connection; open requests reject with `CANCELLED`. Safe to call twice. */
  close(): Promise<void>;
}

export class ClusterAdmin extends ClusterViews implements Admin {
  readonly access: Access;
  readonly #connection: AdminConnection;

  constructor(connection: AdminConnection, platform: Platform) {
    super();
    this.#connection = connection;
    this.access = new ClusterAccess(connection, platform);
  }

  protected ask(question: Question, signal: AbortSignal | undefined): Promise<unknown> {
    return this.#connection.ask(question, signal);
  }

  /** Reads the newest token first, so that a lost answer does not cost the next holder its lock. */
  async revoke(target: RevokeTarget, options?: RevokeOptions): Promise<Revoked> {
    return revoke(this.#connection, target, options, async (key, signal) => {
      const { newestToken } = await this.verify(key, 0, signal === undefined ? {} : { signal });
      return newestToken;
    });
  }

  async endSession(session: number, options?: EndSessionOptions): Promise<void> {
    await endSession(this.#connection, session, options);
  }

  async setLimit(key: string, limit: number | undefined, options?: CallOptions): Promise<void> {
    await setLimit(this.#connection, key, limit, options);
  }

  async changeSetting(
    name: string,
    value: number | undefined,
    options?: CallOptions,
  ): Promise<void> {
    await changeSetting(this.#connection, name, value, options);
  }

  get clusterId(): string {
    return this.#connection.clusterId;
  }

  get endpoints(): readonly string[] {
    return this.#connection.endpoints;
  }

  async members(options?: AdminCallOptions): Promise<MembersView> {
    return askForMembers(this.#connection, signalOf(options));
  }

  async vitals(options?: VitalsOptions): Promise<VitalsView> {
    const { after, signal } = resolveVitalsOptions(options);
    return (await this.#connection.ask({ op: OP.vitals, node: 0, after }, signal)) as VitalsView;
  }

  async vitalsOf(node: number, options?: VitalsOptions): Promise<VitalsView | undefined> {
    requireNodeId(node);
    const { after, signal } = resolveVitalsOptions(options);
    const view = await this.#connection.ask({ op: OP.vitals, node, after }, signal);
    return (view as VitalsView | null) ?? undefined;
  }

  async logLevel(options?: LogLevelOptions): Promise<LogLevelView> {
    return askForLogLevel(this.#connection, undefined, options);
  }

  async setLogLevel(level: LogLevel, options?: SetLogLevelOptions): Promise<LogLevelView> {
    requireLogLevel(level);
    return askForLogLevel(this.#connection, level, options);
  }

  async audit(options?: AuditOptions): Promise<AuditPage> {
    const { query, signal } = resolveAuditOptions(options);
    return (await this.#connection.ask(query, signal)) as AuditPage;
  }

  async addMember(id: number, address: string, options?: AdminCallOptions): Promise<void> {
    requireAddress(address);
    await this.#change("add", id, address, options);
  }

  async promoteMember(id: number, options?: AdminCallOptions): Promise<void> {
    await this.#change("promote", id, undefined, options);
  }

  async demoteMember(id: number, options?: AdminCallOptions): Promise<void> {
    await this.#change("demote", id, undefined, options);
  }

  async removeMember(id: number, options?: AdminCallOptions): Promise<void> {
    await this.#change("remove", id, undefined, options);
  }

  async transferLeadership(id?: number, options?: AdminCallOptions): Promise<number> {
    if (id !== undefined) requireNodeId(id);
    await this.#connection.ask({ op: OP.transfer, node: id ?? 0 }, signalOf(options));
    const { leaderId } = await this.members(options);
    return leaderId;
  }

  async snapshot(options?: SnapshotOptions): Promise<ClusterSnapshot> {
    const { isStale, signal } = resolveSnapshotOptions(options);
    return askForSnapshot(this.#connection, isStale, signal);
  }

  watch(target: WatchTarget, options?: WatchOptions): Watch {
    return this.#connection.watch(resolveWatch(target, options));
  }

  async close(): Promise<void> {
    this.#connection.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #change(
    action: MemberAction,
    node: number,
    address: string | undefined,
    options: AdminCallOptions | undefined,
  ): Promise<void> {
    requireNodeId(node);
    const wish = { op: OP.changeMember, action, node, address } as const;
    await this.#connection.ask(wish, signalOf(options));
  }
}
