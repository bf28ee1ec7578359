/**
 * How every member is, asked of each by a connection of its own, for as long as someone looks. A
 * member that does not answer keeps what it said last, and is marked.
 */
import type { Admin, VitalsEvent, VitalsPoint, VitalsView } from "../../src/index.js";
import { isPaused } from "../state/preferences.js";
import { Store } from "../state/store.js";
import type { Cluster } from "./cluster.js";
import type { KnownNode } from "./sentences.js";

export interface MemberVitals {
  readonly node: number;
  /** `undefined`: it never answered this page. Its points and events are all that are known. */
  readonly vitals: VitalsView | undefined;
  /** `undefined` before the first question is over. */
  readonly isAnswering: boolean | undefined;
}

const INTERVAL_MS = 4_000;
const SILENCE_MS = 3_000;
const POINTS_MAX = 180;
const EVENTS_MAX = 256;

interface Member {
  readonly endpoint: string;
  admin: Admin | undefined;
  isAsked: boolean;
}

export class VitalsOfMembers {
  readonly state = new Store<ReadonlyMap<number, MemberVitals>>(new Map());
  readonly #cluster: Cluster;
  readonly #members = new Map<number, Member>();
  #timer: ReturnType<typeof setInterval> | undefined;
  #isStopped = false;

  constructor(cluster: Cluster) {
    this.#cluster = cluster;
  }

  start(): void {
    this.#askAll();
    this.#timer = setInterval(() => {
      if (!isPaused.value && !document.hidden) this.#askAll();
    }, INTERVAL_MS);
  }

  stop(): void {
    this.#isStopped = true;
    clearInterval(this.#timer);
    for (const { admin } of this.#members.values()) void admin?.close();
  }

  /** Asks those at once that were not known before. */
  onNodes(nodes: readonly KnownNode[]): void {
    for (const { id } of nodes) if (id !== 0 && !this.#members.has(id)) this.#askAll();
  }

  #askAll(): void {
    const { nodes } = this.#cluster.state.value;
    for (const { id, endpoint } of nodes) {
      if (id === 0) continue;
      let member = this.#members.get(id);
      if (member?.endpoint !== endpoint) {
        void member?.admin?.close();
        member = { endpoint, admin: undefined, isAsked: false };
        this.#members.set(id, member);
      }
      if (!member.isAsked) void this.#ask(id, member);
    }
    for (const id of this.#members.keys()) {
      if (nodes.some((node) => node.id === id)) continue;
      void this.#members.get(id)?.admin?.close();
      this.#members.delete(id);
      const rest = new Map(this.state.value);
      rest.delete(id);
      this.state.set(rest);
    }
  }

  async #ask(id: number, member: Member): Promise<void> {
    member.isAsked = true;
    const known = this.state.value.get(id)?.vitals;
    try {
      const signal = AbortSignal.timeout(SILENCE_MS);
      member.admin ??= await this.#cluster.connectTo(member.endpoint, signal);
      const vitals = await member.admin.vitals({ after: known?.wallMs ?? 0, signal });
      this.#set(id, { node: id, vitals: joined(known, vitals), isAnswering: true });
    } catch {
      // Whatever the reason: this page has no answer of that node, and says so.
      void member.admin?.close();
      member.admin = undefined;
      this.#set(id, { node: id, vitals: known, isAnswering: false });
    }
    member.isAsked = false;
    if (this.#isStopped) void member.admin?.close();
  }

  #set(id: number, member: MemberVitals): void {
    if (!this.#isStopped) this.state.set(new Map(this.state.value).set(id, member));
  }
}

/** The newer answer, with the points and events of both. */
function joined(before: VitalsView | undefined, now: VitalsView): VitalsView {
  if (before === undefined) return now;
  return {
    ...now,
    points: merged<VitalsPoint>(before.points, now.points, POINTS_MAX),
    events: merged<VitalsEvent>(before.events, now.events, EVENTS_MAX),
  };
}

function merged<Item extends { readonly wallMs: number }>(
  before: readonly Item[],
  now: readonly Item[],
  max: number,
): readonly Item[] {
  const firstMs = now[0]?.wallMs ?? Number.POSITIVE_INFINITY;
  return [...before.filter(({ wallMs }) => wallMs < firstMs), ...now].slice(-max);
}
