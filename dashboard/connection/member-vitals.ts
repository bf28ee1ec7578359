/**
 * How every member is, asked of the connected node for as long as someone looks: it knows itself, and
 * asks the others over the links between nodes. A member that it does not hear keeps its points and
 * events, and is marked.
 */
import type { Admin, VitalsEvent, VitalsPoint, VitalsView } from "../../src/index.js";
import { isPaused } from "../state/preferences.js";
import { Store } from "../state/store.js";
import type { Cluster } from "./cluster.js";

export interface MemberVitals {
  readonly node: number;
  /** `undefined`: it was never heard. Its points and events are all that are known. */
  readonly vitals: VitalsView | undefined;
  /** `undefined` before the first question is over. */
  readonly isAnswering: boolean | undefined;
}

const INTERVAL_MS = 4_000;
const SILENCE_MS = 8_000;
const POINTS_MAX = 180;
const EVENTS_MAX = 256;

export class VitalsOfMembers {
  readonly state = new Store<ReadonlyMap<number, MemberVitals>>(new Map());
  readonly #cluster: Cluster;
  /** The members that are being asked, and over which connection. */
  readonly #asked = new Map<number, Admin>();
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
  }

  /** Asks those at once that were not known before. */
  onMembers(): void {
    if (this.#ids().some((id) => !this.state.value.has(id))) this.#askAll();
  }

  /** All members that the leader or the connected node names. */
  #ids(): number[] {
    const { members, own } = this.#cluster.state.value;
    const named = members?.members.map(({ id }) => id) ?? [];
    const known = own === undefined ? [] : [own.node, ...own.peers.map(({ node }) => node)];
    return [...new Set([...named, ...known])];
  }

  #askAll(): void {
    const { admin, own } = this.#cluster.state.value;
    if (admin === undefined) return;
    const ids = this.#ids();
    for (const id of ids) {
      if (this.#asked.get(id) !== admin) void this.#ask(admin, id, id === own?.node);
    }
    const gone = [...this.state.value.keys()].filter((id) => !ids.includes(id));
    if (gone.length === 0) return;
    this.state.set(new Map([...this.state.value].filter(([id]) => !gone.includes(id))));
  }

  async #ask(admin: Admin, id: number, isOwn: boolean): Promise<void> {
    this.#asked.set(id, admin);
    const known = this.state.value.get(id)?.vitals;
    const options = { after: known?.wallMs ?? 0, signal: AbortSignal.timeout(SILENCE_MS) };
    try {
      const vitals = await (isOwn ? admin.vitals(options) : admin.vitalsOf(id, options));
      const isAnswering = vitals !== undefined;
      this.#set(admin, { node: id, vitals: joined(known, vitals), isAnswering });
    } catch {
      // The connected node did not answer: the connection itself finds out why.
    }
    if (this.#asked.get(id) === admin) this.#asked.delete(id);
  }

  #set(admin: Admin, member: MemberVitals): void {
    if (this.#isStopped || this.#cluster.state.value.admin !== admin) return;
    this.state.set(new Map(this.state.value).set(member.node, member));
  }
}

/** The newer answer, with the points and events of both. */
function joined(
  before: VitalsView | undefined,
  now: VitalsView | undefined,
): VitalsView | undefined {
  if (before === undefined || now === undefined) return now ?? before;
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
