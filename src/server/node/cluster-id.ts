/**
 * The id of a new cluster. Every member computes the same one from its options, so that no message
 * is needed to agree on it and members of different clusters refuse each other.
 */
import { createHash } from "node:crypto";
import type { HostPort } from "../options.js";

const CLUSTER_ID_HEX_DIGITS = 32;

/**
 * 128 bits of a SHA-256 over the name and the members in the order of their ids, in lower-case hex.
 */
export function computeClusterId(
  clusterName: string,
  members: readonly { readonly id: number; readonly address: HostPort }[],
): string {
  const hash = createHash("sha256");
  hash.update(JSON.stringify(["holdfast cluster", 1, clusterName]));
  for (const { id, address } of [...members].sort((a, b) => a.id - b.id)) {
    hash.update(JSON.stringify([id, address.host, address.port]));
  }
  return hash.digest("hex").slice(0, CLUSTER_ID_HEX_DIGITS);
}
