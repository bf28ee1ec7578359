/** Nodes in a sentence. Pure. */

/** `node 2`, `nodes 1 and 2`, `nodes 1, 2 and 3`. */
export function nodesText(nodes: readonly number[]): string {
  const [last] = nodes.slice(-1);
  if (nodes.length < 2) return `node ${last ?? "?"}`;
  return `nodes ${nodes.slice(0, -1).join(", ")} and ${last}`;
}
