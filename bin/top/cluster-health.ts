/**
 * One sentence that says whether all is well, and if not, what is wrong, with the page of the
 * documents that helps. Pure.
 */
import { printable } from "../../src/safe-text.js";
import type { NodeRow, NodesSeen } from "./cluster-facts.js";

export interface Health {
  readonly text: string;
  /** "well", "hurt": it serves, but should be looked at; "down": it grants nothing. */
  readonly state: "well" | "hurt" | "down";
  /** Of the documents; undefined if nothing needs help. */
  readonly page: string | undefined;
}

/** Entries that a node may be behind before that is mentioned. */
const LAG_MAX = 1_000;

export function healthOf({ nodes, leader, term }: NodesSeen): Health {
  const voters = nodes.filter(({ isVoter }) => isVoter);
  const serving = voters.filter((node) => node.answers !== "no" && node.role !== "quarantined");
  const members = "docs/operating/members.md";
  const recovery = "docs/operating/recovery.md";
  if (leader === 0) {
    const text = `no leader: nothing is granted. ${serving.length} of ${voters.length} voters answer`;
    return { text, state: "down", page: recovery };
  }
  const damaged = nodes.find(({ role }) => role === "quarantined");
  if (damaged !== undefined) {
    return {
      text: `${named(damaged)} is quarantined: its data are damaged`,
      state: "hurt",
      page: recovery,
    };
  }
  const silent = nodes.filter(({ answers }) => answers === "no");
  if (silent.length > 0) {
    const which = silent.map(named).join(" and ");
    const verb = silent.length === 1 ? "does" : "do";
    const text = `${which} ${verb} not answer; node ${leader} leads, with ${serving.length} of ${voters.length} voters`;
    return { text, state: "hurt", page: members };
  }
  const slow = nodes.find(({ lagEntries }) => (lagEntries ?? 0) > LAG_MAX);
  if (slow !== undefined) {
    const text = `${named(slow)} is ${slow.lagEntries} entries behind`;
    return { text, state: "hurt", page: members };
  }
  const count = nodes.length === 1 ? "1 node answers" : `all ${nodes.length} nodes answer`;
  return { text: `${count}, node ${leader} leads (term ${term})`, state: "well", page: undefined };
}

function named({ id, endpoint }: NodeRow): string {
  return id === undefined ? printable(endpoint) : `node ${id}`;
}
