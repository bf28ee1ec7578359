/** What the page says about its connection. Pure. */
import type { WhoAmIView } from "../../src/index.js";

export interface KnownNode {
  readonly endpoint: string;
  /** 0 until it is known. */
  id: number;
}

export function nameOf({ id, endpoint }: KnownNode): string {
  return id === 0 ? `The node at ${endpoint}` : `Node ${id}`;
}

/** Where a browser finds the page of the node with that endpoint. */
export function pageOf(endpoint: string): string {
  return `${endpoint.replace(/^ws/, "http")}/`;
}

export function lostText(node: KnownNode): string {
  return `The connection to ${nameOf(node).toLowerCase()} is gone.`;
}

/** What the page does while it looks for a node. */
export function searchText(why: string, asked: readonly KnownNode[]): string {
  const [current] = asked.slice(-1);
  const tried = asked.slice(0, -1).map((node) => nameOf(node).toLowerCase());
  const silent = tried.length === 0 ? "" : `No answer yet from ${tried.join(" and ")}. `;
  const now = current === undefined ? "" : `Trying ${nameOf(current).toLowerCase()} …`;
  return `${why === "" ? "" : `${why} `}${silent}${now}`;
}

export interface SignInSituation {
  /** Who the cluster says the viewer is, if it says so: someone without rights. */
  readonly viewer: Pick<WhoAmIView, "name"> | undefined;
  readonly hadToken: boolean;
  /** The page was connected before. */
  readonly hadViewer: boolean;
}

/** `undefined`: the viewer has just come, and there is nothing to say. */
export function signInReason(situation: SignInSituation): string | undefined {
  const { viewer, hadToken, hadViewer } = situation;
  if (viewer !== undefined && hadToken) {
    return `The access token belongs to ${viewer.name}, who has no permission in this cluster.`;
  }
  if (hadToken && hadViewer) {
    return "Your access token is no longer accepted: it ended, or was removed or replaced.";
  }
  if (hadToken) return "The cluster does not know this access token.";
  return hadViewer
    ? "The cluster now asks who you are: it was secured while this dashboard was open."
    : undefined;
}
