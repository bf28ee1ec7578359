/** The members of a cluster that begins. */
import type { Configuration } from "../../../src/raft/index.js";

/** Nodes 1 … `count`, all of them voters. */
export function foundersOf(count: number): Configuration {
  const voters = Array.from({ length: count }, (_, at) => at + 1);
  const addresses = voters.map((id) => ({ id, address: `node-${id}:1` }));
  return { voters, outgoing: [], learners: [], addresses };
}
