/**
 * Shapes of English that a native reader stumbles over, and what to write instead. `CONTRIBUTING.md` has
 * the same list for people.
 */
export interface BannedShape {
  readonly name: string;
  /** Matches the shape, and none of the uses that are good English. */
  readonly pattern: RegExp;
  readonly instead: string;
}

export const BANNED_SHAPES: readonly BannedShape[] = [
  {
    name: "X is no Y",
    pattern:
      /(?<!\bthere (?:(?:can|could|has|have|may|might|must|should|will|would) )?)\b(?:is|are|was|were|be|been) no\b(?! (?:longer|more|less|later|earlier|sooner|fewer|further|better|worse|matter|older|newer|larger|higher|lower|different)\b)/i,
    instead: "is not a Y",
  },
  {
    name: "a sentence that begins with Of",
    pattern: /(?:^|[.:;] )Of (?!course\b|\d|\$\{|these\b|all\b|two\b)/,
    instead: "a whole sentence",
  },
  { name: "that of, those of", pattern: /\b(?:that|those) of\b/i, instead: "the noun again" },
  {
    name: "the same of, the same for",
    pattern: /(?<!\bdo )\bthe same (?:of|for)\b/i,
    instead: "the noun",
  },
  { name: "whoever", pattern: /\bwhoever\b/i, instead: "anyone who, the client that" },
  { name: "nobody need", pattern: /\bnobody needs? to\b/i, instead: "there is no need to" },
  { name: "anew", pattern: /\banew\b/i, instead: "again" },
  { name: "as ever", pattern: /\bas ever\b/i, instead: "as before" },
  { name: "so many", pattern: /\bso (?:many|much)\b(?! that\b)/i, instead: "the number itself" },
  { name: "beside", pattern: /\bbeside\b/i, instead: "next to, besides, in addition to" },
  { name: "the present", pattern: /\b(?:the|at) present\b/i, instead: "current" },
  {
    name: "meet",
    pattern:
      /\b(?:meets?|met)\b(?! (?:the|its|this|that|a|every) (?:condition|deadline|requirement|bound|limit))/i,
    instead: "find, reach, get",
  },
  {
    name: "is told, tells",
    pattern:
      /\b(?:(?:is|are|was|were|be|been|being) told(?! (?:to|that|from|something)\b)|tells?(?! (?:the time|whether\b|which\b|if\b|\w+(?: \w+){0,3} to \w)))\b(?!.*\bapart\b)/i,
    instead: "reports, says, shows; is notified, learns",
  },
  { name: "for want of", pattern: /\bfor want of\b/i, instead: "because there is no" },
  { name: "for ever", pattern: /\bfor ever\b/i, instead: "forever" },
  { name: "in its stead", pattern: /\bin (?:its|his|her|their) stead\b/i, instead: "instead" },
];
