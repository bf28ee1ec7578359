/** The part of a key's view that does not change with time alone, as canonical text. */
import type { KeyView } from "../../../../src/protocol/index.js";

export function summaryOf({ kind, limit, holds, waiters, cooldowns }: KeyView): string {
  const held = holds.map(({ token, mode, session, task, sequence, slots, value, holder }) => {
    const whose = holder === "session" ? `${session}.${task}` : holder;
    return `${token} ${mode}[${slots.join()}] ${whose} by ${sequence} "${value}"`;
  });
  const waiting = waiters.map(({ session, sequence, mode, permits, isUpgrade, isEligible }) => {
    const how = `${mode}${permits || ""}${isUpgrade ? "+" : ""}${isEligible ? "!" : ""}`;
    return `${session}/${sequence} ${how}`;
  });
  const closed = cooldowns.map(({ token, mode, permits }) => `${token} ${mode}${permits || ""}`);
  const parts = [held, waiting, closed].map((lines) => lines.join(", "));
  return `${kind ?? "unused"} ${limit} | ${parts.join(" | ")}`;
}

/** The summary of a key that nobody uses and whose limit was never set. */
export const UNUSED = summaryOf({
  key: "",
  kind: null,
  limit: 0,
  holds: [],
  waiters: [],
  cooldowns: [],
});
