/** Restoring a cluster in the naive model: what survives of the one before, and from where it counts. */
import type { RefoundOptions } from "../../../src/lockfsm/index.js";
import type { ModelItem } from "./records.js";
import { foundersOf } from "./records.js";
import type { Model } from "./state.js";

const A_DAY_OF_TOKENS = 24 * 60 * 60 * 2 ** 21;

/** `founded` was just made, with the settings of `old`. */
export function refound(founded: Model, old: Model, options: RefoundOptions): void {
  founded.stamp = old.stamp;
  founded.nextNumber = old.nextNumber;
  Object.assign(founded.orders, old.orders);
  founded.nextToken = Math.max(old.nextToken + A_DAY_OF_TOKENS, options.tokenFloor);
  founded.leftAtMs = options.savedWallMs;
  founded.quietUntil = old.stamp + options.quietMs;
  founded.identities = old.identities.map(({ name, grants }) => {
    return { name, grants: [...grants], isRemoved: false };
  });
  founded.credentials = foundersOf().credentials.map((credential) => {
    const { name } = credential.identity;
    const identity = founded.identities.find((other) => other.name === name);
    return { ...credential, identity: identity ?? credential.identity };
  });
  founded.nextCredential = old.nextCredential;
  founded.semaphores = old.semaphores
    .filter(({ isSet }) => isSet)
    .map(({ key, limit }) => ({ key, limit, isSet: true, evictFrom: undefined }));
  const closed = [...old.cooldowns].sort((left, right) => left.number - right.number);
  for (const { token, items, at } of closed) keepClosed(founded, old, token, items, at);
  const { quietMs } = options;
  for (const { token, items, since, lease, options: policies } of old.holds) {
    const closedUntil = since + policies.minHoldMs;
    // A lease may have been extended once more, and only its keys wait for longer than everybody.
    const isUsed = lease !== undefined && !lease.isBearer;
    const hasEnd = isUsed && lease.endsAt < Number.POSITIVE_INFINITY;
    const liveMs = hasEnd && quietMs > 0 ? lease.ttlMs + policies.lockDelayMs : 0;
    const at = liveMs > quietMs ? Math.max(closedUntil, old.stamp + liveMs) : closedUntil;
    if (at > old.stamp) keepClosed(founded, old, token, items, at);
  }
}

function keepClosed(
  founded: Model,
  old: Model,
  token: number,
  items: readonly ModelItem[],
  at: number,
): void {
  const copies = items.map((item) => ({ ...item }));
  const nobodys = { session: undefined, identity: undefined };
  const number = founded.takeNumber();
  founded.cooldowns.push({ token, ...nobodys, items: copies, at, number });
  for (const { key } of copies) {
    const semaphore = old.semaphoreOf(key);
    if (semaphore === undefined || founded.semaphoreOf(key) !== undefined) continue;
    founded.semaphores.push({ ...semaphore, isSet: false, evictFrom: undefined });
  }
}
