/**
 * The traces of a whole run, judged from outside: what `docs/internals/trace.md` promises must be
 * enough to check election safety, log matching and that nothing committed is ever contradicted.
 */
import { describe, expect, test } from "vitest";
import { seededRandom } from "../../../lab/random-stream.js";
import { Operator } from "../world/operator.js";
import type { TestClient } from "../world/test-client.js";
import { World } from "../world/world.js";

const QUICK = { electionTimeoutMs: 120, heartbeatIntervalMs: 30, closedPeerDelayMs: 20 };

interface Line {
  readonly n: number;
  readonly ms: number;
  readonly node: number;
  readonly event: string;
  readonly [field: string]: unknown;
}

/** What one node's lines say about it. Only what is documented is used. */
class Witnessed {
  /** Terms by index. */
  readonly log = new Map<number, number>();
  n = 0;
  ms = 0;
  role = "follower";
  term = 0;
  vote = 0;
  commitIndex = 0;
  lastIndex = 0;
  firstIndex = 1;
  /** The first of the leader's own entries of this term. */
  ownFrom = Number.POSITIVE_INFINITY;
  /** The latest that any append said of an index. */
  readonly told = new Map<number, number>();
  durableSeq = 0;
}

class Judge {
  readonly nodes = new Map<number, Witnessed>();
  readonly leaders = new Map<number, number>();
  readonly votes = new Map<string, number>();
  readonly committed = new Map<number, number>();
  readonly events = new Set<string>();
  count = 0;

  read(text: string): void {
    const line = JSON.parse(text) as Line;
    expect(text).not.toContain("\n");
    this.count += 1;
    this.events.add(line.event);
    const node = this.#nodeOf(line);
    if (line.event === "boot") {
      expect(line.n).toBe(1);
      this.#boot(node, line);
    } else {
      expect(line.n).toBe(node.n + 1);
      expect(line.ms).toBeGreaterThanOrEqual(node.ms);
    }
    node.n = line.n;
    node.ms = line.ms;
    if (line.event === "receive") this.#receive(node, line);
    else if (line.event === "state") this.#change(node, line);
    else if (line.event === "write") this.#write(node, line);
    else if (line.event === "persisted") node.durableSeq = line["seq"] as number;
  }

  /** Log matching: who agrees on one entry agrees on everything before it. */
  checkLogs(): void {
    const nodes = [...this.nodes.values()];
    for (const a of nodes) {
      for (const b of nodes) {
        let agreed = false;
        for (let at = Math.min(a.lastIndex, b.lastIndex); at >= 1; at -= 1) {
          const [left, right] = [a.log.get(at), b.log.get(at)];
          if (left === undefined || right === undefined) continue;
          if (agreed) expect(`${at}: ${left}`).toBe(`${at}: ${right}`);
          else agreed = left === right;
        }
      }
    }
  }

  #nodeOf({ node: id }: Line): Witnessed {
    const known = this.nodes.get(id) ?? new Witnessed();
    this.nodes.set(id, known);
    return known;
  }

  #boot(node: Witnessed, line: Line): void {
    node.told.clear();
    node.commitIndex = 0;
    node.ownFrom = Number.POSITIVE_INFINITY;
    this.#change(node, line);
    for (const index of [...node.log.keys()]) if (index > node.lastIndex) node.log.delete(index);
    for (let at = node.firstIndex; at <= node.lastIndex; at += 1) {
      expect([line.node, at, node.log.has(at)]).toEqual([line.node, at, true]);
    }
  }

  #receive(node: Witnessed, line: Line): void {
    if (line["message"] !== "append") return;
    for (const [index, term] of line["entries"] as [number, number, string][]) {
      node.told.set(index, term);
    }
  }

  #change(node: Witnessed, line: Line): void {
    const { term = node.term } = line as { term?: number };
    if (line.event !== "boot") expect(term).toBeGreaterThanOrEqual(node.term);
    for (const name of [
      "role",
      "term",
      "vote",
      "commitIndex",
      "lastIndex",
      "firstIndex",
    ] as const) {
      if (line[name] !== undefined) Object.assign(node, { [name]: line[name] });
    }
    if (node.vote !== 0) {
      const key = `${line.node} in ${node.term}`;
      expect([key, this.votes.get(key) ?? node.vote]).toEqual([key, node.vote]);
      this.votes.set(key, node.vote);
    }
    if (line["role"] === "leader") {
      expect([node.term, this.leaders.get(node.term)]).toEqual([node.term, undefined]);
      this.leaders.set(node.term, line.node);
      node.ownFrom = node.lastIndex;
    } else if (node.role !== "leader") {
      node.ownFrom = Number.POSITIVE_INFINITY;
    }
    this.#commit(node);
  }

  #write(node: Witnessed, line: Line): void {
    const truncateFrom = line["truncateFrom"] as number | undefined;
    const from = (line["from"] as number | undefined) ?? 0;
    const count = line["count"] as number;
    if (truncateFrom !== undefined) {
      expect(truncateFrom).toBeGreaterThan(node.commitIndex);
      for (const index of [...node.log.keys()]) if (index >= truncateFrom) node.log.delete(index);
    }
    for (let at = from; at < from + count; at += 1) {
      const term = at >= node.ownFrom ? node.term : node.told.get(at);
      expect([line.node, at, term]).toEqual([line.node, at, expect.any(Number)]);
      node.log.set(at, term as number);
    }
    this.#commit(node);
  }

  /** State machine safety, of terms: an entry once committed is what it is for everybody. */
  #commit(node: Witnessed): void {
    for (let at = node.commitIndex; at >= 1; at -= 1) {
      const term = node.log.get(at);
      if (term === undefined) continue;
      const known = this.committed.get(at);
      if (known === undefined) this.committed.set(at, term);
      else expect(`${at}: ${term}`).toBe(`${at}: ${known}`);
      if (known !== undefined && at < node.commitIndex - 64) return;
    }
  }
}

async function runThrough(judge: Judge, seed: number): Promise<void> {
  const random = seededRandom(seed);
  const trace = (line: string): void => judge.read(line);
  const world = new World({ seed, tuning: QUICK, trace });
  world.startAll();
  await world.untilLeader();
  const client: TestClient = world.client();
  for (let step = 0; step < 60; step += 1) {
    const node = world.nodes[Math.floor(random() * 3)];
    if (node === undefined) continue;
    const chance = random();
    if (!node.isRunning) node.start();
    else if (chance < 0.1) node.crash();
    else if (chance < 0.2)
      world.network.cut(
        [node.id],
        [1, 2, 3].filter((id) => id !== node.id),
      );
    else if (chance < 0.4) world.network.heal();
    else if (chance < 0.5) new Operator(world, node).askTransfer(0);
    else if (chance < 0.6) client.connect(node);
    else if (client.hello !== undefined && client.closed === undefined) client.attach();
    await world.run(random() * 150);
  }
  world.network.heal();
  for (const node of world.nodes) if (!node.isRunning) node.start();
  await world.untilLeader();
}

describe("the trace of a run", () => {
  test.each([1, 2, 3, 4, 5])("is enough to judge it: seed %i", async (seed) => {
    const judge = new Judge();
    await runThrough(judge, seed);
    judge.checkLogs();
    expect(judge.leaders.size).toBeGreaterThan(1);
    expect(judge.committed.size).toBeGreaterThan(judge.leaders.size);
    for (const event of ["boot", "state", "receive", "send", "sendAfter", "write", "persisted"]) {
      expect([...judge.events]).toContain(event);
    }
  });

  test.each([
    ["two lead one term", { event: "state", role: "leader", term: 2, lastIndex: 4 }],
    ["somebody votes twice", { event: "state", vote: 3 }],
    ["the term falls", { event: "state", term: 1 }],
    ["a line is missing", { n: 5, event: "state" }],
    ["what is committed is cut off", { event: "write", seq: 3, truncateFrom: 1, count: 0 }],
  ])("would notice that %s", (_, line) => {
    const judge = new Judge();
    const boot = { n: 1, ms: 0, event: "boot", lastIndex: 0, firstIndex: 1 };
    const lines: object[] = [
      { ...boot, node: 1, role: "leader", term: 2, vote: 1 },
      { ...boot, node: 2, role: "follower", term: 2, vote: 1 },
      { n: 2, ms: 0, node: 2, event: "receive", message: "append", entries: [[1, 2, "noop"]] },
      { n: 3, ms: 0, node: 2, event: "state", commitIndex: 1, lastIndex: 1 },
    ];
    for (const good of lines) judge.read(JSON.stringify(good));
    expect(() => judge.read(JSON.stringify({ n: 4, ms: 1, node: 2, ...line }))).toThrow();
  });
});
