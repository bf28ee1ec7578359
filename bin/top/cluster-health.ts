/**
 * One sentence that says whether all is well, and the findings of health behind it. Pure.
 */
import type { Finding } from "../../src/views/index.js";
import { healthOf as healthOfNodes } from "../cluster/cluster-findings.js";
import type { NodesSeen } from "./cluster-facts.js";

export interface Health {
  readonly text: string;
  /** "well", "hurt": it serves, but should be looked at; "down": it grants nothing. */
  readonly state: "well" | "hurt" | "down";
  /** The worst first; empty if all is well. */
  readonly findings: readonly Finding[];
}

export function healthOf({ nodes, leader, term, wallMs }: NodesSeen): Health {
  const { level, sentence, findings } = healthOfNodes(nodes, leader, wallMs);
  if (level === "down") return { text: sentence, state: "down", findings };
  if (findings.length > 0) return { text: sentence, state: "hurt", findings };
  const count = nodes.length === 1 ? "1 node answers" : `all ${nodes.length} nodes answer`;
  return { text: `${count}, node ${leader} leads (term ${term})`, state: "well", findings };
}
