/** The members of a cluster as its leader sees them, a line each. Pure. */
import type { MemberRole } from "../protocol/index.js";
import type { Columns } from "./column.js";
import { countText, numberText, otherOr } from "./phrase.js";

/** A member, and whether it leads. */
export interface MemberRow {
  readonly id: number;
  readonly role: MemberRole;
  readonly leads: boolean;
  readonly isReachable: boolean;
  readonly lagEntries: number;
  /** How often a process was started on its data; 0: not known. */
  readonly incarnation: number;
  readonly address: string;
  readonly endpoint: string;
}

export const MEMBER_COLUMNS = {
  node: { id: "node", title: "Node", isNumeric: true, cell: ({ id }) => String(id) },
  role: { id: "role", title: "Role", cell: ({ role }) => role },
  leads: { id: "leads", title: "Leads", cell: ({ leads }) => (leads ? "yes" : "") },
  reachable: {
    id: "reachable",
    title: "Reachable",
    cell: ({ isReachable }) => (isReachable ? "yes" : "no"),
  },
  lag: {
    id: "lag",
    title: "Lag",
    isNumeric: true,
    cell: ({ lagEntries }) => numberText(lagEntries),
  },
  starts: {
    id: "starts",
    title: "Starts",
    isNumeric: true,
    cell: ({ incarnation }) => (incarnation === 0 ? "?" : String(incarnation)),
  },
  address: { id: "address", title: "Address", cell: ({ address }) => otherOr(address) },
  endpoint: { id: "endpoint", title: "Endpoint", cell: ({ endpoint }) => otherOr(endpoint) },
} satisfies Columns<MemberRow>;

/** `3 voters: the cluster works while 2 of them run`. */
export function majorityText(members: readonly { readonly role: string }[]): string {
  const voters = members.filter(({ role }) => role === "voter").length;
  if (voters === 1) return "1 voter: the cluster works while it runs";
  const majority = Math.floor(voters / 2) + 1;
  return `${countText(voters, "voter")}: the cluster works while ${majority} of them run`;
}
