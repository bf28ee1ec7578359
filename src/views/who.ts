/** How those are written who hold a lock or wait for one. Pure. */
import type { Holder } from "../protocol/index.js";
import { NOTHING, type Phrase } from "./phrase.js";

/** The identity of connections that have shown nothing. */
const ANONYMOUS = "anonymous";

/** What a view says of a session, or of a task of one, or of an owner. */
export interface Someone {
  readonly sessionName: string;
  readonly identity: string;
  /** 0 of a hold of an owner. */
  readonly session: number;
  /** `null` for a waiting request. */
  readonly holder?: Holder | null | undefined;
  /** For a lease, if it is known: digits that tell owners apart. */
  readonly leaseOwner?: string | undefined;
}

/**
 * "worker-3 as billing", "session 17", "lease:5ed4c48d", "handed over by worker-3".
 * `anonymous` is left out, except where a name could be mistaken for this: an identity
 * contains no blank, so what follows the last "as" is always one.
 */
export function whoPhrase(someone: Someone): Phrase {
  const { sessionName, identity, holder } = someone;
  const isHandedOver = holder === "bearer";
  if (isHandedOver && sessionName === "") return ["handed over"];
  const name: Phrase = sessionName !== "" ? [{ other: sessionName }] : [unnamedText(someone)];
  const isShown = identity !== "" && (!isAnonymous(someone) || sessionName.includes(" as "));
  const who: Phrase = isShown ? [...name, " as ", { other: identity }] : name;
  return isHandedOver ? ["handed over by ", ...who] : who;
}

/** The change of a key that opens is nobody's. */
function unnamedText({ session, identity, leaseOwner = "" }: Someone): string {
  if (leaseOwner !== "") return `lease:${leaseOwner}`;
  if (session === 0) return identity === "" ? NOTHING : "a lease";
  return `session ${session}`;
}

/** "worker-3 (task 2)": a client may make several acquires for one task. */
export function taskPhrase(someone: Someone & { readonly task: number }): Phrase {
  return [...whoPhrase(someone), ` (task ${someone.task})`];
}

export function isAnonymous({ identity }: Pick<Someone, "identity">): boolean {
  return identity === ANONYMOUS;
}
