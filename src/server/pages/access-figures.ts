/** What the pages of a node show of who may do what: how much there is of each, and never a name. */
import type { CredentialCounts, LockTable } from "../../lockfsm/index.js";
import type { AccessState } from "../../protocol/index.js";

const SOON_MS = 7 * 24 * 60 * 60 * 1_000;

export interface AccessFigures {
  readonly state: AccessState;
  readonly identities: number;
  /** Within seven days. */
  readonly expiring: CredentialCounts;
}

export function accessFigures(
  table: Pick<LockTable, "accessCounts" | "anonymousLevels" | "countExpiring">,
  wallMs: number,
): AccessFigures {
  const { everywhere, highest } = table.anonymousLevels;
  return {
    state: everywhere === "admin" ? "open" : highest === "none" ? "closed" : "partlyOpen",
    identities: table.accessCounts().identities,
    expiring: table.countExpiring(wallMs, SOON_MS),
  };
}
