/**
 * What an admitted peer makes up for a whole node. The input is a recipe: its bytes choose, step by
 * step, messages that fit the receiver's state, with right checksums and legal beginnings, which
 * changes of bytes never reach: entries beyond its log, stamps at the edges, members, snapshots
 * that make a table and others that do not. The node may believe what a member could have said; but
 * it is killed and started again after it, and then it starts, and the cluster serves.
 */
import { LockTable, NOBODY } from "../../../../src/lockfsm/index.js";
import type { PeerMessage } from "../../../../src/net/types.js";
import { latestStampAfter, STAMP_MAX, STATUS } from "../../../../src/protocol/index.js";
import { type Configuration, type Entry, encodeConfiguration } from "../../../../src/raft/index.js";
import { SnapshotDigest } from "../../../../src/storage/snapshots/digest.js";
import { encodeBatch } from "../../../protocol/command-bytes.js";
import type { WorldNode } from "../../../server/world/world.js";
import type { Mutator } from "../../engine/mutators.js";
import { demand, type FuzzTarget } from "../../engine/target.js";
import { begin, demandAlive, type Scene } from "./node-messages.js";

const STEPS_MAX = 12;
const STEP_MS = 8;
const SERVE_MS = 30_000;
const STRANGER = 99;
const TEXT = Buffer.from("127.0.0.1:7001");
const UNDIALABLE = Buffer.from("xxxxxxxxxxxxxx");

/** Reads choices from the recipe; its end chooses the first of everything. */
class Choices {
  readonly #bytes: Uint8Array;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#bytes.length;
  }

  below(end: number): number {
    const byte = this.#bytes[this.#at] ?? 0;
    this.#at += 1;
    return byte % end;
  }

  pick<T>(first: T, ...others: readonly T[]): T {
    return [first, ...others][this.below(others.length + 1)] ?? first;
  }
}

type Step = (scene: Scene, choices: Choices) => PeerMessage[];

const STEPS: readonly Step[] = [append, snapshot, append, snapshot, question, answer, hint];

export const peerLies: FuzzTarget = {
  name: "peer-lies",
  about: "messages that a peer makes up to fit a whole node, which is then killed and started",
  corpus: () => [
    // One of each step with its first choices, and the attacks that once succeeded.
    ...STEPS.map((_, at) => Uint8Array.of(0, at)),
    Uint8Array.of(0, 4, 0, 0, 1, 0, 0, 0, 0, 0),
    Uint8Array.of(1, 0, 1, 0, 0, 3, 0, 5, 2, 4, 0, 0, 0, 0),
    Uint8Array.of(0, 0, 1, 0, 0, 1, 2, 1, 2, 2, 2, 3, 2, 4),
    Uint8Array.of(3, 5, 0, 1, 0, 1),
    Uint8Array.of(0, 0, 2, 0, 1, 0, 1, 0, 0, 0),
    ...Array.from({ length: 24 }, (_, seed) =>
      Uint8Array.from({ length: 40 }, (__, at) => ((seed * 131 + 7) * (at * 61 + 17)) >> 3),
    ),
  ],
  mutators: [setChoice, joinRecipes],
  bytesMax: 200,
  steps: { fixed: 60_000_000, perByte: 400_000 },
  shortRuns: 12,
  async run(input) {
    const choices = new Choices(input);
    const scene = await begin(choices.below(4));
    const { world, sender, receiver } = scene;
    let isHeard = false;
    for (let step = 0; step < STEPS_MAX && !choices.isAtEnd; step += 1) {
      const before = stateOf(receiver);
      const make = STEPS[choices.below(STEPS.length)] ?? append;
      for (const message of make(scene, choices)) {
        receiver.driver.peerEvents.onMessage(sender.id, 0, message);
      }
      await world.run(STEP_MS);
      demandAlive(receiver);
      isHeard ||= stateOf(receiver) !== before;
    }
    receiver.crash();
    await receiver.restart();
    await world.run(STEP_MS);
    demandAlive(receiver);
    await demandService(scene);
    return isHeard ? "taken" : "refused";
  },
};

/** A node that was not spoken to grants a lock, with all nodes up. */
async function demandService({ world, sender, receiver }: Scene): Promise<void> {
  const third = world.nodes.find((node) => node !== sender && node !== receiver);
  demand(third !== undefined, () => "there are three nodes");
  await world.until("a leader", () => world.leader !== undefined, SERVE_MS);
  const client = world.client();
  await client.start(third);
  const { result } = await client.untilReply(client.acquire(`k-${client.nonce}`, 0));
  demand(result.status === STATUS.granted, () => `status ${result.status} instead of a grant`);
  for (const node of world.nodes) demandAlive(node);
}

function stateOf({ raft }: WorldNode): string {
  return [raft.term, raft.leader, raft.lastIndex, raft.commitIndex, raft.snapshotIndex].join(" ");
}

function headOf({ world, sender, receiver }: Scene, choices: Choices) {
  const { term } = receiver.raft;
  // What the receiver asked came with it, and an answer with another one is not heard.
  const epoch = world.network.epochOf(receiver.id, sender.id);
  // Jumps that add up to more than the other nodes believe are left out (decision 21).
  const said = choices.pick(term, term + 1, term + 2 ** 20, term + 2 ** 24 + 1, 2 ** 52);
  return { from: sender.id, to: receiver.id, term: said, epoch };
}

/** Entries beyond the log of the receiver, or in the place of some that it has. */
function append(scene: Scene, choices: Choices): PeerMessage[] {
  const { raft, table } = scene.receiver;
  const head = headOf(scene, choices);
  const back = choices.pick(0, 1, raft.lastIndex - raft.commitIndex, raft.lastIndex);
  const prevLogIndex = Math.max(raft.baseIndex, raft.lastIndex - back);
  const isBase = prevLogIndex === raft.baseIndex;
  const prevLogTerm = isBase ? raft.baseTerm : raft.entry(prevLogIndex).term;
  const entries: Entry[] = [];
  let stamp = table.stamp;
  for (let left = choices.pick(1, 2, 5, 0); left > 0; left -= 1) {
    const index = prevLogIndex + entries.length + 1;
    const kind = choices.pick("command", "configuration", "noop");
    const latest = latestStampAfter(stamp);
    const one = choices.pick(
      stamp + 1,
      latest,
      stamp + 2 ** 40,
      latest + 1,
      STAMP_MAX,
      2 ** 53 - 1,
    );
    const data =
      kind === "configuration"
        ? membersBytes(raft.configuration, scene.receiver.id, choices)
        : kind === "command"
          ? encodeBatch(one, choices.pick(1, 8.64e15), 0, [])
          : new Uint8Array(0);
    if (kind === "command") stamp = one;
    entries.push({ index, term: Math.max(prevLogTerm, head.term), kind, data });
  }
  const last = prevLogIndex + entries.length;
  const commitIndex = choices.pick(last, 0, 2 ** 52);
  const message = { ...head, prevLogIndex, prevLogTerm, commitIndex, entries };
  return [{ type: "raft", message: { type: "append", ...message } }];
}

/**
 * Members as bytes. Legal steps that take the cluster from its nodes are left out: a member that
 * makes them is believed (docs/internals/peer-links.md).
 */
function membersBytes(own: Configuration, self: number, choices: Choices): Uint8Array {
  const { voters, addresses } = own;
  const strange = [{ id: STRANGER, address: TEXT.toString() }];
  const learner = { ...own, learners: [STRANGER], addresses: [...addresses, ...strange] };
  const plain = (ids: readonly number[]): Configuration => ({
    ...{ voters: ids, outgoing: [], learners: [] },
    addresses: [...addresses, ...strange].filter(({ id }) => ids.includes(id)),
  });
  const made = choices.pick<() => Configuration>(
    () => own,
    () => plain([STRANGER]),
    () => plain([self]),
    () => plain(voters.slice(1)),
    () => (own.outgoing.length > 0 || own.learners.length > 0 ? own : learner),
    () => ({ ...plain([...voters, STRANGER]), outgoing: voters }),
  )();
  const bytes = Buffer.from(encodeConfiguration(made));
  const damage = choices.below(4);
  const at = bytes.indexOf(TEXT);
  if (damage === 1 && at >= 0) UNDIALABLE.copy(bytes, at);
  return Uint8Array.from(damage === 2 ? bytes.subarray(0, -1) : bytes);
}

/** An offer with its right checksum, and chunks that make its table, or do not. */
function snapshot(scene: Scene, choices: Choices): PeerMessage[] {
  const { raft, table } = scene.receiver;
  const { term, epoch } = headOf(scene, choices);
  const index = choices.pick(raft.commitIndex + 9, raft.commitIndex, 2 ** 40, 2 ** 52, 2 ** 53 - 1);
  const shown = choices.pick(index, index - 1, 1);
  const stamp = choices.pick(table.stamp + 1, latestStampAfter(table.stamp), STAMP_MAX);
  const forged = new LockTable();
  forged.apply({ index: shown, stamp, wallMs: 1, commands: [] }, NOBODY);
  const whole = [...forged.snapshot(choices.pick(64, 1, 4_096))];
  const garbage = [Uint8Array.from({ length: 64 }, (_, at) => (at * 37) & 255)];
  const chunks = choices.pick(garbage, whole, whole.slice(0, -1), [...whole, ...whole]);
  const digest = new SnapshotDigest();
  for (const chunk of chunks) digest.add(chunk);
  const configuration = membersBytes(raft.configuration, scene.receiver.id, choices);
  const made = digest.manifestOf(
    { index, term: Math.min(term, raft.lastTerm) || 1 },
    configuration,
  );
  const checksum = choices.pick(made.checksum, "5e".repeat(32));
  const offer: PeerMessage = {
    ...{ type: "snapshotOffer", term, epoch },
    snapshot: { ...made, checksum },
  };
  const said = chunks.map((bytes, number): PeerMessage => {
    return { type: "snapshotChunk", checksum, number, bytes };
  });
  // The store is cleared before the first chunk is wanted: what came too early comes again.
  return [offer, ...said.slice(0, 8)];
}

function question(scene: Scene, choices: Choices): PeerMessage[] {
  const { raft } = scene.receiver;
  const head = headOf(scene, choices);
  const count = choices.pick(raft.lastIndex, 0, 2 ** 52, 2 ** 53 - 1);
  const end = { lastLogIndex: count, lastLogTerm: count === 0 ? 0 : Math.max(1, head.term - 1) };
  const message = choices.pick(
    { ...head, type: "heartbeat" as const, commitIndex: count, round: choices.pick(1, 2 ** 52) },
    { ...head, type: "vote" as const, ...end, isTransfer: choices.below(2) === 1 },
    { ...head, type: "preVote" as const, ...end, isTransfer: false },
    { ...head, type: "timeoutNow" as const, ...end },
  );
  return [{ type: "raft", message }];
}

function answer(scene: Scene, choices: Choices): PeerMessage[] {
  const { raft, driver } = scene.receiver;
  const head = headOf(scene, choices);
  const count = choices.pick(raft.lastIndex, 0, raft.lastIndex + 1, 2 ** 52);
  const index = driver.status.snapshots.index;
  const outcome = choices.pick(
    { success: true, needsSnapshot: false, matchIndex: count, hintIndex: 0, hintTerm: 0 },
    { success: false, needsSnapshot: true, matchIndex: 0, hintIndex: count, hintTerm: 1 },
    { success: false, needsSnapshot: false, matchIndex: 0, hintIndex: index, hintTerm: 1 },
  );
  const reply = { ...head, type: "appendReply" as const, rejectedIndex: count, ...outcome };
  if (reply.hintIndex === 0) Object.assign(reply, { hintTerm: 0 });
  const checksum = "5e".repeat(32);
  return [
    { type: "raft", message: reply },
    { type: "snapshotProgress", checksum, next: 2 ** 32 - 1 },
    { type: "snapshotRefused", checksum, reason: "no" },
  ];
}

function hint({ receiver }: Scene, choices: Choices): PeerMessage[] {
  const index = choices.pick(2 ** 50, receiver.raft.lastIndex, 0);
  const { configuration: own } = receiver.raft;
  return [{ type: "members", index, configuration: membersBytes(own, receiver.id, choices) }];
}

function setChoice(...[input, { random }]: Parameters<Mutator>): Uint8Array | undefined {
  if (input.length === 0) return undefined;
  const bytes = input.slice();
  bytes[random.below(bytes.length)] = random.below(8);
  return bytes;
}

/** One lie after the other. */
function joinRecipes(...[input, source]: Parameters<Mutator>): Uint8Array {
  return Uint8Array.from([...input, ...source.other().slice(1)]);
}
