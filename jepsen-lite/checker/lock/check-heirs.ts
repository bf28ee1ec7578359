/** Holds that are handed over: of several who try to go on with them, one gets them. */
import { Heirs } from "../../../lab/laws/heirs.js";
import { namesOf } from "../event-text.js";
import { answerOf, type Finding, FindingBuilder, linesOf } from "./finding.js";
import type { LockCall } from "./lock-calls.js";
import type { LockHistory } from "./lock-history.js";

/** One who tries to go on with what was handed over: a call for each of its tokens. */
type Heir = readonly LockCall[];

export function checkHeirs({ calls }: LockHistory): Finding {
  const builder = new FindingBuilder("heirs");
  /** By each token that they ask for. */
  const asking = new Map<number, Heir>();
  const successful = new Heirs<number, Heir>();
  for (const heir of heirsIn(calls)) {
    const tokens = heir.flatMap(({ token }) => token ?? []);
    if (tokens.some((token) => asking.has(token))) builder.compared += 1;
    for (const token of tokens) asking.set(token, heir);
    if (!heir.some(({ granted }) => granted !== undefined)) continue;
    const before = successful.goesOn(heir, tokens);
    if (before !== undefined) report(builder, before, heir);
  }
  return builder.finding();
}

function heirsIn(calls: readonly LockCall[]): Iterable<Heir> {
  const heirs = new Map<number, LockCall[]>();
  for (const call of calls) {
    if (call.f !== "adopt") continue;
    const { line } = call.operation.invocation;
    heirs.set(line, [...(heirs.get(line) ?? []), call]);
  }
  return heirs.values();
}

function report(builder: FindingBuilder, first: Heir, second: Heir): void {
  const [one, other] = [first[0] as LockCall, second[0] as LockCall];
  const [both, ...names] = namesOf(answerOf(one), answerOf(other));
  const tokens = [...new Set([...first, ...second].map(({ token }) => token))];
  const got = [first, second].map((heir, position) => {
    const granted = heir.flatMap((call) => call.granted ?? []);
    return `${names[position]} by ${tokensText(granted)}`;
  });
  builder.violation(
    "two heirs",
    `${both} went on with what ${tokensText(tokens)} stood for: ${got.join(", ")}`,
    { keys: [], events: linesOf(...first, ...second) },
  );
}

function tokensText(tokens: readonly unknown[]): string {
  return `token${tokens.length === 1 ? "" : "s"} ${tokens.join(" and ")}`;
}
