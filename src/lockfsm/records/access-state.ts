/**
 * All identities, found by name, and their credentials, found by number, by digest of a token and by
 * name. Two identities always exist and have no credentials here: `anonymous`, of connections that
 * have shown nothing, which a new table lets do everything; and `local`, for anyone who can open
 * the socket in a node's directory, which may always do everything. Part of the replicated state.
 */
import { assert } from "../../errors/index.js";
import {
  ACCESS_LEVEL,
  type AccessLevel,
  ANONYMOUS,
  LOCAL,
  LOCAL_CREDENTIAL,
  NO_CREDENTIAL,
} from "../../protocol/index.js";
import type { IdentityLimit } from "../types.js";
import { Credential, type Grant, Identity } from "./identity.js";

export const ANONYMOUS_NUMBER = 0;
export const LOCAL_NUMBER = 1;
/** The numbers of those before are of `anonymous` and `local`. */
export const IDENTITY_NUMBER_MIN = 2;

const EVERYTHING: readonly Grant[] = [{ key: "", isPrefix: true, level: ACCESS_LEVEL.admin }];
const BUILT_IN = { kind: "token", digest: "", expiresWallMs: 0, createdWallMs: 0 } as const;

export class AccessState {
  readonly anonymous = new Identity(ANONYMOUS_NUMBER, ANONYMOUS);
  readonly local = new Identity(LOCAL_NUMBER, LOCAL);
  readonly noCredential = new Credential(this.anonymous, NO_CREDENTIAL, { label: "", ...BUILT_IN });
  readonly localCredential = new Credential(this.local, LOCAL_CREDENTIAL, {
    label: "",
    ...BUILT_IN,
  });
  /** Index of the entry that last changed anything here; 0: none has. */
  revision = 0;
  nextIdentity = IDENTITY_NUMBER_MIN;
  nextCredential = 1;
  grantCount = 0;
  /** Commands that were refused since this table was made, by the level they needed; not replicated. */
  readonly refused: Record<AccessLevel, number> = {
    none: 0,
    observe: 0,
    acquire: 0,
    operate: 0,
    admin: 0,
  };
  /** Commands that met a limit of their identity since then; not replicated. */
  readonly limited: Record<IdentityLimit, number> = {
    sessions: 0,
    claims: 0,
    bytes: 0,
    waiters: 0,
  };
  readonly #byName = new Map<string, Identity>();
  /** Those that were removed, while their sessions are swept. */
  readonly #removed = new Map<number, Identity>();
  readonly #credentials = new Map<number, Credential>();
  readonly #byDigest = new Map<string, Credential>();

  constructor() {
    this.anonymous.setGrants(EVERYTHING);
    this.local.setGrants(EVERYTHING);
    this.#byName.set(ANONYMOUS, this.anonymous);
    this.#byName.set(LOCAL, this.local);
    this.#credentials.set(NO_CREDENTIAL, this.noCredential);
    this.#credentials.set(LOCAL_CREDENTIAL, this.localCredential);
    this.grantCount = this.anonymous.grants.length;
  }

  /** Without `anonymous`, `local` and those that were removed. */
  get size(): number {
    return this.#byName.size - IDENTITY_NUMBER_MIN;
  }

  find(name: string): Identity | undefined {
    return this.#byName.get(name);
  }

  findCredential(number: number): Credential | undefined {
    return this.#credentials.get(number);
  }

  /** The credential of the token with this SHA-256, in hex digits. */
  findToken(digest: string): Credential | undefined {
    return this.#byDigest.get(digest);
  }

  /** If an identity has several certificates, the one that expires last. */
  findCertificate(name: string): Credential | undefined {
    let last: Credential | undefined;
    for (const credential of this.find(name)?.credentials ?? []) {
      if (credential.kind !== "certificate") continue;
      if (last === undefined || endOf(credential) > endOf(last)) last = credential;
    }
    return last;
  }

  /** In no order that means anything. */
  identities(): Iterable<Identity> {
    return this.#byName.values();
  }

  removed(): Iterable<Identity> {
    return this.#removed.values();
  }

  add(identity: Identity): void {
    assert(!this.#byName.has(identity.name), () => `identity ${identity.name} twice`);
    this.#byName.set(identity.name, identity);
  }

  /** Its sessions are dead from now on; `forget` it when they are swept. */
  remove(identity: Identity): void {
    for (const credential of identity.credentials) this.removeCredential(credential);
    this.setGrants(identity, []);
    this.#byName.delete(identity.name);
    this.addRemoved(identity);
  }

  /** For a snapshot: the identity was removed before it. */
  addRemoved(identity: Identity): void {
    identity.isRemoved = true;
    this.#removed.set(identity.number, identity);
  }

  forget(identity: Identity): void {
    this.#removed.delete(identity.number);
  }

  addCredential(credential: Credential): void {
    const { identity, number, digest } = credential;
    this.#credentials.set(number, credential);
    if (digest !== "") this.#byDigest.set(digest, credential);
    identity.credentials = [...identity.credentials, credential].sort(byLabel);
  }

  removeCredential(credential: Credential): void {
    const { identity, number, digest } = credential;
    credential.isRemoved = true;
    this.#credentials.delete(number);
    if (digest !== "") this.#byDigest.delete(digest);
    identity.credentials = identity.credentials.filter((other) => other !== credential);
  }

  setGrants(identity: Identity, grants: readonly Grant[]): void {
    this.grantCount += grants.length - identity.grants.length;
    identity.setGrants(grants);
  }

  /**
   * Whether connections can come as this identity, with this level everywhere and these credentials,
   * now and at any later time, and change what stands here. `local` does not count: it needs a
   * machine.
   */
  isAdminForGood(
    identity: Identity,
    everywhere: number,
    credentials: readonly Credential[],
  ): boolean {
    if (identity === this.local || everywhere < ACCESS_LEVEL.admin) return false;
    return (
      identity === this.anonymous || credentials.some(({ expiresWallMs }) => expiresWallMs === 0)
    );
  }
}

function endOf({ expiresWallMs }: Credential): number {
  return expiresWallMs === 0 ? Number.POSITIVE_INFINITY : expiresWallMs;
}

function byLabel(left: Credential, right: Credential): number {
  return left.label < right.label ? -1 : 1;
}
