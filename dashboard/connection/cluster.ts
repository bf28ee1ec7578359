/**
 * The page's connection to its cluster: a client like every other, with one read-only connection
 * to the node that the page came from, and to another member when that node does not answer. What
 * changes something is done over a connection of its own, which lasts as long as the act.
 *
 * Must never show the access token to anyone, nor act by the connection that reads.
 */
import {
  type Admin,
  type ConnectAdminOptions,
  connectAdmin,
  HoldfastError,
  type MembersView,
  type VitalsView,
  type WhoAmIView,
} from "../../src/index.js";
import { announce } from "../state/announcements.js";
import { Store } from "../state/store.js";
import { currentToken, forgetToken, keepToken } from "./access-token.js";
import { firstToAnswer } from "./node-search.js";
import { type KnownNode, lostText, nameOf, searchText, signInReason } from "./sentences.js";

export interface ClusterState {
  /**
   * "signIn": the cluster does not know the viewer, or grants them nothing. "lost": no node that the
   * page knows answers; it keeps trying.
   */
  readonly phase: "connecting" | "connected" | "signIn" | "lost";
  /** Reads only. `undefined` unless connected; another object after each change of the node. */
  readonly admin: Admin | undefined;
  /** The node behind `admin`; 0 if unknown. */
  readonly node: number;
  /** `undefined` while it is not known, for which a cluster may need a leader. */
  readonly viewer: WhoAmIView | undefined;
  /** As the leader last told; `undefined` if none did. */
  readonly members: MembersView | undefined;
  /** What the node behind `admin` last said of itself, without points and events. */
  readonly own: VitalsView | undefined;
  /** The node that leads, as far as that one knows; 0: none does. */
  readonly leader: number;
  /** A sentence about the connection, for a banner. */
  readonly notice: string | undefined;
  /** Why the viewer has to sign in. */
  readonly signInReason: string | undefined;
  /** All nodes that the page knows. */
  readonly nodes: readonly KnownNode[];
}

/** Shorter than the SDK keeps an idle connection, so that it stays the same one. */
const ROUND_MS = 800;
/** A node that says nothing for so long is left, and … */
const SILENCE_MS = 3_000;
/** … for this many times as long as its slowest answer took, if it is far away. */
const SILENCE_ANSWERS = 3;
const RETRY_MS = 2_000;
/** A new connection takes three or four round trips, with TLS and a token up to seven. */
const CALL_TIMEOUT_MS = 20_000;
/** The members and the viewer's rights are asked for once in this many rounds. */
const MEMBERS_ROUNDS = 3;
const VIEWER_ROUNDS = 20;

const START: ClusterState = {
  phase: "connecting",
  admin: undefined,
  node: 0,
  viewer: undefined,
  members: undefined,
  own: undefined,
  leader: 0,
  notice: undefined,
  signInReason: undefined,
  nodes: [],
};

/** A node that has answered. Without vitals the viewer is somebody without rights. */
interface Found {
  readonly admin: Admin;
  readonly vitals: VitalsView | undefined;
  readonly stranger: WhoAmIView | undefined;
  /** For the connection and the first answer. */
  readonly tookMs: number;
}

export class Cluster {
  readonly state = new Store<ClusterState>(START);
  #nodes: KnownNode[];
  #current: KnownNode;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #rounds = 0;
  /** Up to where the points of the current node are known: a round wants no more than an answer. */
  #roundAfterMs = 0;
  /** Numbers the connection that counts: what an older one still reports is ignored. */
  #generation = 0;
  #search = new AbortController();
  #silenceMs = SILENCE_MS;

  constructor(home: string) {
    this.#current = { endpoint: home, id: 0 };
    this.#nodes = [this.#current];
  }

  start(): void {
    void this.#connect(this.#nodes);
  }

  /** Whether the viewer showed a token that the cluster took. */
  get isSignedIn(): boolean {
    return this.state.value.phase === "connected" && currentToken() !== undefined;
  }

  /** `isKept`: survives a reload of this tab. */
  signIn(token: string, isKept: boolean): void {
    keepToken(token, isKept);
    this.#update({ signInReason: undefined });
    void this.#connect(this.#nodes);
  }

  signOut(): void {
    forgetToken();
    this.#update({ viewer: undefined, signInReason: undefined });
    void this.#connect(this.#nodes);
  }

  dismissNotice(): void {
    this.#update({ notice: undefined });
  }

  /** Runs `act` with a connection that may change things, and ends it. Rejects as `act` does. */
  async act<Result>(act: (admin: Admin) => Promise<Result>): Promise<Result> {
    const admin = await connectAdmin(this.#options(this.#current.endpoint));
    try {
      return await act(admin);
    } finally {
      await admin.close();
    }
  }

  #options(endpoint: string): ConnectAdminOptions {
    const token = currentToken();
    return { endpoints: [endpoint], token, timeoutMs: CALL_TIMEOUT_MS, followLeader: false };
  }

  #update(changes: Partial<ClusterState>): void {
    this.state.set({ ...this.state.value, ...changes, nodes: this.#nodes });
  }

  /** Connects to the first of these nodes that answers. `why`: what became of the one before. */
  async #connect(order: readonly KnownNode[], why = ""): Promise<void> {
    this.#generation += 1;
    const generation = this.#generation;
    clearTimeout(this.#timer);
    this.#search.abort();
    this.#search = new AbortController();
    void this.state.value.admin?.close();
    const isLost = this.state.value.phase === "lost";
    this.#update({ admin: undefined, phase: isLost ? "lost" : "connecting" });
    const asked: KnownNode[] = [];
    try {
      const first = await firstToAnswer({
        nodes: order,
        attempt: (node, signal) => this.#attempt(node, signal, generation),
        discard: ({ admin }) => void admin.close(),
        isFinal: isSignInProblem,
        onAsked: (node) => {
          asked.push(node);
          // The attempts go on; only what is shown changes.
          if (asked.length === order.length) {
            this.#timer = setTimeout(() => this.#showLost(), this.#silenceMs);
          }
          if (isLost || (why === "" && asked.length === 1)) return;
          this.#update({ notice: searchText(why, asked) });
        },
        signal: this.#search.signal,
      });
      if (generation !== this.#generation) void first?.found.admin.close();
      else if (first === undefined) this.#lose();
      else this.#welcome(first.node, first.found);
    } catch (error) {
      if (generation !== this.#generation) return;
      if (!isSignInProblem(error)) throw error;
      this.#demandSignIn(undefined);
    }
  }

  /**
   * What the node says of itself comes first: it needs no leader. Only of those who may not hear it
   * the node is asked who they are.
   */
  async #attempt(node: KnownNode, signal: AbortSignal, generation: number): Promise<Found> {
    const beganMs = performance.now();
    const limit = AbortSignal.any([signal, AbortSignal.timeout(CALL_TIMEOUT_MS)]);
    const onLost = (): void => this.#onLost(generation, node);
    const admin = await connectAdmin({
      ...this.#options(node.endpoint),
      ...{ readOnly: true, signal: limit, onLost },
    });
    try {
      const vitals = await admin.vitals({ signal: limit });
      return { admin, vitals, stranger: undefined, tookMs: performance.now() - beganMs };
    } catch (error) {
      try {
        if (!isCode(error, "FORBIDDEN")) throw error;
        const stranger = await admin.whoAmI({ signal: limit });
        return { admin, vitals: undefined, stranger, tookMs: 0 };
      } catch (final) {
        void admin.close();
        throw final;
      }
    }
  }

  #welcome(node: KnownNode, { admin, vitals, stranger, tookMs }: Found): void {
    if (vitals === undefined) {
      void admin.close();
      this.#demandSignIn(stranger);
      return;
    }
    clearTimeout(this.#timer);
    const before = this.#current;
    this.#identify(node, vitals.node);
    this.#current = node;
    this.#roundAfterMs = vitals.wallMs;
    this.#rounds = 0;
    this.#silenceMs = Math.max(SILENCE_MS, SILENCE_ANSWERS * tookMs);
    const notice =
      before === node
        ? undefined
        : `${nameOf(before)} does not answer; connected to ${nameOf(node).toLowerCase()}.`;
    if (notice !== undefined) announce(notice);
    else if (this.state.value.phase === "lost") announce(`Connected to ${nameOf(node)} again.`);
    this.#update({ phase: "connected", admin, node: node.id, notice });
    this.#hear(vitals);
    void this.#askViewer(admin, this.#generation);
    void this.#round(admin, this.#generation);
  }

  /** What the node says of itself now, and of the members, whose addresses are known without a leader. */
  #hear(vitals: VitalsView): void {
    const { leader, hasQuorumContact, peers } = vitals;
    for (const { node, endpoint } of peers) {
      if (endpoint === "" || this.#nodes.some(({ id }) => id === node)) continue;
      this.#nodes = [...this.#nodes, { endpoint, id: node }];
    }
    const own = { ...vitals, points: [], events: [] };
    this.#update({ own, leader: hasQuorumContact ? leader : 0 });
  }

  /** The connection is gone: nothing is waited for. */
  #onLost(generation: number, node: KnownNode): void {
    if (generation !== this.#generation || this.state.value.phase !== "connected") return;
    this.#moveOn(lostText(node));
  }

  #moveOn(why: string): void {
    const others = this.#nodes.filter((node) => node !== this.#current);
    announce(why);
    void this.#connect([...others, this.#current], why);
  }

  #demandSignIn(viewer: WhoAmIView | undefined): void {
    const hadToken = currentToken() !== undefined;
    const hadViewer = this.state.value.viewer !== undefined;
    forgetToken();
    this.#generation += 1;
    clearTimeout(this.#timer);
    this.#search.abort();
    void this.state.value.admin?.close();
    this.#update({
      phase: "signIn",
      admin: undefined,
      viewer: undefined,
      signInReason: signInReason({ viewer, hadToken, hadViewer }),
    });
  }

  #lose(): void {
    clearTimeout(this.#timer);
    this.#showLost();
    this.#timer = setTimeout(() => void this.#connect(this.#nodes), RETRY_MS);
  }

  #showLost(): void {
    const count = this.#nodes.length;
    const all = count === 1 ? nameOf(this.#current) : `None of ${count} nodes`;
    const verb = count === 1 ? "does not answer" : "answers";
    const notice = `${all} ${verb}. This dashboard keeps trying.`;
    if (this.state.value.phase !== "lost") announce(notice);
    this.#update({ phase: "lost", notice });
  }

  /** Notices that the node is gone, that the members changed, and that the viewer's rights did. */
  async #round(admin: Admin, generation: number): Promise<void> {
    try {
      const signal = AbortSignal.timeout(this.#silenceMs);
      const vitals = await admin.vitals({ after: this.#roundAfterMs, signal });
      if (generation !== this.#generation) return;
      this.#roundAfterMs = vitals.wallMs;
      this.#hear(vitals);
      if (this.#rounds % MEMBERS_ROUNDS === 0) void this.#askMembers(admin, generation);
      if (this.#isViewerDue()) void this.#askViewer(admin, generation);
    } catch (error) {
      if (generation !== this.#generation) return;
      this.#onFailure(error);
      if (generation !== this.#generation) return;
    }
    this.#rounds += 1;
    this.#timer = setTimeout(() => void this.#round(admin, generation), ROUND_MS);
  }

  #isViewerDue(): boolean {
    const rounds = this.state.value.viewer === undefined ? MEMBERS_ROUNDS : VIEWER_ROUNDS;
    return this.#rounds % rounds === rounds - 1;
  }

  #onFailure(error: unknown): void {
    if (isSignInProblem(error)) this.#demandSignIn(undefined);
    else if (isCode(error, "FORBIDDEN")) void this.#connect([this.#current]);
    else if (isSilence(error)) {
      this.#moveOn(
        `${nameOf(this.#current)} has not answered for ${secondsText(this.#silenceMs)}.`,
      );
    }
  }

  /** Without a leader there is no answer, and what was known of the members stays. */
  async #askMembers(admin: Admin, generation: number): Promise<void> {
    try {
      const members = await admin.members({ signal: AbortSignal.timeout(this.#silenceMs) });
      if (generation !== this.#generation) return;
      this.#learn(members);
      this.#update({ members });
    } catch (error) {
      if (generation === this.#generation && !isSilence(error)) this.#onFailure(error);
    }
  }

  async #askViewer(admin: Admin, generation: number): Promise<void> {
    try {
      const viewer = await admin.whoAmI({ signal: AbortSignal.timeout(this.#silenceMs) });
      if (generation === this.#generation) this.#update({ viewer });
    } catch (error) {
      // Without a leader the rights are not known; the next round finds out whether the node is there.
      if (generation === this.#generation && !isSilence(error)) this.#onFailure(error);
    }
  }

  #learn({ members }: MembersView): void {
    const known = this.#nodes.filter(
      (node) => node === this.#current || members.some(({ id }) => id === node.id),
    );
    for (const { id, endpoint } of members) {
      if (endpoint === "" || known.some((node) => node.id === id)) continue;
      known.push({ endpoint, id });
    }
    this.#nodes = known;
  }

  /** The address by which the page came may be another than the one that the node advertises. */
  #identify(node: KnownNode, id: number): void {
    node.id = id;
    this.#nodes = this.#nodes.filter((one) => one === node || one.id !== id);
  }
}

function isCode(error: unknown, code: HoldfastError["code"]): boolean {
  return error instanceof HoldfastError && error.code === code;
}

function secondsText(ms: number): string {
  return `${Math.round(ms / 1_000)} s`;
}

function isSignInProblem(error: unknown): boolean {
  return isCode(error, "UNAUTHENTICATED");
}

function isSilence(error: unknown): boolean {
  if (error instanceof HoldfastError) return error.code === "UNAVAILABLE";
  return error instanceof DOMException && error.name === "TimeoutError";
}
