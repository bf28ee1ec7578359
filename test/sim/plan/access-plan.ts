/**
 * Plans in which not everybody may do everything: a share of the seeds, drawn from streams of their
 * own. An administrator makes identities, hands out tokens and closes the cluster; later it gives
 * and takes grants, replaces and removes credentials, and removes identities, while all the other
 * faults happen. The identity `steady` is never touched again: clients that have it must lose
 * nothing.
 */
import type { RandomStream, RandomStreams } from "../../../lab/random-stream.js";
import type { AccessLevel } from "../../../src/protocol/index.js";
import type { ClientPlan } from "./client-plan.js";

const ACCESS_SHARE = 0.12;
export const STEADY = "steady";
/** The share of clients after the first one, which is always `steady`. */
const ANONYMOUS_SHARE = 0.15;
const OTHERS = ["blue", "green", "red"] as const;
const CHANGES_MAX = 10;
/** Set up by then, unless something is in the way. */
const CHANGES_FROM_MS = 1_200;
const KEPT_SHARE = 0.4;

export interface GrantPlan {
  readonly key: string;
  readonly isPrefix: boolean;
  readonly level: AccessLevel;
}

export interface IdentityPlan {
  readonly name: string;
  readonly grants: readonly GrantPlan[];
  /** The clients that have it. */
  readonly hosts: readonly number[];
}

export type AccessChange = { readonly atMs: number } & (
  | { readonly kind: "grant"; readonly name: string; readonly grant: GrantPlan }
  /** The new token is handed out before the old one is removed, so nobody is refused. */
  | { readonly kind: "replaceToken"; readonly name: string; readonly forMs: number }
  /** The token has leaked: it is removed at once, and only later there is another one. */
  | { readonly kind: "removeToken"; readonly name: string; readonly forMs: number }
  /** `forMs`: until an identity of that name is made again; 0: none is. */
  | { readonly kind: "removeIdentity"; readonly name: string; readonly forMs: number }
);

export interface AccessPlan {
  readonly identities: readonly IdentityPlan[];
  readonly beginMs: number;
  /** What `anonymous` may still do when the cluster is closed. */
  readonly anonymous: readonly GrantPlan[];
  readonly changes: readonly AccessChange[];
}

export interface AccessScene {
  readonly stormMs: number;
  readonly clients: readonly ClientPlan[];
  /** Keys of locks and semaphores. */
  readonly keys: readonly string[];
  /** The cluster is restored from a snapshot, which has no credentials. */
  readonly isRestored: boolean;
}

export function accessPlanOf(streams: RandomStreams, scene: AccessScene): AccessPlan | undefined {
  const random = streams.of("rights");
  if (!random.chance(ACCESS_SHARE) || scene.clients.length === 0) return undefined;
  const { clients, keys, stormMs, isRestored } = scene;
  const names = clients.map((_, at) => {
    if (at === 0) return STEADY;
    return random.chance(ANONYMOUS_SHARE) ? "" : random.pick([STEADY, ...OTHERS]);
  });
  const identities = [STEADY, ...OTHERS].map((name) => ({
    name,
    grants: name === STEADY ? [everywhere("operate")] : grantsOf(random, keys),
    hosts: clients.filter((_, at) => names[at] === name).map(({ host }) => host),
  }));
  const count = random.integer(2, CHANGES_MAX);
  const changes = Array.from({ length: count }, () => {
    return changeOf(random, random.integer(CHANGES_FROM_MS, stormMs), keys);
  });
  const kept = random.chance(KEPT_SHARE) ? [grantOf(random, keys, ["observe", "acquire"])] : [];
  return {
    identities,
    beginMs: random.integer(50, 600),
    // Without a credential nobody could do anything to the cluster that is restored.
    anonymous: isRestored ? [everywhere("operate")] : kept,
    changes: changes.sort((a, b) => a.atMs - b.atMs).filter(isBearable),
  };
}

function everywhere(level: AccessLevel): GrantPlan {
  return { key: "", isPrefix: true, level };
}

function grantsOf(random: RandomStream, keys: readonly string[]): GrantPlan[] {
  if (random.chance(0.4)) return [everywhere(random.pick(["acquire", "acquire", "operate"]))];
  return Array.from({ length: random.integer(1, 3) }, () => {
    return grantOf(random, keys, ["observe", "acquire", "acquire", "operate"]);
  });
}

function grantOf(
  random: RandomStream,
  keys: readonly string[],
  levels: readonly AccessLevel[],
): GrantPlan {
  const level = random.pick(levels);
  if (random.chance(0.1)) return everywhere(level);
  return { key: random.pick(keys), isPrefix: random.chance(0.5), level };
}

/** The SDK gives a client up whom nodes send away three times within ten seconds. */
function isBearable({ name }: AccessChange, at: number, all: readonly AccessChange[]): boolean {
  return name !== STEADY || all.findIndex((change) => change.name === name) === at;
}

/** For `steady` only the token is replaced, which nobody may notice. */
function changeOf(random: RandomStream, atMs: number, keys: readonly string[]): AccessChange {
  const name = random.pick(OTHERS);
  const forMs = random.integer(100, 1_000);
  const chance = random.next();
  if (chance < 0.5) {
    const grant = grantOf(random, keys, ["none", "none", "observe", "acquire", "operate"]);
    // What everybody was granted for all keys is taken away most often.
    const isWhole = random.chance(0.4);
    const level = random.pick(["none", "none", "acquire", "operate"] as const);
    return { kind: "grant", atMs, name, grant: isWhole ? everywhere(level) : grant };
  }
  if (chance < 0.65) return { kind: "removeToken", atMs, name, forMs };
  if (chance < 0.8) {
    return { kind: "removeIdentity", atMs, name, forMs: random.chance(0.3) ? 0 : forMs };
  }
  return { kind: "replaceToken", atMs, name: random.pick([STEADY, name]), forMs };
}
