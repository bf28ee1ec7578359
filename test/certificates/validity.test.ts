/** What is read from a PEM file, and the checks of time and issuer, also against OpenSSL's. */
import { execFileSync } from "node:child_process";
import { X509Certificate } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import {
  beginMsOf,
  createAuthority,
  endMsOf,
  hasIssued,
  isInTime,
  issueClientCertificate,
  readCertificates,
} from "../../src/certificates/index.js";
import { installed } from "../fence/stores/installed.js";
import { AUTHORITY, nodeCertificate, OTHER_AUTHORITY } from "./test-certificates.js";

const NOW = new Date("2026-11-23T08:00:00Z");
const BEGIN_MS = Date.parse("2026-11-23T07:00:00Z");
const END_MS = Date.parse("2026-11-24T08:00:00Z");
const CA = createAuthority({ name: "a", days: 10, now: NOW });
const ISSUED = issueClientCertificate(CA, { cluster: "holdfast", name: "a", days: 1, now: NOW });

test("all certificates of a file are read in their order, whatever is around them", () => {
  const { certificatePem, keyPem } = nodeCertificate(1);
  const pem = `node 1\n${certificatePem}${keyPem}the CA:\n${AUTHORITY.certificatePem}`;
  const serials = readCertificates(pem).map(({ serialNumber }) => serialNumber);
  expect(serials).toEqual(
    [certificatePem, AUTHORITY.certificatePem].map((one) => new X509Certificate(one).serialNumber),
  );
});

test("a file without a certificate has none, and a damaged one is not left out", () => {
  expect(readCertificates("")).toEqual([]);
  expect(readCertificates(AUTHORITY.keyPem)).toEqual([]);
  const damaged = AUTHORITY.certificatePem.replace("\nMII", "\nAAA");
  expect(() => readCertificates(AUTHORITY.certificatePem + damaged)).toThrow();
});

test("a certificate is valid from its first millisecond until just before its end", () => {
  const certificate = new X509Certificate(ISSUED.certificatePem);
  expect([beginMsOf(certificate), endMsOf(certificate)]).toEqual([BEGIN_MS, END_MS]);
  const times = [BEGIN_MS - 1, BEGIN_MS, END_MS - 1, END_MS];
  expect(times.map((ms) => isInTime(certificate, ms))).toEqual([false, true, true, false]);
});

const openssl = installed("OpenSSL", "openssl");

test.runIf(openssl !== undefined)("OpenSSL finds a certificate valid in the same seconds", () => {
  const place = mkdtempSync(join(tmpdir(), "holdfast-validity-"));
  try {
    const [ca, file] = [join(place, "ca.crt"), join(place, "a.crt")];
    writeFileSync(ca, CA.certificatePem);
    writeFileSync(file, ISSUED.certificatePem);
    const accepts = (ms: number): boolean => {
      const at = ["-attime", String(ms / 1_000), "-CAfile", ca, file];
      try {
        execFileSync(openssl ?? "", ["verify", ...at], { stdio: "pipe" });
        return true;
      } catch {
        return false;
      }
    };
    const certificate = new X509Certificate(ISSUED.certificatePem);
    for (const ms of [BEGIN_MS, BEGIN_MS + 1_000, END_MS - 1_000, END_MS]) {
      expect(accepts(ms)).toBe(isInTime(certificate, ms));
    }
  } finally {
    rmSync(place, { recursive: true, force: true });
  }
});

test("a certificate is issued by the CA that signed it, not by another of the same name", () => {
  const x509 = (pem: string): X509Certificate => new X509Certificate(pem);
  const [ca, other] = [x509(AUTHORITY.certificatePem), x509(OTHER_AUTHORITY.certificatePem)];
  const node = x509(nodeCertificate(1).certificatePem);
  expect(node.issuer).toBe(other.subject);
  expect(hasIssued(ca, node)).toBe(true);
  expect(hasIssued(ca, ca)).toBe(true);
  expect(hasIssued(other, node)).toBe(false);
});
