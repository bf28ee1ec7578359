/** The wait-for graph as text of the DOT language, for Graphviz and everything that reads it. */
import type { WaitGraphView } from "../../protocol/index.js";
import { keyText } from "../../safe-text.js";

/**
 * Nodes are tasks, named by session and owner; an arrow leads from who waits to whom it waits for,
 * dashed where that one only waits before it. A circle of arrows is a deadlock.
 */
export function toDot({ owners, edges, isTruncated }: WaitGraphView): string {
  const lines = ["digraph waits {", "  rankdir=LR;"];
  for (const { id, session, sessionName, owner } of owners) {
    const name = sessionName === "" ? `session ${session}` : sessionName;
    lines.push(`  n${id} [label=${quote(`${name}\ntask ${owner}`)}];`);
  }
  for (const { from, to, key, mode, why } of edges) {
    const style = why === "ahead" ? ", style=dashed" : "";
    lines.push(`  n${from} -> n${to} [label=${quote(`${keyText(key)}\n${mode}`)}${style}];`);
  }
  if (isTruncated) lines.push('  label="there are more edges than were asked for";');
  lines.push("}", "");
  return lines.join("\n");
}

/** Names may hold anything but control characters. */
function quote(text: string): string {
  const escaped = text.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
  return `"${escaped}"`;
}
