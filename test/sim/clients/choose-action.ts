/** Chooses what a client does next, by the shares of its plan. */
import type { RandomStream } from "../../../lab/random-stream.js";
import { type LockItem, type LockMode, WAIT_FOREVER } from "../../../src/protocol/index.js";
import type { ClientMix } from "../plan/client-plan.js";
import type { Belief } from "./belief.js";
import type { Call } from "./protocol/call.js";

/** With this many waits a client asks for nothing more. */
const WAITS_MAX = 3;

export type Action =
  | { readonly kind: "acquire"; readonly items: readonly LockItem[]; readonly waitMs: number }
  | { readonly kind: "release"; readonly belief: Belief }
  | { readonly kind: "leave"; readonly call: Call }
  /** What others hold by that number, or nobody does. */
  | { readonly kind: "meddle"; readonly target: number }
  | { readonly kind: "inspect"; readonly key: string }
  | { readonly kind: "close" }
  | { readonly kind: "reconnect" }
  | { readonly kind: "none" };

export interface Possessions {
  readonly holds: readonly Belief[];
  readonly waits: readonly Call[];
  /** Numbers it saw of what others hold. */
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
    const target = random.pickOrNone(seen);
    if (target !== undefined) return { kind: "meddle", target };
  }
  if (random.chance(mix.cancel)) {
    const call = random.pickOrNone(waits);
    if (call !== undefined) return { kind: "leave", call };
  }
  const isGreedy = waits.length >= WAITS_MAX;
  if (isGreedy || random.chance(mix.release)) {
    const belief = random.pickOrNone(holds);
    if (belief !== undefined) return { kind: "release", belief };
  }
  if (isGreedy) return { kind: "none" };
  const most = Math.min(mix.severalMost ?? 2, keys.length);
  const count = random.chance(mix.several) ? most : 1;
  const items = random.shuffled(keys).slice(0, count).sort();
  const mode = (): LockMode => (random.chance(mix.shared) ? "shared" : "exclusive");
  const waitMs = random.pick([WAIT_FOREVER, WAIT_FOREVER, 0, random.integer(50, 800)]);
  return { kind: "acquire", items: items.map((key) => ({ key, mode: mode() })), waitMs };
}
