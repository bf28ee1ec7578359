/** Turns the certificates of a client into what Node takes. Must never put a key into an error. */
import { createPrivateKey, X509Certificate } from "node:crypto";
import { createSecureContext, type SecureContext } from "node:tls";
import { HoldfastError } from "../../errors.js";
import type { TlsSettings } from "./platform.js";

/** Made once for all connections of a client. */
export interface ClientTls {
  readonly secureContext: SecureContext;
  readonly hasCertificate: boolean;
}

/** `undefined` if nothing was given. Throws `INVALID_ARGUMENT` for what cannot be used. */
export function clientTls({ ca, cert, key }: TlsSettings): ClientTls | undefined {
  if (ca === undefined && cert === undefined && key === undefined) return undefined;
  const given = {
    ...(ca === undefined ? {} : { ca: pemText("ca", ca) }),
    ...(cert === undefined ? {} : { cert: pemText("cert", cert) }),
    ...(key === undefined ? {} : { key: pemText("key", key) }),
  };
  if (given.ca !== undefined) certificateIn("ca", given.ca);
  if (given.cert !== undefined && given.key !== undefined) {
    const certificate = certificateIn("cert", given.cert);
    const { key: pem } = given;
    const privateKey = usable("key has no private key", () => createPrivateKey(pem));
    if (!certificate.checkPrivateKey(privateKey)) {
      throw invalid("key is not the key of cert: give the pair that was made together");
    }
  }
  const secureContext = usable("ca, cert and key are nothing", () => createSecureContext(given));
  return { secureContext, hasCertificate: cert !== undefined };
}

/** Node accepts a CA that is not PEM without an error, and then trusts none. */
function pemText(name: string, value: string | Uint8Array): string {
  const text = typeof value === "string" ? value : Buffer.from(value).toString("latin1");
  if (text.includes("-----BEGIN ")) return text;
  throw invalid(`${name} is not PEM: it must have a line that starts with -----BEGIN`);
}

function certificateIn(name: string, pem: string): X509Certificate {
  if (pem.includes("-----BEGIN CERTIFICATE-----")) {
    return usable(`${name} has no certificate`, () => new X509Certificate(pem));
  }
  throw invalid(`${name} has no certificate that can be used: it must have BEGIN CERTIFICATE`);
}

function usable<T>(problem: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw invalid(`${problem} that can be used: ${why}`, error);
  }
}

function invalid(message: string, cause?: unknown): HoldfastError {
  return new HoldfastError("INVALID_ARGUMENT", message, { cause });
}
