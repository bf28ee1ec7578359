/**
 * The holds around this process: what each `holdfast run` or `with-lock.sh` holds in whose command
 * it runs, directly or not. None ends before this process does, so it must not wait for them.
 * HOLDFAST_HELD names them, outermost first, one key a line: cluster, token, session, mode and key.
 * Tokens and sessions of another cluster mean nothing in this one. It may be out of date, because a
 * process can outlive the run that started it: only a token that the cluster still shows counts. To
 * other runs, the session of a nested one says in its metadata within which sessions it runs. Pure.
 */
import type { Client, HeldItem, KeyView, WantedItem } from "../../src/index.js";
import { type Environment, variableText } from "../config/environment.js";
import { EXIT } from "../exit/exit-codes.js";
import { Failure } from "../exit/failure.js";
import { variableOf } from "../text/option-spelling.js";

export interface EnclosingHold {
  /** "" in the line of a `with-lock.sh`, which does not know it. */
  readonly cluster: string;
  readonly token: number;
  /** 0 for a lease. */
  readonly session: number;
  readonly key: string;
}

const HELD = "held";
const LINE = /^([\da-f]{32}|-) (\d{1,16}) (\d{1,16}) (?:exclusive|shared|permits) (.+)$/s;
const WITHIN = /^within((?: [\da-f]{32}\/\d{1,16})+)$/;

export function enclosingHolds(environment: Environment): readonly EnclosingHold[] {
  const text = variableText(environment, HELD);
  return text === undefined ? [] : text.split("\n").map(holdIn);
}

function holdIn(line: string): EnclosingHold {
  const [, cluster = "", token, session, key] = LINE.exec(line) ?? [];
  if (key !== undefined) {
    const numbers = { token: Number(token), session: Number(session) };
    return { cluster: cluster === "-" ? "" : cluster, ...numbers, key };
  }
  const name = variableOf(HELD);
  const text = `${name} has a line that no holdfast run has written, so unset it: "${line}"`;
  throw new Failure(EXIT.usage, text);
}

/** The holds in this cluster, as far as that is known. */
export function holdsOfCluster(
  enclosing: readonly EnclosingHold[],
  clusterId: string,
): readonly EnclosingHold[] {
  return enclosing.filter(({ cluster }) => cluster === clusterId || cluster === "");
}

/** For the environment of a command under this lock. */
export function heldVariable(
  environment: Environment,
  { clusterId, session }: Pick<Client, "clusterId" | "session">,
  { token, items }: { readonly token: number; readonly items: readonly HeldItem[] },
): Readonly<Record<string, string>> {
  const around = variableText(environment, HELD);
  const lines = items.map(({ key, mode }) => `${clusterId} ${token} ${session} ${mode} ${key}`);
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
  const ofSessions = enclosing.filter(({ session }) => session !== 0);
  const places = new Set(ofSessions.map(({ cluster, session }) => `${cluster}/${session}`));
  return places.size === 0 ? undefined : `within ${[...places].join(" ")}`;
}

/** The sessions of a cluster within which one of its sessions runs, by its metadata. */
export function sessionsAround(metadata: string, clusterId: string): readonly number[] {
  const places = WITHIN.exec(metadata)?.[1]?.trim().split(" ") ?? [];
  return places.flatMap((place) => {
    const [cluster, session] = place.split("/");
    return cluster === clusterId ? Number(session) : [];
  });
}
