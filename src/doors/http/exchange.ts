/**
 * One request and its answer, as the door has them. In production they come over a connection of HTTP
 * (`http-exchange.ts`); the simulator has requests without one. Types only.
 */
import type { IncomingHttpHeaders, ServerResponse } from "node:http";
import type { HttpCaller } from "../../net/index.js";
import type { Problem } from "./problems.js";

/** The body of an answer that has no end. */
export type AnswerStream = Pick<
  ServerResponse,
  "closed" | "once" | "write" | "end" | "destroy" | "writableLength"
>;

export interface Exchange {
  readonly caller: HttpCaller;
  readonly method: string;
  readonly path: string;
  /** Without the question mark. */
  readonly query: string;
  readonly headers: IncomingHttpHeaders;
  /** How often a header was given. */
  countOf(header: string): number;
  /** Resolves to a body of JSON. Rejects with a `Problem`. */
  readJson(): Promise<unknown>;
  /** Refuses a body where none is taken: what is in it would be ignored. */
  requireNoBody(): Promise<void>;
  /** Whether there is nobody left to answer. */
  readonly isCallerGone: boolean;
  /** Aborted when the caller leaves before its answer was written. */
  readonly leaving: AbortSignal;
  /** Aborted when the caller leaves, or will say nothing more. It may still read an answer. */
  readonly ended: AbortSignal;
  /** Whether an answer was written, or begun. */
  readonly isAnswered: boolean;
  /** `body`: JSON in one line. An answer is written once; after the caller has left, into nothing. */
  answer(status: number, body: string): void;
  fail(problem: Problem): void;
  /** An answer without a body. */
  answerEmpty(status: number, headers: readonly string[]): void;
  /** Begins an answer whose body has no end, with its own rules for caches. */
  begin(headers: readonly string[]): AnswerStream;
  /** Cuts an answer off that was begun, if it has not ended. */
  breakOff(): void;
  /** Calls `onOver` with the status when the answer is written or the caller has left. */
  whenOver(onOver: (status: number) => void): void;
}
