/** The options for `wss:` endpoints: which CAs a client trusts, and how it proves who it is. */
import { isSecure } from "../transport/endpoints.js";
import type { TlsSettings } from "../transport/platform.js";
import { describe } from "./checks.js";

/** What `connect`, `connectAdmin` and `clusterStatus` take for `wss:` endpoints. Node.js only. */
export interface TlsOptions {
  /**
   * The CAs that may have issued the certificates of nodes, as PEM; no others are trusted then.
   * Default: the CAs that Node.js trusts.
   */
  ca?: string | Uint8Array | undefined;
  /** The certificate of this client, as PEM, with intermediate ones after it. Needs `key`. */
  cert?: string | Uint8Array | undefined;
  /** Its private key, as PEM, not encrypted. Needs `cert`. */
  key?: string | Uint8Array | undefined;
}

export const NO_TLS: TlsSettings = Object.freeze({
  ca: undefined,
  cert: undefined,
  key: undefined,
});

/** Checks only the form; the platform reads what is in them. */
export function requireTls(
  { ca, cert, key }: TlsOptions,
  endpoints: readonly string[],
): TlsSettings {
  const given = Object.entries({ ca, cert, key }).filter(([, value]) => value !== undefined);
  for (const [name, value] of given) {
    const isPem = (typeof value === "string" || value instanceof Uint8Array) && value.length > 0;
    if (!isPem)
      throw new TypeError(`${name} must be PEM, a string or bytes, not ${describe(value)}`);
  }
  if ((cert === undefined) !== (key === undefined)) {
    throw new TypeError("cert and key need each other");
  }
  if (given.length > 0 && !endpoints.some(isSecure)) {
    throw new TypeError("ca, cert and key are for wss:// endpoints, and every endpoint is ws://");
  }
  return { ca, cert, key };
}
