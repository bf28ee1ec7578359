/**
 * The kinds of anomalies that a check can find, by the names used on the terminal, in results and
 * on the page. docs/jepsen-lite.md lists the same names with the same sentences; a test compares
 * them.
 */
export const ANOMALIES = Object.freeze({
  "two holders": "Two clients held what only one may hold, each certain of it at that time.",
  "too many permits":
    "More permits of a semaphore were held than exist, or two holders had one slot.",
  "token not larger": "A later grant has a token that is not larger than an earlier one.",
  "token granted twice": "Two grants have the same token.",
  "unknown token accepted": "A token that was never granted was accepted as valid.",
  "lost update": "A write replaced another one that its writer had never read.",
  "granted out of order": "A request was granted before one that was ahead of it in the queue.",
  "lease ended early":
    "A client learned that its hold had ended although nothing can have ended it.",
  "lease ended late": "A lock of a dead client was granted to the next one long after its lease.",
  "released twice": "A token was released more often than it was granted.",
  "phantom grant": "Watchers saw a grant that no request can have asked for.",
  "two heirs": "Two clients went on with what was handed over, as a whole, to one.",
  "lost wake-up": "A request waits for a lock that no client can hold.",
  "watch out of order": "A watch reported a change twice, or after a later one.",
  "watch missed a change": "A watch left out a change between two that it reported.",
  "forbidden command took effect":
    "A command succeeded that no grant allowed between its request and its answer.",
  "forbidden key shown":
    "A read showed a key that its reader could not observe at any time of the read.",
  "allowed command refused":
    "A command was refused as forbidden although grants allowed it all the time.",
  "denied command took effect":
    "A command took effect although the answer said that it was not carried out.",
  "unexplained answer":
    "No order of operations explains an answer, and it is none of the kinds above.",
  "no recovery":
    "After all faults were over some node followed no leader, or the cluster never did what an operator asked for.",
  "node ended by itself": "The process of a node ended although it was not stopped.",
} as const);

export type AnomalyKind = keyof typeof ANOMALIES;

/** How often each kind was seen; kinds that were not seen are absent. */
export type AnomalyCounts = Readonly<Partial<Record<AnomalyKind, number>>>;
