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
import { type KnownNode, nameOf, signInReason } from "./sentences.js";

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
  readonly viewer: WhoAmIView | undefined;
  /** As the leader last told; `undefined` if none did. */
  readonly members: MembersView | undefined;
  /** Whether the last question for the members was answered: there is a leader. */
  readonly hasLeader: boolean;
  /** A sentence about the connection, for a banner. */
  readonly notice: string | undefined;
  /** Why the viewer has to sign in. */
  readonly signInReason: string | undefined;
  /** All nodes that the page knows. */
  readonly nodes: readonly KnownNode[];
}

/** Shorter than the SDK keeps an idle connection, so that it stays the same one. */
const BEAT_MS = 800;
/** A node that says nothing for so long is left. */
const SILENCE_MS = 3_000;
const RETRY_MS = 2_000;
const CALL_TIMEOUT_MS = 10_000;
/** The members and the viewer's rights are asked for at each of so many beats. */
const MEMBERS_BEATS = 3;
const VIEWER_BEATS = 20;

const START: ClusterState = {
  phase: "connecting",
  admin: undefined,
  node: 0,
  viewer: undefined,
  members: undefined,
  hasLeader: true,
  notice: undefined,
  signInReason: undefined,
  nodes: [],
};

export class Cluster {
  readonly state = new Store<ClusterState>(START);
  #nodes: KnownNode[];
  #current: KnownNode;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #beats = 0;
  /** Up to where the points of the current node are known: a beat wants no more than an answer. */
  #beatAfterMs = 0;
  /** Of the connection that counts: what an older one still reports is ignored. */
  #generation = 0;

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

  /** A connection to one node, which only reads. The caller closes it. */
  async connectTo(endpoint: string, signal: AbortSignal): Promise<Admin> {
    return connectAdmin({ ...this.#options(endpoint), readOnly: true, signal });
  }

  #options(endpoint: string): ConnectAdminOptions {
    const token = currentToken();
    return { endpoints: [endpoint], token, timeoutMs: CALL_TIMEOUT_MS, followLeader: false };
  }

  #update(changes: Partial<ClusterState>): void {
    this.state.set({ ...this.state.value, ...changes, nodes: this.#nodes });
  }

  /** Connects to the first of these nodes that answers. */
  async #connect(order: readonly KnownNode[]): Promise<void> {
    this.#generation += 1;
    const generation = this.#generation;
    clearTimeout(this.#timer);
    void this.state.value.admin?.close();
    const isLost = this.state.value.phase === "lost";
    this.#update({ admin: undefined, phase: isLost ? "lost" : "connecting" });
    for (const node of order) {
      const isDone = await this.#tryNode(node, generation);
      if (generation !== this.#generation || isDone) return;
    }
    this.#lose();
  }

  /** Whether the search is over; otherwise the node does not answer. */
  async #tryNode(node: KnownNode, generation: number): Promise<boolean> {
    let admin: Admin | undefined;
    try {
      const signal = AbortSignal.timeout(SILENCE_MS);
      admin = await this.connectTo(node.endpoint, signal);
      const viewer = await admin.whoAmI({ signal });
      const vitals = viewer.grants.length === 0 ? undefined : await admin.vitals({ signal });
      if (generation === this.#generation) this.#welcome(node, admin, viewer, vitals);
      else void admin.close();
      return true;
    } catch (error) {
      void admin?.close();
      if (generation !== this.#generation) return true;
      if (!isSignInProblem(error)) return false;
      this.#demandSignIn(undefined);
      return true;
    }
  }

  #welcome(
    node: KnownNode,
    admin: Admin,
    viewer: WhoAmIView,
    vitals: VitalsView | undefined,
  ): void {
    if (vitals === undefined) {
      void admin.close();
      this.#demandSignIn(viewer);
      return;
    }
    const before = this.#current;
    this.#identify(node, vitals.node);
    this.#current = node;
    this.#beatAfterMs = vitals.wallMs;
    this.#beats = 0;
    const hasMoved = before !== node;
    const notice = hasMoved
      ? `${nameOf(before)} does not answer; connected to ${nameOf(node).toLowerCase()}.`
      : undefined;
    if (notice !== undefined) announce(notice);
    else if (this.state.value.phase === "lost") announce(`Connected to ${nameOf(node)} again.`);
    this.#update({ phase: "connected", admin, viewer, node: node.id, notice });
    void this.#beat(admin, this.#generation);
  }

  #demandSignIn(viewer: WhoAmIView | undefined): void {
    const hadToken = currentToken() !== undefined;
    const hadViewer = this.state.value.viewer !== undefined;
    forgetToken();
    this.#generation += 1;
    clearTimeout(this.#timer);
    void this.state.value.admin?.close();
    this.#update({
      phase: "signIn",
      admin: undefined,
      viewer: undefined,
      signInReason: signInReason({ viewer, hadToken, hadViewer }),
    });
  }

  #lose(): void {
    const count = this.#nodes.length;
    const all = count === 1 ? nameOf(this.#current) : `None of ${count} nodes`;
    const notice = `${all} ${count === 1 ? "does not answer" : "answers"}. This page keeps trying.`;
    if (this.state.value.phase !== "lost") announce(notice);
    this.#update({ phase: "lost", notice });
    this.#timer = setTimeout(() => void this.#connect(this.#nodes), RETRY_MS);
  }

  /** Notices that the node is gone, that the members changed, and that the viewer's rights did. */
  async #beat(admin: Admin, generation: number): Promise<void> {
    try {
      const signal = AbortSignal.timeout(SILENCE_MS);
      const { wallMs } = await admin.vitals({ after: this.#beatAfterMs, signal });
      if (generation !== this.#generation) return;
      this.#beatAfterMs = wallMs;
      if (this.#beats % MEMBERS_BEATS === 0) void this.#askMembers(admin, generation);
      if (this.#beats % VIEWER_BEATS === VIEWER_BEATS - 1) void this.#askViewer(admin, generation);
    } catch (error) {
      if (generation !== this.#generation) return;
      this.#onFailure(error);
      if (generation !== this.#generation) return;
    }
    this.#beats += 1;
    this.#timer = setTimeout(() => void this.#beat(admin, generation), BEAT_MS);
  }

  #onFailure(error: unknown): void {
    if (isSignInProblem(error)) this.#demandSignIn(undefined);
    else if (isCode(error, "FORBIDDEN")) void this.#connect([this.#current]);
    else if (isSilence(error)) {
      const others = this.#nodes.filter((node) => node !== this.#current);
      void this.#connect([...others, this.#current]);
    }
  }

  /** Without a leader there is no answer, and what was known of the members stays. */
  async #askMembers(admin: Admin, generation: number): Promise<void> {
    try {
      const members = await admin.members({ signal: AbortSignal.timeout(SILENCE_MS) });
      if (generation !== this.#generation) return;
      this.#learn(members);
      this.#update({ members, hasLeader: true });
    } catch (error) {
      if (generation !== this.#generation) return;
      if (isSilence(error)) this.#update({ hasLeader: false });
      else this.#onFailure(error);
    }
  }

  async #askViewer(admin: Admin, generation: number): Promise<void> {
    try {
      const viewer = await admin.whoAmI({ signal: AbortSignal.timeout(SILENCE_MS) });
      if (generation === this.#generation) this.#update({ viewer });
    } catch (error) {
      // Without a leader the rights are not known anew; the next beat finds out whether the node is.
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

function isSignInProblem(error: unknown): boolean {
  return isCode(error, "UNAUTHENTICATED");
}

function isSilence(error: unknown): boolean {
  if (error instanceof HoldfastError) return error.code === "UNAVAILABLE";
  return error instanceof DOMException && error.name === "TimeoutError";
}
