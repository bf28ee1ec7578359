/**
 * Operating a cluster from a program: who belongs to it, who leads it, what is held in it, and changing
 * all that. Checks arguments and says what the answers mean; carrying the requests is the connection's.
 */
import { HoldfastError } from "../../errors.js";
import { type MemberAction, type MembersView, OP } from "../../protocol/index.js";
import {
  changeSetting,
  endSession,
  type OperatorCommands,
  type Revoked,
  revoke,
  setLimit,
} from "../calls/operator-commands.js";
import { type CallOptions, requireAddress, requireNodeId, signalOf } from "../options/checks.js";
import {
  type AdminCallOptions,
  type EndSessionOptions,
  type RevokeOptions,
  type RevokeTarget,
  resolveSnapshotOptions,
  type SnapshotOptions,
} from "../options/operator-options.js";
import type { Question } from "../options/view-options.js";
import { ClusterViews, type Views } from "../reads/cluster-views.js";
import type { AdminConnection } from "./admin-connection.js";
import { askForSnapshot, type ClusterSnapshot } from "./cluster-snapshot.js";

/**
 * Operates one cluster. Needs no session and holds no locks, so it works where the cluster has no room
 * for another session, or opens none yet; any node of the cluster takes the requests and the leader
 * decides them.
 *
 * Each change is a wish for a state: adding a member that is one at this address, promoting a
 * voter, demoting a learner or removing a node that is no member resolves at once. So a call whose
 * answer was lost may be repeated without a thought, which is what this object itself does for as
 * long as its `timeoutMs` allows. A change resolves when it is committed and in force.
 *
 * A revoke of a key means those who hold it when it is called, and what keeps it closed then. One whose
 * answer was lost is repeated: it does not count what the first had done then, and may open what that
 * left closed.
 *
 * Calls reject with the signal's reason or with a `HoldfastError`, whose message says what is in
 * the way: `BUSY` (retryable: another change is under way, or the node has not caught up yet),
 * `FORBIDDEN` (the voters that would remain and can be reached are no majority), `INVALID_ARGUMENT`
 * (no such member, an address of another one, the last voter), `UNAVAILABLE` (no leader answered in
 * time; with `details.indeterminate` true it may have happened), `CANCELLED` (closed).
 */
export interface Admin extends Views, OperatorCommands, AsyncDisposable {
  /** Of the cluster that answered first; nodes of any other are not listened to. */
  readonly clusterId: string;
  /** All endpoints known by now. */
  readonly endpoints: readonly string[];
  /** Who belongs to the cluster and how each of them is, as the leader sees it. */
  members(options?: AdminCallOptions): Promise<MembersView>;
  /**
   * Lets a node join as a learner: it receives everything and decides nothing until it is promoted.
   * Of a member this changes the address.
   *
   * @param id 1 – 2^32 − 1, never used before in this cluster
   * @param address `host:port` where the other nodes reach it
   */
  addMember(id: number, address: string, options?: AdminCallOptions): Promise<void>;
  /** Makes a learner a voter. `BUSY` until it has caught up with the log. */
  promoteMember(id: number, options?: AdminCallOptions): Promise<void>;
  /**
   * Makes a voter a learner: what it says counts no more, and what it has forgotten does no harm.
   */
  demoteMember(id: number, options?: AdminCallOptions): Promise<void>;
  /** Takes a node out of the cluster. A leader that is removed hands over to one that stays. */
  removeMember(id: number, options?: AdminCallOptions): Promise<void>;
  /**
   * Hands leadership to the voter `id`, or without it to whichever is most up to date. Resolves to
   * the id of the node that leads then. Commands of clients wait meanwhile and none of them fails.
   */
  transferLeadership(id?: number, options?: AdminCallOptions): Promise<number>;
  /**
   * A snapshot of everything that was committed when this was called, read from the first node that
   * can say so. What `holdfast snapshot save` writes to a file, and `holdfast snapshot restore` makes
   * a new cluster of. Also rejects with `BUSY` when a node has too many of these under way, and with
   * `DISK_FULL` when it has no room for one.
   */
  snapshot(options?: SnapshotOptions): Promise<ClusterSnapshot>;
  /** Ends the connection; what is under way rejects with `CANCELLED`. Safe to call twice. */
  close(): Promise<void>;
}

export class ClusterAdmin extends ClusterViews implements Admin {
  readonly #connection: AdminConnection;

  constructor(connection: AdminConnection) {
    super();
    this.#connection = connection;
  }

  protected ask(question: Question, signal: AbortSignal | undefined): Promise<unknown> {
    return this.#connection.ask(question, signal);
  }

  /** A lost answer must not cost the next holder its lock. */
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
    const view = await this.#connection.ask({ op: OP.members }, signalOf(options));
    if (isMembersView(view)) return view;
    throw new HoldfastError("PROTOCOL", "the cluster answered something else than its members");
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

function isMembersView(payload: unknown): payload is MembersView {
  if (typeof payload !== "object" || payload === null) return false;
  return "leaderId" in payload && "members" in payload && Array.isArray(payload.members);
}
