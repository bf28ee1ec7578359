/**
 * Sentences that contain other people's text: names of clients, identities, keys. Such text stays
 * apart from ours until it is drawn, so that it can be isolated and escaped there. Pure.
 */
import { keyText, printable } from "../../src/text/index.js";

/** Our own words, a key, or any other text of a client. */
export type PhrasePart = string | { readonly key: string } | { readonly other: string };
export type Phrase = readonly PhrasePart[];

/** The identity of connections that have shown nothing. */
const ANONYMOUS = "anonymous";

/** What a view says of a session or of a task of one. */
export interface Someone {
  readonly sessionName: string;
  readonly identity: string;
  /** 0 of a hold of an owner; `undefined` if it is not known. */
  readonly session?: number | undefined;
  readonly holder?: "session" | "owner" | "bearer" | undefined;
  /** Of a lease, if it is known: digits that tell owners apart. */
  readonly leaseOwner?: string | undefined;
}

/** "worker-3 as billing", "session 17", "lease:5ed4c48d", "handed over by worker-3", "an unnamed
 * client". */
export function whoPhrase(someone: Someone): Phrase {
  const { sessionName, identity, holder } = someone;
  const isHandedOver = holder === "bearer";
  if (isHandedOver && sessionName === "") return ["handed over"];
  const name: Phrase = sessionName !== "" ? [{ other: sessionName }] : [unnamedText(someone)];
  const isShown = identity !== "" && (identity !== ANONYMOUS || sessionName.includes(" as "));
  const who: Phrase = isShown ? [...name, " as ", { other: identity }] : name;
  return isHandedOver ? ["handed over by ", ...who] : who;
}

function unnamedText({ session, leaseOwner = "" }: Someone): string {
  if (leaseOwner !== "") return `lease:${leaseOwner}`;
  if (session === 0) return "a lease";
  return session === undefined ? "an unnamed client" : `session ${session}`;
}

/** As plain text, for titles and for what is spoken. */
export function phraseText(phrase: Phrase): string {
  return phrase.map(partText).join("");
}

function partText(part: PhrasePart): string {
  if (typeof part === "string") return part;
  return "key" in part ? keyText(part.key) : printable(part.other);
}

/** "a", "a and b", "a, b and c". */
export function listPhrase(items: readonly Phrase[]): Phrase {
  return items.flatMap((item, index) => {
    if (index === 0) return item;
    return [index === items.length - 1 ? " and " : ", ", ...item];
  });
}

/** "1 request", "2 requests". */
export function countText(count: number, one: string, many = `${one}s`): string {
  return `${count.toLocaleString("en")} ${count === 1 ? one : many}`;
}
