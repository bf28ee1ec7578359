/** Turns the certificates of a client into what Node takes. Must never put a key into an error. */
import { createPrivateKey, X509Certificate } from "node:crypto";
import { createSecureContext, type SecureContext } from "node:tls";
import { HoldfastError } from "../../errors/index.js";
import type { TlsSettings } from "./platform.js";

/** Made once for all connections of a client. */
export interface ClientTls {
  readonly secureContext: SecureContext;
  readonly hasCertificate: boolean;
  /** Why no node accepts its own certificate, by the clock of this machine; `undefined`: it may. */
  certificateProblem(): string | undefined;
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
  let certificate: X509Certificate | undefined;
  if (given.cert !== undefined && given.key !== undefined) {
    certificate = certificateIn("cert", given.cert);
    const { key: pem } = given;
    const privateKey = usable("key has no private key", () => createPrivateKey(pem));
    if (!certificate.checkPrivateKey(privateKey)) {
      throw invalid("key is not the key of cert: give the pair that was made together");
    }
  }
  const secureContext = usable("ca, cert and key are nothing", () => createSecureContext(given));
  return {
    secureContext,
    hasCertificate: cert !== undefined,
    certificateProblem: () => certificate && problemAt(Date.now(), certificate),
  };
}

function problemAt(nowMs: number, { validFrom, validTo }: X509Certificate): string | undefined {
  const [beginMs, endMs] = [Date.parse(validFrom), Date.parse(validTo)];
  const way = "renew it, or set the clock of this machine";
  if (nowMs >= endMs)
    return `the client's certificate (cert) expired at ${dateText(endMs)}: ${way}`;
  if (nowMs >= beginMs) return undefined;
  return `the client's certificate (cert) is not valid before ${dateText(beginMs)}: ${way}`;
}

function dateText(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 16).replace("T", " ")} UTC`;
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
