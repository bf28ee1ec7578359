/**
 * Decides which names are allowed, with the same rules for the SDK's argument checks, the gateway
 * and the table. What these functions accept is replicated behaviour: every node must decide alike,
 * so a rule may change only together with a version that all nodes of a cluster know.
 *
 * Each returns the reason for a refusal, without the name itself, or `undefined` if it is allowed.
 */
import {
  ACCESS_TOKEN_BYTES_MAX,
  ADDRESS_BYTES_MAX,
  IDENTITY_NAME_BYTES_MAX,
  KEY_BYTES_MAX,
  LABEL_BYTES_MAX,
  METADATA_BYTES_MAX,
  REASON_BYTES_MAX,
  RESERVED_KEY_PREFIX,
  SESSION_NAME_BYTES_MAX,
  SETTING_NAME_BYTES_MAX,
  VALUE_BYTES_MAX,
} from "./limits.js";
import { lockNameOf, redisNameOf } from "./lock-names.js";
import { utf8Length } from "./utf8.js";

/** The characters of host names and IPv4 addresses; none of them has a meaning inside a URL. */
const HOST = /^[A-Za-z0-9._-]+$/;
const BRACKETED_IPV6 = /^\[[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*\]$/;
const LETTERS = /^[A-Za-z]+$/;
const IDENTITY_NAME = /^[A-Za-z0-9][A-Za-z0-9._\-@/+:]*$/;
const VISIBLE = /^[!-~]+$/;
const PORT = /^[1-9][0-9]{0,4}$/;
const PORT_MAX = 65_535;

/** @returns why a text is not allowed; `undefined` if it is */
export type TextRule = (text: string) => string | undefined;

/**
 * A key that applications may choose: 1 – 512 bytes of UTF-8, no control characters, not under the
 * reserved prefix.
 */
export function isValidKey(key: string): string | undefined {
  if (key.length === 0) return "key is empty";
  if (key.startsWith(RESERVED_KEY_PREFIX)) return `keys under ${RESERVED_KEY_PREFIX} are reserved`;
  return lengthProblem(key, KEY_BYTES_MAX, "key") ?? controlProblem(key, "key");
}

/** A key that the table may have: one that `isValidKey` allows, or an escaped name. */
export function isValidTableKey(key: string): string | undefined {
  if (!key.startsWith(RESERVED_KEY_PREFIX)) return isValidKey(key);
  const isName = lockNameOf(key) !== undefined || redisNameOf(key) !== undefined;
  return isName ? undefined : isValidKey(key);
}

/**
 * The beginning of the keys of a listing, or the key that it continues after: any part of a key, or
 * "".
 */
export function isValidPrefix(prefix: string): string | undefined {
  return lengthProblem(prefix, KEY_BYTES_MAX, "prefix") ?? controlProblem(prefix, "prefix");
}

/** A session's name: at most 256 bytes of UTF-8, no control characters: terminals show it. */
export function isValidSessionName(name: string): string | undefined {
  return lengthProblem(name, SESSION_NAME_BYTES_MAX, "name") ?? controlProblem(name, "name");
}

/** A session's metadata: at most 1,024 bytes of UTF-8, any characters. */
export function isValidMetadata(metadata: string): string | undefined {
  return lengthProblem(metadata, METADATA_BYTES_MAX, "metadata");
}

/** The value of a hold: at most 1,024 bytes of UTF-8, any characters. */
export function isValidValue(value: string): string | undefined {
  return lengthProblem(value, VALUE_BYTES_MAX, "value");
}

/** The reason of a revoke: at most 256 bytes of UTF-8, no control characters. */
export function isValidReason(reason: string): string | undefined {
  return lengthProblem(reason, REASON_BYTES_MAX, "reason") ?? controlProblem(reason, "reason");
}

/** A setting's name, known or not: letters only, at most 64. */
export function isValidSettingName(name: string): string | undefined {
  if (name.length > SETTING_NAME_BYTES_MAX) return `name exceeds ${SETTING_NAME_BYTES_MAX} bytes`;
  return LETTERS.test(name) ? undefined : "a setting's name is made of letters";
}

/** The name of an identity: 1 – 128 of letters, digits and `._-@/+:`, the first a letter or digit. */
export function isValidIdentityName(name: string): string | undefined {
  if (name.length > IDENTITY_NAME_BYTES_MAX) return `name exceeds ${IDENTITY_NAME_BYTES_MAX} bytes`;
  return IDENTITY_NAME.test(name)
    ? undefined
    : "an identity's name is made of letters, digits and ._-@/+: and begins with one of the former";
}

/** What a credential is called: 1 – 64 bytes of UTF-8, no control characters. */
export function isValidLabel(label: string): string | undefined {
  if (label.length === 0) return "label is empty";
  return lengthProblem(label, LABEL_BYTES_MAX, "label") ?? controlProblem(label, "label");
}

/** An access token as it is sent: 1 – 512 visible ASCII characters. */
export function isValidAccessToken(token: string): string | undefined {
  if (token.length > ACCESS_TOKEN_BYTES_MAX) return `token exceeds ${ACCESS_TOKEN_BYTES_MAX} bytes`;
  return VISIBLE.test(token)
    ? undefined
    : "a token has only visible ASCII characters, no blank and no line break";
}

/**
 * The address at which a member is dialed: `host:port`, at most 255 bytes, an IPv6 host in
 * brackets, the port 1 – 65,535 without leading zeros. Does not check whether such a host exists.
 */
export function isValidAddress(address: string): string | undefined {
  if (address.length > ADDRESS_BYTES_MAX) return `address exceeds ${ADDRESS_BYTES_MAX} bytes`;
  const colon = address.lastIndexOf(":");
  if (colon === -1) return "address is not host:port";
  const host = address.slice(0, colon);
  if (!HOST.test(host) && !BRACKETED_IPV6.test(host)) {
    return "address needs a host name, an IPv4 address or an IPv6 address in brackets";
  }
  const port = address.slice(colon + 1);
  if (!PORT.test(port) || Number(port) > PORT_MAX) return `address needs a port 1..${PORT_MAX}`;
  return undefined;
}

function lengthProblem(text: string, bytesMax: number, what: string): string | undefined {
  const length = utf8Length(text);
  if (length < 0) return `${what} holds a lone surrogate`;
  return length > bytesMax ? `${what} exceeds ${bytesMax} bytes` : undefined;
}

/** Unicode's category Cc: U+0000 – U+001F and U+007F – U+009F. */
function controlProblem(text: string, what: string): string | undefined {
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit < 0x20 || (unit >= 0x7f && unit < 0xa0)) return `${what} holds a control character`;
  }
  return undefined;
}
