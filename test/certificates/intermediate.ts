/**
 * An authority with an intermediate one, as other tools make them: what `createAuthority` makes must
 * issue no other authority. What the intermediate issues has its certificate after it, as in the file
 * of a node.
 */
import { generateKeyPairSync, sign, X509Certificate } from "node:crypto";
import { EXTENSION } from "../../src/certificates/certificate-parts.js";
import {
  bitString,
  CONTEXT_CONSTRUCTED,
  element,
  objectId,
  sequence,
  TAG,
  time,
  unsignedInteger,
} from "../../src/certificates/der.js";
import type { IssuedCertificate } from "../../src/certificates/index.js";
import { daysFromNow } from "./test-certificates.js";

const ECDSA = sequence(objectId("1.2.840.10045.4.3.2"));
const TRUE = element(TAG.boolean, Uint8Array.of(0xff));
const VERSION_3 = element(CONTEXT_CONSTRUCTED + 0, unsignedInteger(Uint8Array.of(2)));

interface Chain {
  readonly root: IssuedCertificate;
  readonly intermediate: IssuedCertificate;
}

export function chainOfAuthorities(name: string): Chain {
  const rootName = `${name}, root`;
  const [rootKeys, keys] = [newKeys(), newKeys()];
  return {
    root: authority(rootName, rootKeys, rootName, rootKeys),
    intermediate: authority(`${name}, intermediate`, keys, rootName, rootKeys),
  };
}

/** What `chain.intermediate` has issued, with that one's own certificate after it. */
export function withIntermediate(issued: IssuedCertificate, chain: Chain): IssuedCertificate {
  const { certificatePem } = chain.intermediate;
  return { ...issued, certificatePem: `${issued.certificatePem}${certificatePem}` };
}

type Keys = ReturnType<typeof newKeys>;

function newKeys() {
  return generateKeyPairSync("ec", { namedCurve: "prime256v1" });
}

function authority(
  name: string,
  own: Keys,
  issuer: string,
  { privateKey }: Keys,
): IssuedCertificate {
  const isAuthority = element(TAG.octetString, sequence(TRUE));
  const extensions = sequence(sequence(objectId(EXTENSION.basicConstraints), TRUE, isAuthority));
  const signed = sequence(
    ...[VERSION_3, unsignedInteger(Uint8Array.of(1)), ECDSA, commonName(issuer)],
    ...[sequence(time(daysFromNow(-1)), time(daysFromNow(100))), commonName(name)],
    own.publicKey.export({ type: "spki", format: "der" }),
    element(CONTEXT_CONSTRUCTED + 3, extensions),
  );
  const signature = bitString(sign("sha256", signed, privateKey));
  return {
    certificatePem: new X509Certificate(sequence(signed, ECDSA, signature)).toString(),
    keyPem: own.privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
  };
}

function commonName(name: string): Uint8Array {
  const value = element(TAG.utf8String, Buffer.from(name));
  return sequence(element(TAG.set, sequence(objectId("2.5.4.3"), value)));
}
