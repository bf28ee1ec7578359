/**
 * Splits what a resumed session has to ask for into as many recalls as the protocol's limit needs.
 */
import { OP, RECALL_MAX } from "../protocol/index.js";

export interface RecallQuestion {
  readonly op: typeof OP.recall;
  readonly sequences: readonly number[];
  readonly tokens: readonly number[];
}

export function* recallQuestions(
  sequences: readonly number[],
  tokens: readonly number[],
): Generator<RecallQuestion> {
  const total = sequences.length + tokens.length;
  for (let from = 0; from < total; from += RECALL_MAX) {
    const tokensFrom = Math.max(0, from - sequences.length);
    const tokensTo = Math.max(0, from + RECALL_MAX - sequences.length);
    yield {
      op: OP.recall,
      sequences: sequences.slice(from, from + RECALL_MAX),
      tokens: tokens.slice(tokensFrom, tokensTo),
    };
  }
}
