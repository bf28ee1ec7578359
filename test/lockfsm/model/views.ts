/** What the naive model shows (semantics.md, 11.2), computed from all of it each time. */
import { createHash } from "node:crypto";
import type { TableCounts } from "../../../src/lockfsm/index.js";
import type { KeyView, SessionView } from "../../../src/protocol/index.js";
import { hasReached, holdsIn, isRevokedAtEnd, queueOf } from "./claims.js";
import { waitsOf } from "./cycles.js";
import { holderOf, itemIn, keysOf, type ModelItem, type ModelTask } from "./records.js";
import { bytesOfAll } from "./sizes.js";
import type { Model } from "./state.js";

export function keysInUse(model: Model): string[] {
  const claims = [...model.holds, ...model.requests, ...model.cooldowns];
  const working = model.work.filter((work) => typeof work === "string");
  const semaphores = model.semaphores.map(({ key }) => key);
  return [...new Set([...claims.flatMap(keysOf), ...working, ...semaphores])].sort();
}

/** No search is deferred in the model. */
export function countsOf(model: Model): TableCounts {
  return {
    sessions: model.sessions.length,
    keys: keysInUse(model).length,
    holds: model.holds.length,
    waiters: model.requests.length,
    cooldowns: model.cooldowns.length,
    leases: model.holds.filter(({ lease }) => lease !== undefined).length,
    endlessLeases: model.holds.filter(({ lease }) => lease?.endsAt === Number.POSITIVE_INFINITY)
      .length,
    tableBytes: bytesOfAll(model),
    searchesDeferred: 0,
    searchesGivenUp: 0,
    deadlocks: model.deadlocks,
    limited: model.limited,
  };
}

export function inspect(model: Model, key: string): KeyView {
  if (!keysInUse(model).includes(key)) {
    return { key, kind: null, limit: 0, holds: [], waiters: [], cooldowns: [] };
  }
  const { stamp } = model;
  const semaphore = model.semaphoreOf(key);
  const restMs = (at: number) => Math.max(0, at - stamp);
  return {
    key,
    kind: semaphore === undefined ? "lock" : "semaphore",
    limit: semaphore?.limit ?? 0,
    holds: holdsIn(model, key).map((hold) => {
      const { mode, permits, slots } = itemIn(hold, key) as ModelItem;
      const { token, session, task, sequence, since, waitedMs, value } = hold;
      const { revoked, lease, end } = hold;
      const isAlive = session !== undefined && model.isAlive(session);
      const endsAt = lease?.endsAt ?? (isAlive ? session.expiresAt : 0);
      return {
        token,
        mode,
        session: session?.id ?? 0,
        sessionName: session?.name ?? lease?.name ?? "",
        identity: (session ?? lease)?.identity.name ?? "",
        task,
        sequence,
        heldMs: stamp - since,
        waitedMs,
        leaseMs: restMs(endsAt === Number.POSITIVE_INFINITY ? 0 : endsAt),
        ttlMs: (lease ?? session)?.ttlMs ?? 0,
        endsInMs: end === undefined ? null : restMs(end.at),
        isRevoked: isRevokedAtEnd(hold),
        orderedBy: revoked?.by ?? session?.forced?.by ?? "",
        holder: holderOf(hold),
        leaseOwner: lease === undefined ? "" : shownOwner(lease.owner),
        permits,
        slots,
        value,
      };
    }),
    waiters: queueOf(model, key).map((request) => {
      const { mode, permits } = itemIn(request, key) as ModelItem;
      const { session, task, sequence, since, deadline, options, upgrades, take } = request;
      return {
        mode,
        session: session.id,
        sessionName: take?.name ?? session.name,
        identity: (take ?? session).identity.name,
        task,
        sequence,
        arrival: request.number,
        waitingMs: stamp - since,
        endsInMs: deadline === Number.POSITIVE_INFINITY ? null : restMs(deadline),
        priority: options.priority,
        permits,
        isUpgrade: upgrades !== undefined,
        isEligible: hasReached(request, key),
      };
    }),
    cooldowns: model.cooldowns
      .filter((cooldown) => itemIn(cooldown, key))
      .sort((left, right) => left.token - right.token)
      .map((cooldown) => {
        const { mode, permits } = itemIn(cooldown, key) as ModelItem;
        const { token, identity, at } = cooldown;
        return { mode, token, identity: identity?.name ?? "", endsInMs: restMs(at), permits };
      }),
  };
}

/** The beginning of the digest of what is kept of the owner. */
function shownOwner(owner: string): string {
  return digestOf(digestOf(owner)).slice(0, 8);
}

function digestOf(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 32);
}

export function sessionsOf(model: Model): SessionView[] {
  return model.sessions
    .filter((session) => model.isAlive(session))
    .map((session) => ({
      session: session.id,
      name: session.name,
      identity: session.identity.name,
      metadata: session.metadata,
      ttlMs: session.ttlMs,
      leaseMs: session.expiresAt - model.stamp,
      idleMs: model.stamp - session.renewedAt,
      ...session.origin,
      holds: model.holds.filter((hold) => hold.session === session).length,
      waits: model.requests.filter((request) => request.session === session).length,
      isRevoked: session.forced !== undefined,
    }));
}

/** Who waits for whom, in no order. */
export function edgesOf(model: Model): Edge[] {
  const nameOf = ({ session, task }: ModelTask) => `${session.id}/${task}`;
  return waitsOf(model).flatMap(({ request, holders, ahead }) =>
    [...holders, ...ahead].map((other) => ({ from: nameOf(request), to: nameOf(other) })),
  );
}

interface Edge {
  readonly from: string;
  readonly to: string;
}

/** Everybody for whom somebody waits, directly or not: `from to`, sorted. */
export function closureOf(edges: readonly Edge[]): string[] {
  const lines = new Set<string>();
  for (const start of new Set(edges.map(({ from }) => from))) {
    const found: string[] = [];
    const line = [start];
    for (const name of line) {
      for (const { from, to } of edges) {
        if (from !== name || found.includes(to)) continue;
        found.push(to);
        line.push(to);
      }
    }
    for (const name of found) lines.add(`${start} ${name}`);
  }
  return [...lines].sort();
}
