/**
 * The address of a view, in the hash: `#/locks?prefix=orders/` or `#/lock/orders%2F1001`. So the
 * page works below any path, and the node is never told what is looked at.
 */
import { Store } from "./store.js";

export interface Place {
  /** The first part: "cluster", "locks", … */
  readonly route: string;
  /** What follows it, decoded; "" if nothing does. */
  readonly argument: string;
  readonly query: URLSearchParams;
}

const HOME = "cluster";

/** A wrong escape is taken as it is written. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function placeOf(hash: string): Place {
  const [path = "", search = ""] = split(hash.replace(/^#?\/?/, ""), "?");
  const [route = "", argument = ""] = split(path, "/");
  return {
    route: route === "" ? HOME : decoded(route),
    argument: decoded(argument),
    query: new URLSearchParams(search),
  };
}

/** The parts before and after the first `mark`. */
function split(text: string, mark: string): readonly [string, string] {
  const at = text.indexOf(mark);
  return at < 0 ? [text, ""] : [text.slice(0, at), text.slice(at + 1)];
}

export function hrefOf(
  route: string,
  argument = "",
  query: Readonly<Record<string, string>> = {},
): string {
  const search = new URLSearchParams(query).toString();
  const path = argument === "" ? route : `${route}/${encodeURIComponent(argument)}`;
  return `#/${path}${search === "" ? "" : `?${search}`}`;
}

export const place = new Store<Place>(placeOf(globalThis.location?.hash ?? ""));

/** Call once: the address decides from now on what is shown. */
export function followAddress(): void {
  addEventListener("hashchange", () => place.set(placeOf(location.hash)));
}

/**
 * Changes the query of the address without a new entry in the browser's history: what was typed into
 * a filter is not a place to go back to. "" and `undefined` remove a field.
 */
export function setQuery(changes: Readonly<Record<string, string | undefined>>): void {
  const { route, argument, query } = place.value;
  const fields = new URLSearchParams(query);
  for (const [name, value] of Object.entries(changes)) {
    if (value === undefined || value === "") fields.delete(name);
    else fields.set(name, value);
  }
  const href = hrefOf(route, argument, Object.fromEntries(fields));
  history.replaceState(null, "", href);
  place.set(placeOf(href));
}
