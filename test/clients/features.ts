/**
 * The features that the matrix of `docs/reference/http-clients.md` lists, and what shows that a client has each of
 * them: the transcripts that it plays, and for the SDK a member of its types.
 */
import type { Client, Lock } from "../../src/index.js";

export interface Feature {
  /** As the row is called. */
  readonly title: string;
  /** A client over HTTP has the feature if it plays all of these; without any, none has it. */
  readonly transcripts: readonly string[];
  /** Only this client, by its name in `LANGUAGES`, can have it. */
  readonly only?: string;
  /** `undefined`: the SDK does not have it in that way. */
  readonly sdk: keyof Client | keyof Lock | undefined;
}

export const FEATURES: readonly Feature[] = [
  { title: "take a lock and give it back", transcripts: ["plain"], sdk: "acquire" },
  { title: "try, without waiting", transcripts: ["held"], sdk: "tryAcquire" },
  {
    title: "wait in the queue, for a limited time",
    transcripts: ["queued", "timeout"],
    sdk: "acquire",
  },
  { title: "several keys in one step", transcripts: ["several-keys"], sdk: "acquireAll" },
  { title: "shared locks", transcripts: ["shared"], sdk: "upgrade" },
  { title: "semaphores", transcripts: ["semaphore"], sdk: "semaphore" },
  { title: "locks without an end", transcripts: ["endless"], sdk: "leases" },
  {
    title: "extends by itself",
    transcripts: ["extended", "extended-after-trouble"],
    sdk: "isHeld",
  },
  {
    title: "extend by hand",
    transcripts: ["extended-by-hand", "extended-by-hand-too-late", "extended-by-hand-refused"],
    sdk: "leases",
  },
  { title: "says that the lock was lost", transcripts: ["revoked", "expired"], sdk: "signal" },
  { title: "a forked child cannot end it", transcripts: ["forked"], sdk: undefined },
  { title: "asyncio", transcripts: ["plain"], only: "python-asyncio", sdk: undefined },
  { title: "election", transcripts: ["elected-again", "elected-not"], sdk: "election" },
  { title: "watch of keys", transcripts: ["watch", "watch-refused"], sdk: "watch" },
  { title: "look at a key", transcripts: ["look"], sdk: "inspect" },
  { title: "upgrade, hand-over, priorities, lists of keys", transcripts: [], sdk: "handOver" },
];
