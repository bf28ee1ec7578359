/**
 * What changed between two looks at the nodes, as lines for people: a node died, another leads. A
 * sentence about the cluster as it is now is in `src/views`. Pure.
 */
import { printable } from "../../src/text/index.js";
import type { SeenNode } from "../cluster/cluster-findings.js";
import type { NodesSeen } from "./cluster-facts.js";

export interface Happening {
  readonly wallMs: number;
  /** Safe to show. */
  readonly text: string;
  readonly isBad: boolean;
}

/** Nothing has happened before the first look, however the cluster is then. */
export function happenings(before: NodesSeen | undefined, now: NodesSeen): Happening[] {
  if (before === undefined) return [];
  const { wallMs } = now;
  const news: Happening[] = [];
  const earlier = new Map(before.nodes.map((node) => [node.id, node]));
  for (const node of now.nodes) {
    const text = node.id === undefined ? undefined : nodeNews(earlier.get(node.id), node);
    if (text !== undefined) news.push({ wallMs, text, isBad: node.answers === "no" });
  }
  const left = before.nodes.filter(({ id }) => !now.nodes.some((node) => node.id === id));
  for (const { id } of left) {
    if (id !== undefined) news.push({ wallMs, text: `node ${id} left`, isBad: false });
  }
  if (before.leader !== now.leader) news.push(leaderNews(before, now));
  return news;
}

function nodeNews(
  before: SeenNode | undefined,
  { id, answers, problem }: SeenNode,
): string | undefined {
  if (before === undefined) return `node ${id} is new`;
  const answered = before.answers !== "no";
  if (answered && answers === "no") {
    return `node ${id} does not answer any more: ${printable(problem)}`;
  }
  if (!answered && answers !== "no") return `node ${id} answers again`;
  return undefined;
}

function leaderNews(before: NodesSeen, { leader, term, wallMs }: NodesSeen): Happening {
  if (leader === 0)
    return { wallMs, text: `no leader any more: it was node ${before.leader}`, isBad: true };
  const was = before.leader === 0 ? "" : `, after node ${before.leader}`;
  return { wallMs, text: `node ${leader} leads now (term ${term})${was}`, isBad: false };
}
