/**
 * The commands of a transcript: each is one input, or one event of a link or disk. A command
 * that finds nothing to do (no message on the link, no write under way) is a mistake in the
 * transcript and throws.
 */
import type { NodeId } from "../../../../src/raft/index.js";
import type { SimulatedLink } from "../simulated-network.js";
import { messageText } from "./effect-lines.js";
import { Scene } from "./transcript-scene.js";

interface Command {
  readonly pattern: RegExp;
  /** Sets the stage: that nothing comes of it needs no mention. */
  readonly isStage?: boolean;
  readonly run: (scene: Scene, words: readonly string[]) => void;
}

const NEW_CLUSTER =
  /^new-cluster (\d+) voters?(?:, (\d+) spares?)?, timeouts ([\d ]+)(, one entry an append)?$/;

const COMMANDS: readonly Command[] = [
  {
    pattern: /^disk (\d+) term (\d+)(?:, vote (\d+))?(?:, log ([\d ]+))?$/,
    isStage: true,
    run: (scene, [id, term, vote, terms]) =>
      scene.preset(Number(id), Number(term), Number(vote ?? 0), numbers(terms)),
  },
  {
    pattern: /^start(?: ([\d ]+))?$/,
    isStage: true,
    run: (scene, [ids]) => {
      for (const id of ids === undefined ? scene.cluster.ids : numbers(ids)) scene.start(id);
    },
  },
  { pattern: /^tick ([\d.]+)$/, run: (scene, [durationMs]) => scene.tick(Number(durationMs)) },
  {
    pattern: /^deliver (\d+)->(\d+)(?: (\d+))?$/,
    run: (scene, [from, to, count]) => {
      const link = linkOf(scene, from, to);
      noteMessages(scene, link, Number(count ?? 1));
      scene.running(link.to);
      scene.cluster.deliver(link, Number(count ?? 1));
    },
  },
  {
    pattern: /^lose (\d+)->(\d+)$/,
    isStage: true,
    run: (scene, [from, to]) => {
      const link = linkOf(scene, from, to);
      noteMessages(scene, link, 1);
      scene.cluster.network.lose(link, 0);
    },
  },
  {
    pattern: /^repeat (\d+)->(\d+)$/,
    isStage: true,
    run: (scene, [from, to]) => {
      const link = linkOf(scene, from, to);
      noteMessages(scene, link, 1);
      scene.cluster.network.repeat(link, 0);
    },
  },
  {
    pattern: /^durable (\d+)(?: (\d+))?$/,
    run: (scene, [id, count]) => {
      const { pending } = scene.running(Number(id)).disk;
      const writes = pending.slice(0, Number(count ?? pending.length));
      if (writes.length === 0 || writes.length < Number(count ?? 0)) {
        throw new Error(`node ${id} has ${writes.length} writes on their way`);
      }
      scene.note(`> write ${writes.map(({ seq }) => seq).join(" ")}`);
      scene.cluster.persist(Number(id), writes.length);
    },
  },
  {
    pattern: /^propose (\d+)$/,
    run: (scene, [id]) => {
      scene.noteRequest(scene.cluster.propose(scene.running(Number(id)).id));
    },
  },
  {
    pattern: /^read (\d+)$/,
    run: (scene, [id]) => {
      scene.noteRequest(scene.cluster.read(scene.running(Number(id)).id));
    },
  },
  {
    pattern: /^change (\d+) to voters ([\d ]+)(?:, learners ([\d ]+))?$/,
    run: (scene, [id, voters, learners]) => {
      const { id: leader } = scene.running(Number(id));
      scene.noteRequest(scene.cluster.change(leader, numbers(voters), numbers(learners)));
    },
  },
  {
    pattern: /^transfer (\d+) to (\d+)$/,
    run: (scene, [id, to]) => {
      const { id: leader } = scene.running(Number(id));
      scene.noteRequest(scene.cluster.transferLeadership(leader, Number(to)));
    },
  },
  {
    pattern: /^compact (\d+)$/,
    run: (scene, [id]) => {
      if (!scene.cluster.compact(scene.running(Number(id)).id))
        throw new Error(`node ${id} has nothing to compact`);
    },
  },
  {
    pattern: /^snapshot (\d+)->(\d+)$/,
    run: (scene, [from, to]) => {
      const link = linkOf(scene, from, to);
      const { snapshot } = link.transfers[0] ?? {};
      if (snapshot === undefined) throw new Error(`no snapshot is on its way to ${to}`);
      scene.note(`> snapshot ${snapshot.index}@${snapshot.term}`);
      scene.running(link.to);
      scene.cluster.deliverSnapshot(link);
    },
  },
  { pattern: /^crash (\d+)$/, isStage: true, run: (scene, [id]) => scene.crash(Number(id)) },
  { pattern: /^pause (\d+)$/, isStage: true, run: (scene, [id]) => scene.pause(Number(id)) },
  { pattern: /^resume (\d+)$/, run: (scene, [id]) => scene.resume(Number(id)) },
  {
    pattern: /^isolate ([\d ]+)$/,
    isStage: true,
    run: (scene, [ids]) => scene.cluster.isolate(...numbers(ids)),
  },
  { pattern: /^heal$/, isStage: true, run: (scene) => scene.heal() },
  { pattern: /^settle$/, run: (scene) => scene.settle() },
  {
    pattern: /^status(?: ([\d ]+))?$/,
    run: (scene, [ids]) => {
      for (const id of ids === undefined ? scene.cluster.ids : numbers(ids)) scene.status(id);
    },
  },
];

/** The stage that a `new-cluster` sets; `undefined` for every other command. */
export function sceneOf(line: string): Scene | undefined {
  const match = NEW_CLUSTER.exec(line);
  if (match === null) return undefined;
  const [, voters, spares, timeoutsMs, isOneEntryAnAppend] = match;
  return new Scene({
    voters: Number(voters),
    spares: Number(spares ?? 0),
    timeoutsMs: numbers(timeoutsMs),
    isOneEntryAnAppend: isOneEntryAnAppend !== undefined,
  });
}

/** Carries out one line of a transcript. */
export function runCommand(scene: Scene, line: string): void {
  for (const { pattern, isStage, run } of COMMANDS) {
    const match = pattern.exec(line);
    if (match === null) continue;
    run(scene, match.slice(1));
    if (isStage !== true && !scene.hasEffects) scene.note("nothing");
    return;
  }
  throw new Error(`no command: ${line}`);
}

function linkOf(scene: Scene, from = "", to = ""): SimulatedLink {
  return scene.cluster.network.link(Number(from), Number(to));
}

/** The oldest `count` messages on `link` are about to go. */
function noteMessages(scene: Scene, link: SimulatedLink, count: number): void {
  const messages = link.queue.slice(0, count);
  if (messages.length < count) {
    throw new Error(`${messages.length} messages are on their way from ${link.from} to ${link.to}`);
  }
  for (const message of messages) scene.note(`> ${messageText(message)}`);
}

function numbers(words: string | undefined): NodeId[] {
  return words === undefined ? [] : words.split(" ").map(Number);
}
