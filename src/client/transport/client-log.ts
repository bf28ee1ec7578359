/**
 * What a client reports to the logger of its application: connections, sessions, lost locks,
 * retries. Nothing here may contain a secret: no access token, no nonce, no secret of a bearer. A
 * logger that throws changes nothing for the client: the platform reports the first error, others
 * are dropped, because a logger that fails once usually goes on failing.
 */
import type { LogLevel } from "../../protocol/index.js";
import type { Platform } from "./platform.js";

/** A logger as pino's: what belongs to the event first, then a text for people. */
export interface Logger {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

type Fields = Readonly<Record<string, unknown>>;

export class ClientLog {
  readonly #logger: Logger | undefined;
  readonly #platform: Pick<Platform, "warn">;
  #hasFailed = false;

  constructor(logger: Logger | undefined, platform: Pick<Platform, "warn">) {
    this.#logger = logger;
    this.#platform = platform;
  }

  debug(message: string, fields: Fields): void {
    this.#write("debug", message, fields);
  }

  info(message: string, fields: Fields): void {
    this.#write("info", message, fields);
  }

  warn(message: string, fields: Fields): void {
    this.#write("warn", message, fields);
  }

  error(message: string, fields: Fields): void {
    this.#write("error", message, fields);
  }

  #write(level: LogLevel, message: string, fields: Fields): void {
    const logger = this.#logger;
    if (logger === undefined) return;
    try {
      logger[level](fields, message);
    } catch (error) {
      if (!this.#hasFailed) this.#platform.warn?.(`holdfast: the logger failed: ${String(error)}`);
      this.#hasFailed = true;
    }
  }
}
