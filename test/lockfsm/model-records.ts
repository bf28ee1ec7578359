/** What the naive model remembers. Plain data; see `model.ts`. */
import { ERROR_NUMBERS } from "../../src/errors.js";
import type { EndReason, LockItem, Result } from "../../src/protocol/index.js";

export interface ModelReply {
  readonly sequence: number;
  readonly stamp: number;
  kind: "waiting" | "reply" | "outcome" | "tombstone";
  result: Result;
  ended?: EndReason;
}

export interface ModelSession {
  readonly id: number;
  readonly nonce: string;
  readonly name: string;
  readonly ttlMs: number;
  expiresAt: number;
  epoch: number;
  attachedAt: number;
  attachedSequence: number;
  highest: number;
  mark: number;
  replies: ModelReply[];
  ended: boolean;
}

export interface ModelRequest {
  readonly session: ModelSession;
  readonly sequence: number;
  readonly owner: number;
  readonly number: number;
  readonly items: readonly LockItem[];
  readonly since: number;
  readonly deadline: number;
  /** Keys in which nothing before it conflicts with it any more. */
  readonly reached: string[];
}

export interface ModelHold {
  readonly session: ModelSession;
  readonly token: number;
  readonly sequence: number;
  readonly owner: number;
  readonly items: LockItem[];
  readonly since: number;
}

export const modeIn = (items: readonly LockItem[], key: string) =>
  items.find((item) => item.key === key)?.mode;
export const conflict = (left: string | undefined, right: string | undefined) =>
  left !== undefined && right !== undefined && (left === "exclusive" || right === "exclusive");
export const error = (code: keyof typeof ERROR_NUMBERS): Result => ({
  status: ERROR_NUMBERS[code],
});
