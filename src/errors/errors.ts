/**
 * The errors of Holdfast and the one table of their codes.
 *
 * A code is a contract: it is sent as the number in the table, has a heading in the documents, and
 * never changes its meaning. Messages can be reworded at any time. Every room may import this file;
 * it must import nothing.
 */

/** Code → number on the wire. Numbers below 16 are outcomes that are not errors. */
export const ERROR_NUMBERS = {
  LOCK_HELD: 16,
  LOCK_TIMEOUT: 17,
  LOCK_LOST: 18,
  DEADLOCK: 19,
  QUEUE_FULL: 20,
  WRONG_KIND: 21,
  LIMIT_MISMATCH: 22,
  NOT_HELD: 23,
  STALE_TOKEN: 24,
  SESSION_EXPIRED: 25,
  TOO_MANY_IN_FLIGHT: 26,
  QUOTA: 27,
  BUSY: 28,
  UNAVAILABLE: 29,
  UNAUTHENTICATED: 30,
  FORBIDDEN: 31,
  INVALID_ARGUMENT: 32,
  PROTOCOL: 33,
  DISK_FULL: 34,
  COMPACTED: 35,
  INTERNAL: 36,
  CANCELLED: 37,
  TOKENS_EXHAUSTED: 38,
  UNKNOWN_IDENTITY: 40,
  LAST_ADMIN: 41,
  OUTDATED_ORDER: 42,
} as const;

/**
 * The type of `error.code`. Each code has a heading in the documents and never changes its meaning.
 */
export type ErrorCode = keyof typeof ERROR_NUMBERS;
export type ErrorNumber = (typeof ERROR_NUMBERS)[ErrorCode];

const CODES_BY_NUMBER: ReadonlyMap<number, ErrorCode> = new Map(
  (Object.keys(ERROR_NUMBERS) as ErrorCode[]).map((code) => [ERROR_NUMBERS[code], code]),
);

/** Codes after which the same request can simply be tried again later. */
const RETRYABLE: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  "LOCK_HELD",
  "LOCK_TIMEOUT",
  "QUEUE_FULL",
  "SESSION_EXPIRED",
  "TOO_MANY_IN_FLIGHT",
  "BUSY",
  "UNAVAILABLE",
  "DISK_FULL",
]);

/**
 * The code of a number read from the wire; `undefined` for a number that only a newer peer knows.
 */
export function errorCodeOf(number: number): ErrorCode | undefined {
  return CODES_BY_NUMBER.get(number);
}

export interface HoldfastErrorOptions {
  cause?: unknown;
  /**
   * Facts that depend on the code: holders for `LOCK_HELD`, `indeterminate` for `UNAVAILABLE`, …
   */
  details?: Readonly<Record<string, unknown>>;
}

/** An operating error: a correct program can get it and must decide what to do. */
export class HoldfastError extends Error {
  override readonly name = "HoldfastError";
  readonly code: ErrorCode;
  /** Whether the same call can succeed later without any other change. */
  readonly retryable: boolean;
  readonly details: Readonly<Record<string, unknown>>;

  constructor(code: ErrorCode, message: string, options: HoldfastErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.retryable = RETRYABLE.has(code);
    this.details = options.details ?? {};
  }
}

/** Says an option, followed by its value if one is given. */
export type SayOption = (name: string, value?: unknown) => string;

/** As a program names it: `auditKeepMs 60000`. */
const sayInProgram: SayOption = (name, value) =>
  value === undefined ? name : `${name} ${optionValueText(value)}`;

/** A value of an option in a message; addresses as `host:port`. */
export function optionValueText(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value);
  if (typeof value !== "object" || value === null || !("port" in value)) return String(value);
  const { host, port } = value as { readonly host: string; readonly port: number };
  return `${host.includes(":") ? `[${host}]` : host}:${port}`;
}

/**
 * An error whose message names options of a node. `message` names them as a program does; who typed
 * them as flags is given `messageIn` with a function that says flags.
 */
export class OptionError extends HoldfastError {
  readonly #text: (say: SayOption) => string;

  constructor(
    code: ErrorCode,
    text: (say: SayOption) => string,
    options: HoldfastErrorOptions = {},
  ) {
    super(code, text(sayInProgram), options);
    this.#text = text;
  }

  messageIn(say: SayOption): string {
    return this.#text(say);
  }
}
