/**
 * Looks for the first of several nodes that answers. It does not wait for one to fail before it asks
 * the next: a node that is gone may say nothing for long, and one far away answers late. The first
 * answer counts, and every other attempt is given up.
 */

/** How long a node is alone with its attempt before the next one is asked too. */
const STAGGER_MS = 1_500;

export interface SearchOptions<Node, Found> {
  /** In the order in which they are asked. */
  readonly nodes: readonly Node[];
  /** Rejects if the node does not serve, and when the signal is aborted. */
  readonly attempt: (node: Node, signal: AbortSignal) => Promise<Found>;
  /** An answer came when another one counted already. */
  readonly discard: (found: Found) => void;
  /** An error that every node would give: it ends the search. */
  readonly isFinal: (error: unknown) => boolean;
  /** Another node is asked now. */
  readonly onAsked: (node: Node) => void;
  readonly signal: AbortSignal;
}

/** `undefined`: none of them answers. Rejects with a final error, or with the signal's reason. */
export async function firstToAnswer<Node, Found>(
  options: SearchOptions<Node, Found>,
): Promise<{ readonly node: Node; readonly found: Found } | undefined> {
  const { nodes, attempt, discard, isFinal, onAsked, signal } = options;
  const over = new AbortController();
  const either = AbortSignal.any([signal, over.signal]);
  const waiting = [...nodes];
  let open = 0;
  let timer: ReturnType<typeof setTimeout> | undefined;
  try {
    return await new Promise((resolve, reject) => {
      signal.addEventListener("abort", () => reject(signal.reason), { once: true });
      const next = (): void => {
        clearTimeout(timer);
        const node = waiting.shift();
        if (node === undefined) {
          if (open === 0) resolve(undefined);
          return;
        }
        open += 1;
        onAsked(node);
        attempt(node, either).then(
          (found) => {
            if (either.aborted) discard(found);
            else {
              over.abort();
              resolve({ node, found });
            }
          },
          (error: unknown) => {
            open -= 1;
            if (either.aborted) return;
            if (isFinal(error)) reject(error);
            else next();
          },
        );
        timer = setTimeout(next, STAGGER_MS);
      };
      next();
    });
  } finally {
    clearTimeout(timer);
    over.abort();
  }
}
