/**
 * Reads from the bytes of a certificate what `X509Certificate` does not show, or shows only as one
 * text in which a name can look like two (CVE-2021-44532). A certificate that is not exactly DER has
 * no parts: this file must not guess.
 */
import type { X509Certificate } from "node:crypto";
import { CONTEXT, CONTEXT_CONSTRUCTED, elementsIn, insideOf, objectId, TAG } from "./der.js";

/** Object identifiers of extensions. */
export const EXTENSION = {
  subjectKeyId: "2.5.29.14",
  keyUsage: "2.5.29.15",
  subjectAltName: "2.5.29.17",
  basicConstraints: "2.5.29.19",
  authorityKeyId: "2.5.29.35",
  extendedKeyUsage: "2.5.29.37",
} as const;

/** Tags of the kinds of names, by their numbers in RFC 5280, 4.2.1.6. */
export const NAME_TAG = { dns: CONTEXT + 2, uri: CONTEXT + 6, ip: CONTEXT + 7 } as const;

const VERSION_TAG = CONTEXT_CONSTRUCTED + 0;
const EXTENSIONS_TAG = CONTEXT_CONSTRUCTED + 3;
/** After serial number, signature algorithm, issuer and validity. */
const SUBJECT_AT = 4;

export interface CertificateParts {
  /** The subject, as an element. */
  readonly subject: Uint8Array;
  /** The value of an extension; `undefined` if there is none. */
  extension(id: string): Uint8Array | undefined;
}

/** `undefined` if the certificate is not DER, or has an extension twice. */
export function partsOf(certificate: X509Certificate): CertificateParts | undefined {
  const [signed] = insideOf(certificate.raw, TAG.sequence) ?? [];
  if (signed?.tag !== TAG.sequence) return undefined;
  const all = elementsIn(signed.content) ?? [];
  const fields = all[0]?.tag === VERSION_TAG ? all.slice(1) : all;
  const subject = fields[SUBJECT_AT]?.whole;
  const list = fields.find(({ tag }) => tag === EXTENSIONS_TAG);
  const extensions = list === undefined ? [] : insideOf(list.content, TAG.sequence);
  if (subject === undefined || extensions === undefined) return undefined;
  const values = new Map<string, Uint8Array>();
  for (const { content } of extensions) {
    const parts = elementsIn(content);
    const [id, value] = [parts?.at(0), parts?.at(-1)];
    if (id?.tag !== TAG.objectId || value?.tag !== TAG.octetString) return undefined;
    const key = hex(id.whole);
    if (values.has(key)) return undefined;
    values.set(key, value.content);
  }
  return { subject, extension: (id) => values.get(hex(objectId(id))) };
}

export interface SubjectName {
  /** One of `NAME_TAG`, or of another kind. */
  readonly tag: number;
  readonly value: Uint8Array;
}

/** The names in subjectAltName; `undefined` if they are not DER. */
export function subjectNamesOf(certificate: X509Certificate): SubjectName[] | undefined {
  const parts = partsOf(certificate);
  if (parts === undefined) return undefined;
  const names = parts.extension(EXTENSION.subjectAltName);
  if (names === undefined) return [];
  return insideOf(names, TAG.sequence)?.map(({ tag, content }) => ({ tag, value: content }));
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("hex");
}
