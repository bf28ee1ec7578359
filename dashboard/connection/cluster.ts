/**
 * The page's connection to its cluster: a client like every other, with one read-only connection
 * to the node that the page came from, and to another member when that node does not answer. What
 * changes something is done over a connection of its own, which lasts as long as the act.
 *
 * Must never keep the access token anywhere, nor act by the connection that reads.
 */
import {
  type Admin,
  type ConnectAdminOptions,
  connectAdmin,
  HoldfastError,
  type MembersView,
  type WhoAmIView,
} from "../../src/index.js";
import { announce } from "../state/announcements.js";
import { Store } from "../state/store.js";
import { currentToken, forgetToken, keepToken } from "./access-token.js";

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
  readonly members: MembersView | undefined;
  /** A sentence about the connection, for a banner. */
  readonly notice: string | undefined;
  /** Why the viewer has to sign in. */
  readonly signInReason: string | undefined;
}

interface KnownNode {
  readonly endpoint: string;
  /** 0 until it is known. */
  id: number;
}

const BEAT_MS = 2_000;
/** A node that says nothing for so long is left. */
const SILENCE_MS = 4_000;
const CALL_TIMEOUT_MS = 10_000;
const VIEWER_BEATS = 15;

const START: ClusterState = {
  phase: "connecting",
  admin: undefined,
  node: 0,
  viewer: undefined,
  members: undefined,
  notice: undefined,
  signInReason: undefined,
};

export class Cluster {
  readonly state = new Store<ClusterState>(START);
  readonly #home: string;
  #nodes: KnownNode[];
  #current: KnownNode;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #beats = 0;
  /** Of the connection that counts: what an older one still reports is ignored. */
  #generation = 0;

  constructor(home: string) {
    this.#home = home;
    this.#current = { endpoint: home, id: 0 };
    this.#nodes = [this.#current];
  }

  start(): void {
    void this.#connect();
  }

  /** All nodes that the page knows. */
  get endpoints(): readonly string[] {
    return this.#nodes.map(({ endpoint }) => endpoint);
  }

  /** Whether the viewer showed a token that the cluster took. */
  get isSignedIn(): boolean {
    return this.state.value.phase === "connected" && currentToken() !== undefined;
  }

  /** `isKept`: survives a reload of this tab. */
  signIn(token: string, isKept: boolean): void {
    keepToken(token, isKept);
    this.#update({ signInReason: undefined });
    void this.#connect();
  }

  signOut(): void {
    forgetToken();
    void this.#connect();
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
    return { endpoints: [endpoint], token: currentToken(), timeoutMs: CALL_TIMEOUT_MS };
  }

  #update(changes: Partial<ClusterState>): void {
    this.state.set({ ...this.state.value, ...changes });
  }

  /** Connects to the current node, or to the first other one that answers. */
  async #connect(): Promise<void> {
    this.#generation += 1;
    const generation = this.#generation;
    clearTimeout(this.#timer);
    void this.state.value.admin?.close();
    this.#update({ admin: undefined, phase: "connecting" });
    const first = this.#current;
    const order = [first, ...this.#nodes.filter((node) => node !== first)];
    for (const node of order) {
      const outcome = await this.#tryNode(node, generation);
      if (generation !== this.#generation || outcome === "done") return;
    }
    this.#lose(first);
  }

  async #tryNode(node: KnownNode, generation: number): Promise<"done" | "silent"> {
    let admin: Admin | undefined;
    try {
      const signal = AbortSignal.timeout(SILENCE_MS);
      admin = await connectAdmin({ ...this.#options(node.endpoint), signal });
      const viewer = await admin.whoAmI();
      if (generation !== this.#generation) await admin.close();
      else this.#welcome(node, admin, viewer);
      return "done";
    } catch (error) {
      void admin?.close();
      if (generation !== this.#generation) return "done";
      if (!isSignInProblem(error)) return "silent";
      this.#demandSignIn(error);
      return "done";
    }
  }

  #welcome(node: KnownNode, admin: Admin, viewer: WhoAmIView): void {
    if (viewer.grants.length === 0) {
      void admin.close();
      this.#demandSignIn(undefined, viewer);
      return;
    }
    const before = this.#current;
    this.#current = node;
    const notice = this.#noticeOf(before, node);
    if (notice !== undefined) announce(notice);
    this.#update({ phase: "connected", admin, viewer, node: node.id, notice });
    this.#beats = 0;
    void this.#beat(admin, this.#generation);
  }

  #noticeOf(before: KnownNode, node: KnownNode): string | undefined {
    if (before !== node) {
      return `${nameOf(before)} does not answer; connected to ${nameOf(node)}.`;
    }
    // What was said about an earlier move stays true as long as the page is away from home.
    return node.endpoint === this.#home ? undefined : this.state.value.notice;
  }

  #demandSignIn(error: unknown, viewer?: WhoAmIView): void {
    const hadToken = currentToken() !== undefined;
    const hadViewer = this.state.value.viewer !== undefined;
    forgetToken();
    this.#update({
      phase: "signIn",
      admin: undefined,
      viewer: undefined,
      signInReason: signInReason(error, viewer, hadToken, hadViewer),
    });
  }

  #lose(first: KnownNode): void {
    const all = this.#nodes.length === 1 ? nameOf(first) : `None of ${this.#nodes.length} nodes`;
    const verb = this.#nodes.length === 1 ? "does not answer" : "answers";
    const notice = `${all} ${verb}. This page keeps trying.`;
    if (this.state.value.phase !== "lost") announce(notice);
    this.#update({ phase: "lost", notice });
    this.#timer = setTimeout(() => void this.#connect(), BEAT_MS);
  }

  /** Notices that the node is gone, that the members changed, and that the viewer's rights did. */
  async #beat(admin: Admin, generation: number): Promise<void> {
    try {
      const signal = AbortSignal.timeout(SILENCE_MS);
      const members = await admin.members({ signal });
      const isDue = this.#beats % VIEWER_BEATS === VIEWER_BEATS - 1;
      const viewer = isDue ? await admin.whoAmI({ signal }) : this.state.value.viewer;
      if (generation !== this.#generation) return;
      this.#learn(members);
      this.#update({ members, viewer, node: this.#current.id });
    } catch (error) {
      if (generation !== this.#generation) return;
      if (isSignInProblem(error)) this.#demandSignIn(error);
      else if (isSilence(error)) void this.#connect();
    }
    if (generation !== this.#generation || this.state.value.phase !== "connected") return;
    this.#beats += 1;
    this.#timer = setTimeout(() => void this.#beat(admin, generation), BEAT_MS);
  }

  #learn({ members }: MembersView): void {
    for (const { id, endpoint } of members) {
      if (endpoint === "") continue;
      const known = this.#nodes.find((node) => node.endpoint === endpoint);
      if (known === undefined) this.#nodes.push({ endpoint, id });
      else known.id = id;
    }
  }
}

function nameOf({ id, endpoint }: KnownNode): string {
  return id === 0 ? `The node at ${endpoint}` : `Node ${id}`;
}

function isSignInProblem(error: unknown): boolean {
  return error instanceof HoldfastError && error.code === "UNAUTHENTICATED";
}

function isSilence(error: unknown): boolean {
  if (error instanceof HoldfastError) return error.code === "UNAVAILABLE";
  return error instanceof DOMException && error.name === "TimeoutError";
}

function signInReason(
  error: unknown,
  viewer: WhoAmIView | undefined,
  hadToken: boolean,
  hadViewer: boolean,
): string | undefined {
  if (viewer !== undefined && hadToken) {
    return `The token belongs to ${viewer.name}, who has no rights in this cluster.`;
  }
  if (hadViewer && hadToken) {
    return "Your access token is no longer accepted: it ended, or was removed or replaced.";
  }
  if (hadToken) return "The cluster does not know this token.";
  return hadViewer && error !== undefined
    ? "The cluster now demands a token: it was closed while this page was open."
    : undefined;
}
