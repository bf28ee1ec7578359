/** What is used of the package redlock 5, whose own types its exports do not name. */
declare module "redlock5" {
  export interface Lock {
    readonly value: string;
    /** By the wall clock of `Date.now()`. */
    readonly expiration: number;
    release(): Promise<unknown>;
    extend(durationMs: number): Promise<Lock>;
  }

  export interface Attempt {
    /** Why each server that did not agree did not. */
    readonly votesAgainst: ReadonlyMap<unknown, Error>;
  }

  /** No majority of the servers agreed. */
  export class ExecutionError extends Error {
    readonly attempts: readonly Promise<Attempt>[];
  }

  /** The server answered that the lock has another value, or none. */
  export class ResourceLockedError extends Error {}

  export default class Redlock {
    constructor(clients: readonly object[], settings: object);
    acquire(keys: string[], durationMs: number): Promise<Lock>;
  }
}
