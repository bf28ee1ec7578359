/** The sessions of a cluster, a line each. Pure. */
import type { SessionView } from "../protocol/index.js";
import type { Columns } from "./column.js";
import { agoText, formatDuration } from "./durations.js";
import { NOTHING, numberText, otherOr } from "./phrase.js";

/** A session whose client says nothing for this part of its lease missed a renewal. */
const QUIET_PART = 0.5;

export const SESSION_COLUMNS = {
  session: {
    id: "session",
    title: "Session",
    isNumeric: true,
    cell: ({ session }) => String(session),
  },
  name: { id: "name", title: "Name", cell: ({ name }) => otherOr(name) },
  identity: { id: "identity", title: "Identity", cell: ({ identity }) => otherOr(identity) },
  node: {
    id: "node",
    title: "Node",
    isNumeric: true,
    cell: ({ node }) => (node === 0 ? NOTHING : String(node)),
  },
  address: { id: "address", title: "Address", cell: ({ address }) => otherOr(address) },
  holds: { id: "holds", title: "Holds", isNumeric: true, cell: ({ holds }) => numberText(holds) },
  waits: { id: "waits", title: "Waits", isNumeric: true, cell: ({ waits }) => numberText(waits) },
  ttl: { id: "ttl", title: "TTL", isNumeric: true, cell: ({ ttlMs }) => formatDuration(ttlMs) },
  lease: {
    id: "lease",
    title: "Lease left",
    isNumeric: true,
    cell: ({ leaseMs }) => formatDuration(leaseMs),
  },
  heard: {
    id: "heard",
    title: "Last heard",
    isNumeric: true,
    cell: ({ idleMs }) => agoText(idleMs),
  },
  remarks: { id: "remarks", title: "Remarks", cell: sessionRemarks },
} satisfies Columns<SessionView>;

function sessionRemarks({ isRevoked, idleMs, ttlMs }: SessionView): string {
  if (isRevoked) return "being ended";
  return idleMs > ttlMs * QUIET_PART ? "quiet" : "";
}
