/** The wait-for graph as text of the DOT language, for Graphviz and other tools that read it. */
import { ANONYMOUS, type WaitGraphView } from "../../protocol/index.js";
import { keyText } from "../../text/index.js";

/**
 * Nodes are tasks, named by session and number. An arrow leads from a task to the one that it waits
 * for; it is dashed if that one only waits ahead of it. A cycle of arrows is a deadlock.
 */
export function toDot({ tasks, edges, isTruncated }: WaitGraphView): string {
  const lines = ["digraph waits {", "  rankdir=LR;"];
  for (const { id, session, sessionName, identity, task } of tasks) {
    const name = sessionName === "" ? `session ${session}` : sessionName;
    const as = identity === "" || identity === ANONYMOUS ? "" : `as ${identity}\n`;
    lines.push(`  n${id} [label=${quote(`${name}\n${as}task ${task}`)}];`);
  }
  for (const { from, to, key, mode, why } of edges) {
    const style = why === "ahead" ? ", style=dashed" : "";
    lines.push(`  n${from} -> n${to} [label=${quote(`${keyText(key)}\n${mode}`)}${style}];`);
  }
  if (isTruncated) lines.push('  label="there are more edges than the limit";');
  lines.push("}", "");
  return lines.join("\n");
}

/** Names may contain anything but control characters. */
function quote(text: string): string {
  const escaped = text.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
  return `"${escaped}"`;
}
