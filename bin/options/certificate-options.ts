/**
 * The options of `holdfast cert`. `clusterName` is the option of `holdfast server`, because a
 * certificate and its node must agree on it. The others describe one call, so they are only flags.
 */
import { option, optionWithDefault } from "./option-definition.js";
import { textKind, textsKind, wholeNumberKind } from "./option-kinds.js";
import { SERVER_OPTIONS } from "./server-options.js";

/** A CA lasts long, because replacing it concerns every machine. */
export const AUTHORITY_DAYS = 3_650;
/** A year, and a month in which to renew. */
export const ISSUED_DAYS = 397;
const DAYS_MAX = 36_500;
/** The hosts of a node on this machine. */
export const LOCAL_HOSTS: readonly string[] = ["localhost", "127.0.0.1", "::1"];

export const CERTIFICATE_OPTIONS = {
  clusterName: {
    ...SERVER_OPTIONS.clusterName,
    description: "name of the cluster, the same as for its nodes",
  },
  host: option(textsKind("host"), "DNS name or IP address of the node; may be repeated", {
    reach: "flag",
    defaultText: LOCAL_HOSTS.join(", "),
  }),
  days: option(wholeNumberKind(1, DAYS_MAX), "how long it is valid", {
    reach: "flag",
    defaultText: `${AUTHORITY_DAYS} of a CA, else ${ISSUED_DAYS}`,
  }),
  out: optionWithDefault(textKind("directory"), "where the files are written", "./certs", {
    reach: "flag",
  }),
  caFrom: option(textKind("directory"), "where ca.crt and ca.key are", {
    reach: "flag",
    defaultText: "same as --out",
  }),
};
