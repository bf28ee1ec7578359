/**
 * A lock in etcd as in its own client library for Go (`concurrency.Mutex`): one lease per client,
 * kept alive; a key under the lock's name for each request, created in one transaction that also
 * returns the first key. A request that is not first waits for the end of the key created right
 * before its own; deleting its key releases the lock. The client for Node has no such lock (its
 * `Lock` takes a new lease each time and does not wait), so the requests are made here.
 */
import type { Etcd3, ITxnResponse } from "etcd3";
import { loadPackage } from "./load-package.js";
import type { GiveBack, PeerClient, PeerLoad } from "./peer.js";

const LEASE_SECONDS = 30;
const EQUAL_CREATE_NONE = { result: "Equal", target: "Create", create_revision: 0 } as const;
const NO_VALUE = Buffer.alloc(0);

/** The keys under one lock's name, in the order of their creation. */
interface Line {
  readonly prefix: Buffer;
  readonly prefixEnd: Buffer;
  /** Requests of this client that wait for the end of a key. */
  readonly waiting: Map<string, () => void>;
  /** Set when a request first has to wait: deletions are reported after it resolves. */
  watched: Promise<void> | undefined;
}

class EtcdLocks implements PeerClient {
  readonly #etcd: Etcd3;
  readonly #lease: string;
  readonly #lines = new Map<string, Line>();
  #count = 0;

  constructor(etcd: Etcd3, lease: string) {
    this.#etcd = etcd;
    this.#lease = lease;
  }

  async acquire(key: string): Promise<GiveBack> {
    const line = this.#lineOf(key);
    this.#count += 1;
    const own = Buffer.concat([line.prefix, Buffer.from(`${this.#lease}-${this.#count}`)]);
    const created = await this.#create(own, line);
    const first = created.responses[1]?.response_range.kvs[0];
    if (first === undefined) throw new Error(`etcd has lost ${own}`);
    if (!first.key.equals(own)) await this.#outlast(line, Number(created.header.revision));
    return async () => (await this.#etcd.kv.deleteRange({ key: own })).deleted === "1";
  }

  async close(): Promise<void> {
    this.#etcd.close();
  }

  /** The revision of the transaction is the key's revision. */
  #create(own: Buffer, { prefix, prefixEnd }: Line): Promise<ITxnResponse> {
    return this.#etcd.kv.txn({
      compare: [{ key: own, ...EQUAL_CREATE_NONE }],
      success: [
        { request_put: { key: own, value: NO_VALUE, lease: this.#lease } },
        {
          request_range: {
            key: prefix,
            range_end: prefixEnd,
            limit: 1,
            sort_order: "Ascend",
            sort_target: "Create",
          },
        },
      ],
    });
  }

  /** Resolves when no key is left that was created before `revision`. */
  async #outlast(line: Line, revision: number): Promise<void> {
    for (;;) {
      const before = await this.#lastBefore(line, revision);
      if (before === undefined) return;
      await this.#deletionOf(before, line);
    }
  }

  async #lastBefore({ prefix, prefixEnd }: Line, revision: number): Promise<Buffer | undefined> {
    const { kvs } = await this.#etcd.kv.range({
      key: prefix,
      range_end: prefixEnd,
      limit: 1,
      sort_order: "Descend",
      sort_target: "Create",
      max_create_revision: revision - 1,
    });
    return kvs[0]?.key;
  }

  /** A waiter is registered first and then asks whether there is anything to wait for. */
  async #deletionOf(key: Buffer, line: Line): Promise<void> {
    const name = key.toString();
    line.watched ??= this.#watch(line);
    await line.watched;
    const deleted = new Promise<void>((resolve) => line.waiting.set(name, resolve));
    const { count } = await this.#etcd.kv.range({ key, count_only: true });
    if (count !== "0") await deleted;
    line.waiting.delete(name);
  }

  /**
   * One watch for a whole queue, kept open. The library for Go opens one for each wait, from a past
   * revision, and etcd checks such a watch only every 100 ms at first.
   */
  async #watch(line: Line): Promise<void> {
    const watcher = await this.#etcd.watch().prefix(line.prefix).create();
    watcher.on("delete", ({ key }) => line.waiting.get(key.toString())?.());
  }

  #lineOf(key: string): Line {
    let line = this.#lines.get(key);
    if (line === undefined) {
      // The character after "/" ends the range of all keys that begin with it.
      const [prefix, prefixEnd] = [Buffer.from(`${key}/`), Buffer.from(`${key}0`)];
      line = { prefix, prefixEnd, waiting: new Map(), watched: undefined };
      this.#lines.set(key, line);
    }
    return line;
  }
}

/** Opens a client of its own: otherwise connections are shared between clients. */
export async function openEtcd(hosts: string | string[]): Promise<Etcd3> {
  const { Etcd3 } = await loadPackage("etcd3", () => import("etcd3"));
  return new Etcd3({ hosts, grpcOptions: { "grpc.use_local_subchannel_pool": 1 } });
}

/** `host`: the leader's, which saves every request a hop. */
export async function connectEtcd(host: string, load: PeerLoad): Promise<PeerClient[]> {
  return Promise.all(
    Array.from({ length: load.connections }, async () => {
      const etcd = await openEtcd(host);
      const lease = etcd.lease(LEASE_SECONDS);
      lease.on("lost", () => undefined);
      return new EtcdLocks(etcd, await lease.grant());
    }),
  );
}
