/** A log whose socket makes identities, and clients that speak for them: for tests of rights. */
import { orderCountOf } from "../../../src/lockfsm/commands/orders.js";
import {
  type AccessLevel,
  isStateOrder,
  LOCAL_CREDENTIAL,
  OP,
  type OrderCommand,
  type Result,
} from "../../../src/protocol/index.js";
import { Client, ClusterLog, resultOf, unattached } from "./cluster-log.js";
import type { AccessWish } from "./plans.js";

export type GivenGrant = readonly [key: string, isPrefix: boolean, level: AccessLevel];

const head = { sequence: 1, mark: 1, acknowledged: [] };

export class AccessLog extends ClusterLog {
  #credentials = 0;

  /**
   * An order without a session, of somebody who has heard of all before; by default of the socket in
   * a node's directory.
   */
  order(command: OrderCommand, credential: number = LOCAL_CREDENTIAL): Result | undefined {
    const mark = orderCountOf(this.state, command);
    const order = isStateOrder(command) ? { ...command, mark } : command;
    return resultOf(this.apply(unattached(order, credential)));
  }

  change(wish: AccessWish, credential?: number): Result | undefined {
    return this.order({ ...head, ...wish }, credential);
  }

  grant(name: string, ...grants: readonly GivenGrant[]): void {
    for (const [key, isPrefix, level] of grants) {
      this.change({ op: OP.setGrant, name, key, isPrefix, level });
    }
  }

  /** Returns the number of its credential. */
  identity(name: string, ...grants: readonly GivenGrant[]): number {
    this.change({ op: OP.putIdentity, name });
    this.grant(name, ...grants);
    return this.credential(name, "main");
  }

  credential(name: string, label: string, expiresWallMs = 0): number {
    this.#credentials += 1;
    const digest = this.#credentials.toString(16).padStart(64, "0");
    const kind = "token" as const;
    this.change({ op: OP.putCredential, name, label, kind, digest, expiresWallMs });
    return this.#credentials;
  }

  /** The last of `attached` says whether it was refused, and why. */
  openAs(credential: number, name: string, ttlMs = 15_000): Client {
    const nonce = `${name}-nonce`;
    const command = { op: OP.open, nonce, attempt: 1, ttlMs, name, metadata: "" } as const;
    this.apply(unattached(command, credential));
    return new Client(this, this.attached.at(-1)?.session ?? 0, nonce);
  }

  /** Status of an attempt of that client's to resume. */
  resumeAs(credential: number, { session, nonce }: Client, attempt: number): number {
    const command = { op: OP.resume, session, nonce, attempt } as const;
    this.apply(unattached(command, credential));
    return this.attached.at(-1)?.status ?? -1;
  }
}
