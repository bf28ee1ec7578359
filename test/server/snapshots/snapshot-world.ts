/**
 * Snapshots of several nodes in one thread: real tables, stores and `Snapshots`, and in place of
 * core and log only what they owe each other by contract. Turns come when they were asked for, the
 * clock moves by one millisecond per step, and the store's promises settle between two steps.
 */

import { MemoryStoreDisk } from "../../../lab/memory/memory-ordered-store.js";
import { promisesSettled } from "../../../lab/simulated/timeline.js";
import { LockTable, type TableEntry } from "../../../src/lockfsm/index.js";
import { OP } from "../../../src/protocol/index.js";
import type {
  Configuration,
  Entry,
  Input,
  InstalledSnapshot,
  Role,
  SnapshotPoint,
  Write,
  WrittenSnapshot,
} from "../../../src/raft/index.js";
import { isTermInReach } from "../../../src/raft/messages/message-check.js";
import type {
  NamedSnapshots,
  SnapshotMessage,
  SnapshotTuning,
  SnapshotTurn,
} from "../../../src/server/snapshots/ports.js";
import { restoreAtBoot } from "../../../src/server/snapshots/restore-at-boot.js";
import { DriverSnapshots, type Snapshots } from "../../../src/server/snapshots/snapshots.js";
import { openSnapshotStore } from "../../../src/storage/index.js";
import { GatedStore } from "../world/gated-store.js";

/** What each entry counts for in the log. */
export const ENTRY_BYTES = 100;
const STEPS_MAX = 20_000;
const TERM = 3;

export const OPTIONS: SnapshotTuning = {
  snapshotLogBytes: 40 * ENTRY_BYTES,
  snapshotSizeFactor: 0,
  trailingLogBytes: 16 * ENTRY_BYTES,
  chunkBytes: 64,
  electionTimeoutMs: 100,
  heartbeatIntervalMs: 20,
};

function configurationOf(...voters: number[]): Configuration {
  const addresses = voters.map((id) => ({ id, address: `127.0.0.1:${7000 + id}` }));
  return { voters, outgoing: [], learners: [], addresses };
}

interface Sent {
  readonly from: number;
  readonly to: number;
  readonly message: SnapshotMessage;
}

export class SnapshotWorld {
  readonly entries: TableEntry[] = [];
  /** Holds the effects of all `entries`. */
  readonly reference = new LockTable();
  readonly nodes: SnapshotNode[] = [];
  /** Everything that was sent, delivered or not. */
  readonly sent: Sent[] = [];
  /** Messages for which it says no are lost without anybody noticing. */
  passes: (sent: Sent) => boolean = () => true;
  nowMs = 1_000;
  #session = 0;
  #sequence = 0;

  constructor() {
    const nonce = "nonce-of-a-client";
    const command = { op: OP.open, nonce, attempt: 1, ttlMs: 60_000, name: "c", metadata: "" };
    this.#append({ session: 0, epoch: 0, command: { ...command, op: OP.open } });
  }

  async add(options: Partial<SnapshotTuning> = {}): Promise<SnapshotNode> {
    const node = new SnapshotNode(this, this.nodes.length + 1, { ...OPTIONS, ...options });
    this.nodes.push(node);
    await node.start();
    return node;
  }

  /** A leader with a snapshot of `count` entries and a few entries after it. */
  async addLeader(count = 60): Promise<SnapshotNode> {
    const leader = await this.add();
    leader.role = "leader";
    this.acquire(count);
    leader.commitTo(this.entries.length);
    await this.until("snapshot", () => leader.firstIndex > 1);
    return leader;
  }

  /** As many entries, each with a lock taken that nobody holds. */
  acquire(count: number): void {
    for (let n = 0; n < count; n += 1) {
      this.#sequence += 1;
      const items = [{ key: `key-${this.#sequence}`, mode: "exclusive" as const }];
      const head = { sequence: this.#sequence, mark: 1, acknowledged: [], task: 1, waitMs: 0 };
      this.#append({
        session: this.#session,
        epoch: 1,
        command: { op: OP.acquire, ...head, items },
      });
    }
  }

  node(id: number): SnapshotNode {
    return this.nodes[id - 1] as SnapshotNode;
  }

  send(sent: Sent): void {
    this.sent.push(sent);
    const target = this.node(sent.to);
    if (!this.passes(sent) || !target.isUp || !this.node(sent.from).isLinked(sent.to)) return;
    target.inbox.push(sent);
  }

  /** The messages of one kind that `from` sent so far. */
  sentBy<T extends SnapshotMessage["type"]>(from: SnapshotNode, type: T) {
    const messages = this.sent
      .filter((sent) => sent.from === from.id)
      .map(({ message }) => message);
    return messages.filter((message) => message.type === type) as Extract<
      SnapshotMessage,
      { readonly type: T }
    >[];
  }

  async step(): Promise<void> {
    this.nowMs += 1;
    for (const node of this.nodes) if (node.isTurnDue) node.turn();
    await promisesSettled();
  }

  async run(steps: number): Promise<void> {
    for (let n = 0; n < steps; n += 1) await this.step();
  }

  async until(what: string, isReached: () => boolean): Promise<void> {
    for (let n = 0; n < STEPS_MAX; n += 1) {
      if (isReached()) return;
      await this.step();
    }
    throw new Error(`no ${what} within ${STEPS_MAX} steps`);
  }

  #append(command: TableEntry["commands"][number]): void {
    const index = this.entries.length + 1;
    const entry = { index, stamp: 10_000 + index, wallMs: 5_000, commands: [command] };
    this.entries.push(entry);
    this.reference.apply(entry, {
      toSession: () => {},
      attached: ({ session }) => {
        this.#session = session;
      },
    });
  }
}

export class SnapshotNode {
  readonly id: number;
  readonly disk = new MemoryStoreDisk();
  readonly inbox: Sent[] = [];
  /** Names of what was logged, in order. */
  readonly story: string[] = [];
  /** Peers for which the core learned that a transfer was given up. */
  readonly failed: { readonly peer: number; readonly atMs: number }[] = [];
  /** Snapshots that the core learned to be entirely committed here. */
  readonly needless: number[] = [];
  configuration = configurationOf(1, 2, 3);
  role: Role = "follower";
  leader = 0;
  term = TERM;
  commitIndex = 0;
  firstIndex = 1;
  appliedIndex = 0;
  /** What waits in the link to any peer. */
  bufferedBytes = 0;
  /** Whether the core takes the snapshots it is handed. */
  isAccepting = true;
  /** What ended it. */
  failure: unknown;
  isUp = false;
  turnCount = 0;
  store!: GatedStore;
  table!: LockTable;
  snapshots!: Snapshots;
  readonly #world: SnapshotWorld;
  readonly #options: SnapshotTuning;
  readonly #epochs = new Map<number, number>();
  #wanted: number[] = [];
  #isWoken = false;
  #isLogWorking = true;
  #lastSeq = 0;
  #durableSeq = 0;
  #written: { readonly seq: number; readonly snapshot: WrittenSnapshot }[] = [];
  #named: SnapshotPoint | undefined;

  constructor(world: SnapshotWorld, id: number, options: SnapshotTuning) {
    this.#world = world;
    this.id = id;
    this.#options = options;
  }

  /** Whether records of the log become durable. */
  get isLogWorking(): boolean {
    return this.#isLogWorking;
  }

  set isLogWorking(isWorking: boolean) {
    this.#isLogWorking = isWorking;
    this.#isWoken = true;
  }

  /** What the log durably stands on. */
  get named(): SnapshotPoint | undefined {
    return this.#named;
  }

  /** From what the disk holds. */
  async start(): Promise<void> {
    this.store = new GatedStore(openSnapshotStore(this.disk.open()));
    this.table = new LockTable();
    const stored = await this.store.list();
    const named = stored.find(({ checksum }) => checksum === this.#named?.checksum);
    if (named !== undefined) await restoreAtBoot(this.store, named, this.table);
    this.appliedIndex = named?.index ?? 0;
    this.snapshots = new DriverSnapshots(
      {
        nodeId: this.id,
        clock: { nowMs: () => this.#world.nowMs, wallMs: () => this.#world.nowMs },
        store: this.store,
        table: this.table,
        raft: this,
        peers: { bufferedBytes: () => this.bufferedBytes },
        knowsVoterOf: () => true,
        send: (to, message) => this.#world.send({ from: this.id, to, message }),
        wake: () => {
          this.#isWoken = true;
        },
        logger: (_, event) => this.story.push(event),
      },
      this.#options,
      named,
    );
    this.isUp = true;
    this.#isWoken = true;
  }

  /** `random`: whether a batch under way was kept. */
  crash(random?: () => number): void {
    this.isUp = false;
    this.disk.crash(random);
    this.inbox.length = 0;
    this.#written = [];
    this.#epochs.clear();
    this.commitIndex = this.#named?.index ?? 0;
  }

  entry(index: number): Entry {
    return { index, term: this.term, kind: "command", data: new Uint8Array(ENTRY_BYTES) };
  }

  isTermInReach(term: number): boolean {
    return isTermInReach(term, this.term);
  }

  /** Something came from a client. */
  wake(): void {
    this.#isWoken = true;
  }

  commitTo(index: number): void {
    this.commitIndex = index;
    this.#isWoken = true;
  }

  isLinked(peer: number): boolean {
    return this.#epochs.has(peer);
  }

  /** A new connection, in both directions; none of the two knows more than before. */
  link(peer: SnapshotNode): void {
    for (const [from, to] of [
      [this, peer],
      [peer, this],
    ] as const) {
      from.#epochs.set(to.id, this.#world.nowMs);
    }
  }

  unlink(peer: SnapshotNode): void {
    for (const [from, to] of [
      [this, peer],
      [peer, this],
    ] as const) {
      const epoch = from.#epochs.get(to.id);
      from.#epochs.delete(to.id);
      if (from.isUp && epoch !== undefined) from.snapshots.onLinkDown(to.id, epoch);
    }
  }

  /** The core asks for a snapshot for `peer`. */
  want(peer: SnapshotNode): void {
    if (!this.isLinked(peer.id)) this.link(peer);
    this.#wanted.push(peer.id);
    this.#isWoken = true;
  }

  get isTurnDue(): boolean {
    if (!this.isUp || this.failure !== undefined) return false;
    const { hasWork, nextDeadlineMs, isRestoring } = this.snapshots;
    const isBehind = !isRestoring && this.appliedIndex < this.commitIndex;
    if (this.#isWoken || this.inbox.length > 0 || hasWork || isBehind) return true;
    return this.#world.nowMs >= nextDeadlineMs;
  }

  turn(): void {
    this.#isWoken = false;
    this.turnCount += 1;
    try {
      this.#runTurn();
    } catch (error) {
      this.failure = error;
    }
  }

  #runTurn(): void {
    const { snapshots } = this;
    this.#persist();
    const restores: InstalledSnapshot[] = [];
    const inputs: Input[] = [];
    const core = { step: (input: Input): void => void inputs.push(input) };
    const turn = snapshots.beginTurn(this.#world.nowMs, core);
    for (const input of inputs) {
      if (input.type === "compact") {
        this.#write(turn, { ...input.snapshot, isReset: false, keepFrom: input.keepFrom });
      } else if (input.type === "snapshotFailed") {
        this.failed.push({ peer: input.peer, atMs: this.#world.nowMs });
      } else if (input.type === "snapshotReceived") {
        const { snapshot, term } = input;
        if (snapshot.index <= this.commitIndex) this.needless.push(snapshot.index);
        else if (this.isAccepting && term >= this.term) restores.push(snapshot);
      }
    }
    for (const { from, message } of this.inbox.splice(0)) turn.read(from, message);
    for (const snapshot of restores) this.#install(turn, snapshot);
    for (const peer of this.#wanted.splice(0)) {
      turn.onWanted({ peer, epoch: this.#epochs.get(peer) as number, afterIndex: 0 });
    }
    this.#apply(turn);
    turn.end(this.#durableSeq);
  }

  #install(turn: SnapshotTurn, snapshot: InstalledSnapshot): void {
    const { index, term, checksum } = snapshot;
    const named = this.#write(turn, { index, term, checksum, isReset: true, keepFrom: index + 1 });
    this.commitIndex = index;
    this.firstIndex = index + 1;
    named.restore(snapshot);
  }

  /** A few entries per turn, so that much happens between two chunks. */
  #apply(turn: SnapshotTurn): void {
    const restored = turn.takeRestored();
    if (restored !== undefined) this.appliedIndex = restored;
    if (this.snapshots.isRestoring) return;
    const to = Math.min(this.commitIndex, this.appliedIndex + 5);
    if (to === this.appliedIndex) return;
    const bytes = (to - this.appliedIndex) * ENTRY_BYTES;
    for (; this.appliedIndex < to; this.appliedIndex += 1) {
      const entry = this.#world.entries[this.appliedIndex] as TableEntry;
      this.table.apply(entry, { toSession: () => {}, attached: () => {} });
    }
    turn.onApplied(to, bytes, this.configuration);
  }

  #write(turn: SnapshotTurn, snapshot: WrittenSnapshot): NamedSnapshots {
    this.#lastSeq += 1;
    const seq = this.#lastSeq;
    this.#written.push({ seq, snapshot });
    const write: Write = {
      seq,
      hardState: undefined,
      truncateFrom: undefined,
      snapshot,
      entries: [],
    };
    this.#isWoken = true;
    return turn.onWrite(write);
  }

  #persist(): void {
    if (!this.isLogWorking) return;
    for (const { seq, snapshot } of this.#written.splice(0)) {
      this.#durableSeq = seq;
      this.#named = snapshot;
      this.firstIndex = Math.max(this.firstIndex, snapshot.keepFrom);
    }
  }
}
