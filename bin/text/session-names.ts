/** How sessions and requests are written on the command line, and how such names are parsed. */
import { printable } from "../../src/text/index.js";

/** The identity of connections that have shown nothing. */
const ANONYMOUS = "anonymous";

/**
 * A session by its name, or by its number if it has none, and its identity. A lease belongs to no
 * session.
 */
export function sessionText(name: string, session: number, identity: string): string {
  if (name !== "") return withIdentity(printable(name), identity);
  if (session === 0 && identity !== "") return withIdentity("a lease", identity);
  return session === 0 ? "none" : withIdentity(`session ${session}`, identity);
}

/** The holder as people read it: a session, an owner, or the session that handed the hold over. */
export function holderText(hold: Held): string {
  const { holder, sessionName, session, identity } = hold;
  if (holder === "session") return sessionText(sessionName, session, identity);
  if (holder === "owner") return leaseText(hold);
  const giver = withIdentity(printable(sessionName), identity);
  return sessionName === "" ? "(handed over)" : `(handed over by ${giver})`;
}

interface Held {
  readonly holder: "session" | "owner" | "bearer";
  readonly sessionName: string;
  readonly session: number;
  readonly identity: string;
  readonly leaseOwner: string;
}

/** A lease by the name that its take gave, or by digits that tell owners apart. */
function leaseText({
  sessionName,
  identity,
  leaseOwner,
}: {
  readonly sessionName: string;
  readonly identity: string;
  readonly leaseOwner: string;
}): string {
  const name = sessionName === "" ? `lease:${leaseOwner}` : printable(sessionName);
  return withIdentity(name, identity);
}

/** Whether a hold is a lease that ends by release or revoke only. */
export function isEndless({
  ttlMs,
  leaseOwner,
}: {
  readonly ttlMs: number;
  readonly leaseOwner: string;
}): boolean {
  return leaseOwner !== "" && ttlMs === 0;
}

/**
 * `worker-3 as billing`. `anonymous` is left out, except where a name could be mistaken for this: an
 * identity contains no blank, so what follows the last "as" is always one.
 */
export function withIdentity(who: string, identity: string): string {
  const isShown = identity !== ANONYMOUS || who.includes(" as ");
  return identity !== "" && isShown ? `${who} as ${printable(identity)}` : who;
}

export function isAnonymous({ identity }: { readonly identity: string }): boolean {
  return identity === ANONYMOUS;
}

/** Two whole numbers with a slash between them, as in requests and revisions; or `undefined`. */
export function parseNumberPair(text: string): readonly [number, number] | undefined {
  const match = /^(\d{1,15})\/(\d{1,15})$/.exec(text);
  return match === null ? undefined : [Number(match[1]), Number(match[2])];
}
