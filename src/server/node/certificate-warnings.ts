/**
 * Logs that a certificate will expire: 30, 7 and 1 days before, and when it has expired. A warning is
 * left out if it would come in the first two thirds of the certificate's lifetime.
 */
import type { X509Certificate } from "node:crypto";
import { beginMsOf, endMsOf } from "../../certificates/index.js";
import type { NodeLogger } from "../ports.js";

const DAY_MS = 86_400_000;
/** In the order in which they are tried. */
const DAYS_BEFORE = [0, 1, 7, 30] as const;
const LIFE_SHARE_MAX = 1 / 3;

export class CertificateWarnings {
  readonly #log: NodeLogger;
  /** The fewest days that were logged, by fingerprint. */
  readonly #told = new Map<string, number>();

  constructor(log: NodeLogger) {
    this.#log = log;
  }

  look(what: string, certificate: X509Certificate, nowMs: number): void {
    const endMs = endMsOf(certificate);
    const lifeMs = endMs - beginMsOf(certificate);
    const leftMs = endMs - nowMs;
    const days = DAYS_BEFORE.find((before) => {
      return leftMs <= before * DAY_MS && before * DAY_MS <= lifeMs * LIFE_SHARE_MAX;
    });
    const { fingerprint256 } = certificate;
    if (
      days === undefined ||
      days >= (this.#told.get(fingerprint256) ?? Number.POSITIVE_INFINITY)
    ) {
      return;
    }
    this.#told.set(fingerprint256, days);
    const subject = certificate.subject.replaceAll("\n", ", ");
    const fields = { subject, expires: new Date(endMs).toISOString() };
    if (days === 0) this.#log("error", `the ${what} has expired: connections are refused`, fields);
    else
      this.#log(
        "warn",
        `the ${what} expires within ${days === 1 ? "a day" : `${days} days`}`,
        fields,
      );
  }
}
