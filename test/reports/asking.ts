/**
 * Commands that are made now and applied later, together with others or twice, with the sequence that
 * the client of a `ClusterLog` would give them. It decides nothing and remembers nothing.
 */
import type { SequencedCommand } from "../../src/protocol/index.js";
import type { Client } from "../lockfsm/plans/cluster-log.js";

type WithoutHead<T> = T extends unknown ? Omit<T, "sequence" | "mark" | "acknowledged"> : never;
/** What is asked for, before it has its number. */
export type Wish = WithoutHead<SequencedCommand>;

/** A command with the client's next sequence, not sent yet. */
export function asking(client: Client, wish: Wish) {
  client.sequence += 1;
  const head = { sequence: client.sequence, mark: 1, acknowledged: [] };
  return client.make({ ...wish, ...head } as SequencedCommand);
}
