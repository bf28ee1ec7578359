/**
 * Counts how often a run reached each pair of a state and an event, because bugs are in what is
 * rare: the role, snapshots, members and disk of a node when its core is stepped; how a client
 * got its session when a node sends it a message. It judges nothing and changes nothing, and is
 * off by default.
 */
import { errorCodeOf } from "../../../src/errors/index.js";
import type { LockTable } from "../../../src/lockfsm/index.js";
import {
  type AttachCommand,
  MESSAGE,
  OP,
  type ServerMessage,
} from "../../../src/protocol/index.js";
import { type Input, isJoint, type Raft } from "../../../src/raft/index.js";
import type { SimNode } from "../world/node/sim-node.js";
import type { CoreWatch } from "../world/node/watched-core.js";
import { DOMAINS, type DomainName } from "./coverage-domains.js";

/** By the name of the pair; see `pairName`. What was never seen is left out. */
export type PairCounts = Readonly<Record<string, number>>;

export function pairName(domain: string, state: string, event: string): string {
  return `${domain}: ${state} × ${event}`;
}

const WAY_NAMES: ReadonlyMap<number, string> = new Map([
  [OP.open, "open"],
  [OP.resume, "resume"],
]);
const MESSAGE_NAMES: ReadonlyMap<number, string> = new Map(
  Object.entries(MESSAGE).map(([name, kind]) => [kind, name]),
);

export class Coverage {
  readonly #counts = new Map<DomainName, Map<string, Map<string, number>>>();

  /** An ear on the core of that node, in addition to the one that judges it. */
  coreOf(node: SimNode, raft: Raft): Pick<CoreWatch, "beforeStep"> {
    return new CoreCoverage(this, node, raft);
  }

  /** A node says that to a client which last asked for its session in this way. */
  hear(way: AttachCommand["op"], message: ServerMessage): void {
    const state = WAY_NAMES.get(way) ?? "";
    if (message.kind === MESSAGE.attached) {
      this.add("attaching", state, errorCodeOf(message.status) ?? "ok");
    } else {
      this.add("session", state, MESSAGE_NAMES.get(message.kind) ?? "");
    }
  }

  add(domain: DomainName, state: string, event: string): void {
    let states = this.#counts.get(domain);
    if (states === undefined) {
      states = new Map();
      this.#counts.set(domain, states);
    }
    let events = states.get(state);
    if (events === undefined) {
      events = new Map();
      states.set(state, events);
    }
    events.set(event, (events.get(event) ?? 0) + 1);
  }

  /** Pairs that no domain has are not counted: they are of no interest, as greetings are. */
  get counts(): PairCounts {
    const counts: Record<string, number> = {};
    for (const [domain, { states, events }] of Object.entries(DOMAINS)) {
      const seen = this.#counts.get(domain as DomainName);
      for (const state of states) {
        for (const event of events) {
          const count = seen?.get(state)?.get(event) ?? 0;
          if (count > 0) counts[pairName(domain, state, event)] = count;
        }
      }
    }
    return counts;
  }
}

/** What its snapshots and its disk are at is looked at once a turn, which a tick begins. */
class CoreCoverage implements Pick<CoreWatch, "beforeStep"> {
  readonly #coverage: Coverage;
  readonly #node: SimNode;
  readonly #raft: Raft;
  #snapshots: readonly string[] = [];
  #wasRestoring = false;

  constructor(coverage: Coverage, node: SimNode, raft: Raft) {
    this.#coverage = coverage;
    this.#node = node;
    this.#raft = raft;
  }

  beforeStep(input: Input): void {
    const coverage = this.#coverage;
    const { role, configuration } = this.#raft;
    if (input.type === "tick" && this.#node.state === "running") this.#beginTurn();
    const event = eventOf(input);
    coverage.add("role", role, event);
    const hasLearner = configuration.learners.length > 0;
    const members = isJoint(configuration) ? "joint" : hasLearner ? "learner" : "simple";
    coverage.add("members", members, event);
    for (const state of this.#snapshots) coverage.add("snapshot", state, event);
  }

  #beginTurn(): void {
    const { assembled, disk } = this.#node;
    const { isTaking, isRestoring, sending, receiving } = assembled.driver.status.snapshots;
    const snapshots: string[] = [];
    if (isTaking) snapshots.push("taking");
    if (sending.length > 0) snapshots.push("sending");
    if (receiving !== undefined) snapshots.push("receiving");
    if (isRestoring) snapshots.push("restoring");
    this.#snapshots = snapshots;
    if (this.#wasRestoring && !isRestoring) {
      this.#coverage.add("installed", gapsIn(assembled.table), "table");
    }
    this.#wasRestoring = isRestoring;
    for (const state of disk.weather.troubles) this.#coverage.add("disk", state, this.#raft.role);
  }
}

function eventOf(input: Input): string {
  if (input.type !== "message") return input.type;
  const { message } = input;
  if (message.type === "appendReply" && !message.success) return "appendReply refused";
  if (message.type === "vote" && message.isTransfer) return "vote of a transfer";
  return message.type;
}

const PAGE_KEYS = 200;

function gapsIn(table: LockTable): string {
  const gaps = table.query("", undefined, PAGE_KEYS).keys.map(({ holds }) => {
    const slots = holds.flatMap((hold) => hold.slots);
    return Math.max(-1, ...slots) + 1 - slots.length;
  });
  return Math.max(0, ...gaps) > 1 ? "several gaps" : "at most one gap";
}
