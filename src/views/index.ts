/**
 * What a view of a cluster means, shared by the page, the commands and a node's own pages: which
 * rows and columns there are, and how each thing is said. Pure.
 */
export { changePhrases } from "./changes.js";
export type { Column } from "./column.js";
export { agoText, durationText, formatDuration } from "./durations.js";
export { explainPhrases, waitPhrase } from "./explain.js";
export {
  type Finding,
  findingsOfNode,
  findingText,
  type Health,
  type HealthFacts,
  helpText,
  judgeHealth,
  LEVEL_WORDS,
  type MemberFacts,
  type NodeFacts,
  type NodeWords,
} from "./health.js";
export { historyEnd, TENURE_COLUMNS } from "./history.js";
export { LOCK_COLUMNS, type LockRow, lockRow } from "./locks.js";
export { MEMBER_COLUMNS, majorityText } from "./members.js";
export { nodesText } from "./node-names.js";
export { NODE_COLUMNS, type NodeRow, nodeState } from "./nodes.js";
export {
  cooldownText,
  HOLD_COLUMNS,
  isOfSession,
  leaseText,
  limitText,
  totalText,
  WAITER_COLUMNS,
} from "./one-key.js";
export {
  countText,
  NOTHING,
  type Phrase,
  phraseText,
  type Shown,
  sentence,
} from "./phrase.js";
export { revokedText } from "./revoked.js";
export { SESSION_COLUMNS } from "./sessions.js";
export { cyclePhrases, possiblePhrases, WAIT_COLUMNS, waitRows } from "./wait-graph.js";
export { isAnonymous, whoPhrase } from "./who.js";
