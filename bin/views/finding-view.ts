/** A finding of health as a line for people. */
import type { Finding } from "../../src/views/index.js";

const WORDS = Object.freeze({ down: "DOWN", bad: "problem", warning: "warning" } as const);

export function findingText({ level, sentence, help }: Finding): string {
  return `${WORDS[level]}: ${sentence} What helps: ${help}`;
}
