/**
 * The holds around this process: what each `holdfast run` or `with-lock.sh` holds in whose command
 * it runs, directly or not. None ends before this process does, so it must not wait for them.
 * HOLDFAST_HELD names them, outermost first, one key a line: token, session, mode and key. It may be
 * out of date, because a process can outlive the run that started it: only a token that the cluster
 * still shows counts. To other runs, the session of a nested one says in its metadata within which
 * sessions it runs. Pure.
 */
import type { HeldItem, KeyView, WantedItem } from "../../src/index.js";
import { type Environment, variableText } from "../config/environment.js";
import { EXIT } from "../exit/exit-codes.js";
import { Failure } from "../exit/failure.js";
import { variableOf } from "../text/option-spelling.js";

export interface EnclosingHold {
  readonly token: number;
  /** 0 for a lease. */
  readonly session: number;
  readonly key: string;
}

const HELD = "held";
const LINE = /^(\d{1,16}) (\d{1,16}) (?:exclusive|shared|permits) (.+)$/s;
const WITHIN = /^within (\d{1,16}(?: \d{1,16})*)$/;

export function enclosingHolds(environment: Environment): readonly EnclosingHold[] {
  const text = variableText(environment, HELD);
  return text === undefined ? [] : text.split("\n").map(holdIn);
}

function holdIn(line: string): EnclosingHold {
  const [, token, session, key] = LINE.exec(line) ?? [];
  if (key !== undefined) return { token: Number(token), session: Number(session), key };
  const name = variableOf(HELD);
  const text = `${name} has a line that no holdfast run has written, so unset it: "${line}"`;
  throw new Failure(EXIT.usage, text);
}

/** For the environment of a command under this lock. */
export function heldVariable(
  environment: Environment,
  session: number,
  { token, items }: { readonly token: number; readonly items: readonly HeldItem[] },
): Readonly<Record<string, string>> {
  const around = variableText(environment, HELD);
  const lines = items.map(({ key, mode }) => `${token} ${session} ${mode} ${key}`);
  return { [variableOf(HELD)]: [...(around === undefined ? [] : [around]), ...lines].join("\n") };
}

/** The key in which one of these holds is in the way of a request until it ends. */
export function keyHeldAround(
  views: readonly KeyView[],
  enclosing: readonly EnclosingHold[],
  items: readonly WantedItem[],
): string | undefined {
  const found = items.find((item) => {
    const view = views.find(({ key }) => key === item.key);
    return view !== undefined && isInTheWay(holdsAround(view, enclosing), view, item);
  });
  return found?.key;
}

export function holdsAround(
  { key, holds }: KeyView,
  enclosing: readonly EnclosingHold[],
): KeyView["holds"] {
  return holds.filter(({ token }) =>
    enclosing.some((one) => one.token === token && one.key === key),
  );
}

function isInTheWay(own: KeyView["holds"], { kind, limit }: KeyView, item: WantedItem): boolean {
  if (own.length === 0 || (kind === "semaphore") !== (item.permits !== undefined)) return false;
  if (item.permits !== undefined) {
    const held = own.reduce((sum, { permits }) => sum + permits, 0);
    return held + item.permits > limit;
  }
  return item.mode !== "shared" || own.some(({ mode }) => mode === "exclusive");
}

/** The metadata of the session of a process with these holds around it; `undefined`: none. */
export function metadataWithin(enclosing: readonly EnclosingHold[]): string | undefined {
  const sessions = new Set(enclosing.map(({ session }) => session).filter((one) => one !== 0));
  return sessions.size === 0 ? undefined : `within ${[...sessions].join(" ")}`;
}

/** The sessions within which a session runs, by its metadata. */
export function sessionsAround(metadata: string): readonly number[] {
  return WITHIN.exec(metadata)?.[1]?.split(" ").map(Number) ?? [];
}
