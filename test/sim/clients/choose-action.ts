/** What a client does next, by the shares of its plan. */
import { type LockItem, type LockMode, WAIT_FOREVER } from "../../../src/protocol/index.js";
import type { RandomStream } from "../engine/random-stream.js";
import type { ClientMix } from "../plan/plan.js";

/** Beyond so many a client asks for nothing more. */
const WAITS_MAX = 3;

export type Action =
  | { readonly kind: "acquire"; readonly items: readonly LockItem[]; readonly waitMs: number }
  | { readonly kind: "release"; readonly token: number }
  | { readonly kind: "cancel"; readonly target: number }
  | { readonly kind: "inspect"; readonly key: string }
  | { readonly kind: "close" }
  | { readonly kind: "reconnect" }
  | { readonly kind: "none" };

export interface Possessions {
  readonly holds: readonly number[];
  readonly waits: readonly number[];
  /** Tokens it saw in the hands of others. */
  readonly seen: readonly number[];
}

export function chooseAction(
  random: RandomStream,
  mix: ClientMix,
  keys: readonly string[],
  { holds, waits, seen }: Possessions,
): Action {
  const chance = random.next();
  if (chance < mix.reconnect) return { kind: "reconnect" };
  if (chance < mix.reconnect + mix.close) return { kind: "close" };
  if (chance < mix.reconnect + mix.close + mix.inspect) {
    return { kind: "inspect", key: random.pick(keys) };
  }
  if (random.chance(mix.meddle)) {
    const token = random.pickOrNone(seen);
    if (token !== undefined) return { kind: "release", token };
  }
  if (random.chance(mix.cancel)) {
    const target = random.pickOrNone(waits);
    if (target !== undefined) return { kind: "cancel", target };
  }
  const isGreedy = waits.length >= WAITS_MAX;
  if (isGreedy || random.chance(mix.release)) {
    const token = random.pickOrNone(holds);
    if (token !== undefined) return { kind: "release", token };
  }
  if (isGreedy) return { kind: "none" };
  const count = random.chance(mix.several) ? Math.min(2, keys.length) : 1;
  const items = random.shuffled(keys).slice(0, count).sort();
  const mode = (): LockMode => (random.chance(mix.shared) ? "shared" : "exclusive");
  const waitMs = random.pick([WAIT_FOREVER, WAIT_FOREVER, 0, random.integer(50, 800)]);
  return { kind: "acquire", items: items.map((key) => ({ key, mode: mode() })), waitMs };
}
