/** What a view of a cluster means, the same for the page, the commands and a node's own pages. Pure. */
export {
  type Finding,
  findingsOfNode,
  type Health,
  type HealthFacts,
  judgeHealth,
  type MemberFacts,
  type NodeFacts,
  type NodeWords,
} from "./health.js";
