/**
 * Who may do what, changed and shown by a program: identities, their credentials and their grants.
 * Makes the tokens of identities. A token leaves this file only as the result of `createToken`; the
 * cluster is sent its digest.
 */
import {
  type AccessView,
  type CheckAccessView,
  type IdentityView,
  OP,
  type PutCredentialCommand,
  QUERY_PAGE_MAX,
} from "../../protocol/index.js";
import { quotedKey } from "../../text/index.js";
import type { WithoutHead } from "../calls/command-call.js";
import type { CommandCarrier, OrderWish } from "../calls/orders.js";
import {
  type CredentialOptions,
  type GrantLevel,
  type GrantTarget,
  requireIdentity,
  requireLabel,
  requireLevel,
  resolveCredential,
  resolveGrantTarget,
} from "../options/access-options.js";
import { signalOf } from "../options/checks.js";
import type { AdminCallOptions } from "../options/operator-options.js";
import type { Question } from "../options/view-options.js";
import { accessTokenOf, TOKEN_SECRET_BYTES } from "../transport/access-token.js";
import type { Platform } from "../transport/platform.js";

/** A token that was just made, which no one can show again. */
export interface CreatedToken {
  /** `hf_` and 48 characters. Anyone who has it is that identity. */
  readonly token: string;
  readonly label: string;
  /** Wall time in milliseconds; 0: never. */
  readonly expiresWallMs: number;
}

/**
 * Identities, their credentials and their grants. All calls but `check` need `admin`. Each change
 * names the state that it wants, so that it is safe to repeat. Changes are made in the order of the
 * calls, and no change undoes a later one, however often this object had to send it.
 *
 * The name of an identity is 1 – 128 of letters, digits and `._-@/+:`, the first a letter or digit.
 * `anonymous` and `local` always exist; of these two, only the grants of `anonymous` can be changed.
 *
 * Calls reject with the signal's reason or with a `HoldfastError`: `UNAUTHENTICATED` (the cluster
 * does not know who asks), `FORBIDDEN` (who asks has no `admin`), `UNKNOWN_IDENTITY`, `LAST_ADMIN`
 * (no one could change access any more), `INVALID_ARGUMENT` (a reserved or wrong name, `admin` on
 * some keys only), `QUOTA` (more than 10,000 identities, 16 credentials or 256 permissions of one
 * identity, 100,000 grants, or the bytes of the table), `UNAVAILABLE`, `CANCELLED`.
 */
export interface Access {
  /**
   * Every identity in the order of the names, with its grants and credentials but without tokens or
   * digests; fetched page by page.
   */
  list(options?: AdminCallOptions): AsyncIterable<IdentityView>;
  /** Makes an identity, which may do nothing yet. */
  addIdentity(name: string, options?: AdminCallOptions): Promise<void>;
  /** Removes an identity, its grants and credentials, and ends its sessions with all they hold. */
  removeIdentity(name: string, options?: AdminCallOptions): Promise<void>;
  /**
   * Makes a token with which a client is that identity. It replaces the credential of the same
   * label, whose connections end.
   */
  createToken(name: string, options?: CredentialOptions): Promise<CreatedToken>;
  /**
   * Lets clients be that identity by a client certificate of the same name, from a CA that the nodes
   * trust (`--client-ca`). Resolves to its label, which is "certificate" by default.
   */
  addCertificate(name: string, options?: CredentialOptions): Promise<string>;
  /** Removes a credential. Connections that have shown it end. */
  removeCredential(name: string, label: string, options?: AdminCallOptions): Promise<void>;
  /**
   * Sets the level of an identity on one key, `{ key }`, or on all keys that begin so, `{ prefix }`.
   * `{ prefix: "" }` means all keys, and `admin` is granted on those only. It replaces an earlier
   * grant on the same key or prefix; of several grants that cover a key the highest counts.
   */
  grant(
    name: string,
    level: GrantLevel,
    target: GrantTarget,
    options?: AdminCallOptions,
  ): Promise<void>;
  /**
   * Removes the grant on exactly that key or prefix. Locks that are held stay held; what waits and is
   * no longer allowed ends with `FORBIDDEN` when it would be granted.
   */
  revoke(name: string, target: GrantTarget, options?: AdminCallOptions): Promise<void>;
  /**
   * Whether an identity has that level on a key or on all keys with a prefix, and by which grant.
   * About oneself any client may ask.
   */
  check(
    name: string,
    level: GrantLevel,
    target: GrantTarget,
    options?: AdminCallOptions,
  ): Promise<CheckAccessView>;
}

/** Bytes of the random part of a default label. */
const LABEL_RANDOM_BYTES = 4;
const LABEL_OF_CERTIFICATE = "certificate";
const TEXT_RESERVED = "the names anonymous and local are reserved";
const TEXT_ADMIN = 'admin is granted on all keys only, { prefix: "" }, and never to local';

export interface AccessParts extends CommandCarrier {
  ask(question: Question, signal: AbortSignal | undefined): Promise<unknown>;
}

export class ClusterAccess implements Access {
  readonly #carrier: AccessParts;
  readonly #platform: Pick<Platform, "randomBytes" | "sha256">;

  constructor(carrier: AccessParts, platform: Pick<Platform, "randomBytes" | "sha256">) {
    this.#carrier = carrier;
    this.#platform = platform;
  }

  list(options?: AdminCallOptions): AsyncIterable<IdentityView> {
    return this.#identities(signalOf(options));
  }

  async addIdentity(name: string, options?: AdminCallOptions): Promise<void> {
    requireIdentity(name);
    await this.#change({ op: OP.putIdentity, name }, `identity ${quotedKey(name)}`, options, {
      INVALID_ARGUMENT: TEXT_RESERVED,
      QUOTA: "the cluster has 10,000 identities already, or the bytes that tableBytesMax allows",
    });
  }

  async removeIdentity(name: string, options?: AdminCallOptions): Promise<void> {
    requireIdentity(name);
    const what = `the removal of identity ${quotedKey(name)}`;
    await this.#change({ op: OP.removeIdentity, name }, what, options, {
      INVALID_ARGUMENT: TEXT_RESERVED,
    });
  }

  async createToken(name: string, options?: CredentialOptions): Promise<CreatedToken> {
    requireIdentity(name);
    const { expiresWallMs, signal, ...given } = resolveCredential(options);
    const label = given.label ?? `token-${hex(this.#random(LABEL_RANDOM_BYTES))}`;
    const token = accessTokenOf(this.#random(TOKEN_SECRET_BYTES));
    const digest = hex(await this.#platform.sha256(new TextEncoder().encode(token)));
    await this.#putCredential({ name, label, kind: "token", digest, expiresWallMs }, signal);
    return { token, label, expiresWallMs };
  }

  async addCertificate(name: string, options?: CredentialOptions): Promise<string> {
    requireIdentity(name);
    const { label = LABEL_OF_CERTIFICATE, expiresWallMs, signal } = resolveCredential(options);
    const credential = { name, label, digest: undefined, expiresWallMs } as const;
    await this.#putCredential({ ...credential, kind: "certificate" }, signal);
    return label;
  }

  async removeCredential(name: string, label: string, options?: AdminCallOptions): Promise<void> {
    requireIdentity(name);
    requireLabel(label);
    const what = `the removal of credential ${quotedKey(label)} of ${quotedKey(name)}`;
    await this.#change({ op: OP.removeCredential, name, label }, what, options, {
      INVALID_ARGUMENT: TEXT_RESERVED,
    });
  }

  async grant(
    name: string,
    level: GrantLevel,
    target: GrantTarget,
    options?: AdminCallOptions,
  ): Promise<void> {
    requireLevel(level);
    await this.#setGrant(name, level, target, options);
  }

  async revoke(name: string, target: GrantTarget, options?: AdminCallOptions): Promise<void> {
    await this.#setGrant(name, "none", target, options);
  }

  async check(
    name: string,
    level: GrantLevel,
    target: GrantTarget,
    options?: AdminCallOptions,
  ): Promise<CheckAccessView> {
    requireIdentity(name);
    requireLevel(level);
    const question = { op: OP.checkAccess, name, level, ...resolveGrantTarget(target) } as const;
    return (await this.#carrier.ask(question, signalOf(options))) as CheckAccessView;
  }

  async #setGrant(
    name: string,
    level: GrantLevel | "none",
    target: GrantTarget,
    options: AdminCallOptions | undefined,
  ): Promise<void> {
    requireIdentity(name);
    const { key, isPrefix } = resolveGrantTarget(target);
    const keys = isPrefix ? `keys with the prefix ${quotedKey(key)}` : quotedKey(key);
    const what = `the permission of ${quotedKey(name)} on ${key === "" ? "all keys" : keys}`;
    await this.#change({ op: OP.setGrant, name, key, isPrefix, level }, what, options, {
      INVALID_ARGUMENT: TEXT_ADMIN,
      QUOTA:
        "more than 256 permissions of one identity, 100,000 of all, or the bytes that " +
        "tableBytesMax allows; one permission on a prefix can replace several",
    });
  }

  async #putCredential(
    credential: Omit<WithoutHead<PutCredentialCommand>, "op">,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const command = { op: OP.putCredential, ...credential } as const;
    const what = `credential ${quotedKey(credential.label)} of ${quotedKey(credential.name)}`;
    await this.#change(
      command,
      what,
      { signal },
      {
        INVALID_ARGUMENT: TEXT_RESERVED,
        QUOTA: "an identity has at most 16 credentials; remove one that is no longer used",
      },
    );
  }

  async #change(
    command: OrderWish["command"],
    what: string,
    options: AdminCallOptions | undefined,
    texts: NonNullable<OrderWish["texts"]>,
  ): Promise<void> {
    await this.#carrier.command({ command, what, texts, signal: signalOf(options) });
  }

  async *#identities(signal: AbortSignal | undefined): AsyncGenerator<IdentityView> {
    let after: string | undefined;
    do {
      const question = { op: OP.access, after, limit: QUERY_PAGE_MAX } as const;
      const page = (await this.#carrier.ask(question, signal)) as AccessView;
      yield* page.identities;
      after = page.next ?? undefined;
    } while (after !== undefined);
  }

  #random(length: number): Uint8Array {
    const bytes = new Uint8Array(length);
    this.#platform.randomBytes(bytes);
    return bytes;
  }
}

function hex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
