/**
 * The hosts of a node as names in its certificate: DNS names and IP addresses, each in the form in
 * which TLS compares it. This file must not look up anything.
 */
import type { X509Certificate } from "node:crypto";
import { NAME_TAG, subjectNamesOf } from "./certificate-parts.js";
import { element } from "./der.js";
import { invalid } from "./identity.js";

const DNS_LENGTH_MAX = 253;
/** `*` as the first label stands for any one label. Names of containers may have underscores. */
const DNS =
  /^(?:\*\.(?=.+\.))?[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?(?:\.[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?)*$/;
/** Such a name is a wrong address, as 10.0.0.256. */
const LAST_LABEL_OF_DIGITS = /(?:^|\.)[0-9]+$/;
const OCTET = "(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])";
const IPV4 = new RegExp(`^(?:${OCTET}\\.){3}${OCTET}$`);
/** The characters of an IPv6 address, and no others that have a meaning in a URL. */
const IPV6 = /^(?=.*:)[0-9A-Fa-f:.]+$/;
const HEXTETS = 8;

/** Throws `INVALID_ARGUMENT` if `host` is neither a DNS name nor an IP address. */
export function hostName(host: string): Uint8Array {
  const address = addressBytes(host);
  if (address !== undefined) return element(NAME_TAG.ip, address);
  const name = host.toLowerCase();
  const isName =
    name.length <= DNS_LENGTH_MAX && DNS.test(name) && !LAST_LABEL_OF_DIGITS.test(name);
  if (isName) return element(NAME_TAG.dns, Buffer.from(name));
  throw invalid(
    `${JSON.stringify(host)} is not a host: a DNS name or an IP address is required, without port; ` +
      "letters beyond a to z as xn--…",
  );
}

/** The DNS names and IP addresses of a certificate, in their order. */
export function readHosts(certificate: X509Certificate): string[] {
  return (subjectNamesOf(certificate) ?? []).flatMap(({ tag, value }) => {
    if (tag === NAME_TAG.dns) return [Buffer.from(value).toString("latin1")];
    return tag === NAME_TAG.ip ? [addressText(value)] : [];
  });
}

function addressBytes(host: string): Uint8Array | undefined {
  if (IPV4.test(host)) return Uint8Array.from(host.split(".").map(Number));
  if (!IPV6.test(host) || !URL.canParse(`http://[${host}]`)) return undefined;
  // In the short form, at most one run of zeros is left out.
  const [before = "", after] = new URL(`http://[${host}]`).hostname.slice(1, -1).split("::");
  const [head, tail] = [before, after ?? ""].map((part) => part.split(":").filter(Boolean));
  const hextets = [...(head ?? []), ...(tail ?? [])];
  const zeros = Array<string>(HEXTETS - hextets.length).fill("0");
  const all = [...(head ?? []), ...zeros, ...(tail ?? [])];
  return Uint8Array.from(all.flatMap((text) => bytesOf(Number.parseInt(text, 16))));
}

function bytesOf(hextet: number): [number, number] {
  return [hextet >> 8, hextet & 0xff];
}

function addressText(bytes: Uint8Array): string {
  if (bytes.length === 4) return bytes.join(".");
  const hextets = Array.from({ length: HEXTETS }, (_, at) => {
    return (((bytes[2 * at] ?? 0) << 8) | (bytes[2 * at + 1] ?? 0)).toString(16);
  });
  if (bytes.length !== 2 * HEXTETS) return Buffer.from(bytes).toString("hex");
  return new URL(`http://[${hextets.join(":")}]`).hostname.slice(1, -1);
}
