/**
 * The options of `holdfast snapshot restore`. Those that say which node of which cluster is founded
 * are the same as for `holdfast server`; the rest describe only one restore.
 */
import { option, requiredOption, switchOption } from "./option-definition.js";
import { durationKind, nodeAddressesKind, textKind, wholeNumberKind } from "./option-kinds.js";
import { SERVER_OPTIONS } from "./server-options.js";

/** More than the longest lease that the setting `leaseTtlMsMax` can allow. */
const QUIET_MS_MAX = 8 * 86_400_000;
/** Leaves 2^46 tokens: as much as the table itself allows. */
const TOKEN_FLOOR_MAX = 2 ** 53 - 2 ** 46;

const { id, data } = SERVER_OPTIONS;

export const RESTORE_OPTIONS = {
  id,
  data,
  initialCluster: requiredOption(
    nodeAddressesKind("members"),
    "all nodes of the new cluster with their peer addresses, the same on each node",
  ),
  restoreId: {
    ...requiredOption(
      textKind("text"),
      "any text that was never used before, the same on each node",
    ),
    reach: "flag" as const,
  },
  quietTime: option(
    durationKind(1_000, QUIET_MS_MAX),
    "how long the new cluster opens no session: holders may still rely on their leases",
    { reach: "flag", defaultText: "11m" },
  ),
  oldLeasesAreOver: switchOption(
    "no quiet time: the old cluster was stopped longer ago than the longest lease",
    { reach: "flag" },
  ),
  dropEndlessLeases: switchOption("leases without end are over: nobody relies on them any more", {
    reach: "flag",
  }),
  tokenFloor: option(
    wholeNumberKind(1, TOKEN_FLOOR_MAX),
    "lower limit of the new cluster's fencing tokens",
    {
      reach: "flag",
      defaultText: "from snapshot and clock",
    },
  ),
};
