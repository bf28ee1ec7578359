/** Faults between processes: cuts of every shape, by direction, and slow links. */
import type { RandomStream } from "../../lab/random-stream.js";
import {
  clientPlace,
  FAST_ROAD,
  nodePlace,
  type Place,
  type SlowRoad,
} from "../cluster/network.js";
import type { Fault, Nemesis, Target } from "./nemesis.js";

/** The place of all clients that come by the addresses that nodes advertise. */
const ADVERTISED: Place = "*";
/** How long to wait for a client that hands a hold over. */
const HAND_OVER_MS_MAX = 1_000;

type Cut = readonly [from: Place, to: Place];

interface Shape {
  readonly what: string;
  readonly cuts: readonly Cut[];
}

/** The properties of a slow road: a delay, or almost no bandwidth. */
const ROADS = [
  { delayMs: 50, bytesPerSecondMax: 0 },
  { delayMs: 400, bytesPerSecondMax: 0 },
  { delayMs: 5, bytesPerSecondMax: 4_000 },
] as const;

export const partition: Nemesis = {
  name: "partition",
  about: "the network between nodes is cut: leader alone, halves, a bridge, one way, each way",
  isForPeers: true,
  begin: (target, random) => cutNetwork(target, random, shapeOf(target, random)),
};

export const partitionClients: Nemesis = {
  name: "partition-clients",
  about: "clients are cut off from some or all nodes, in one or both directions",
  isForPeers: true,
  async begin(target, random) {
    const { clientPlaces } = target.network;
    const clients = random.sample(clientPlaces, random.integer(1, clientPlaces.length));
    const nodes = random.sample(nodePlaces(target), random.integer(1, target.nodes.length));
    const ways = random.pick(["both", "forth", "back"] as const);
    const pairs = clients.flatMap((client) => nodes.map((node) => [client, node] as const));
    const cuts = pairs.flatMap((pair) => cutsOf(pair, ways));
    const who = clients.map(nameOf).join(", ");
    const what = `${who} and ${nodes.join(", ")} cut, ${wordsOf(ways)}`;
    return cutNetwork(target, random, { what, cuts });
  },
};

export const cutHandOvers: Nemesis = {
  name: "cut-hand-overs",
  about: "a client is cut off from all nodes as soon as it hands a hold over, or takes one up",
  async begin(target, random) {
    const ways = random.pick(["both", "forth", "back"] as const);
    const any = random.pick(target.clients);
    const { client } = ((await target.nextHandOver(HAND_OVER_MS_MAX)) ?? any).plan;
    const own = clientPlace(client);
    // Clients that follow the leader share one place.
    const place = target.network.clientPlaces.includes(own) ? own : ADVERTISED;
    const cuts = nodePlaces(target).flatMap((node) => cutsOf([place, node], ways));
    const what = `client ${client} (${nameOf(place)}) cut off, ${wordsOf(ways)}`;
    return cutNetwork(target, random, { what, cuts });
  },
};

function nameOf(place: Place): string {
  return place === ADVERTISED ? "by the advertised addresses" : place;
}

export const slow: Nemesis = {
  name: "slow",
  about: "links are slow or carry almost nothing, in one or both directions",
  isForPeers: true,
  async refusal({ network }) {
    if (network === "proxies") return undefined;
    return "slow links require the proxies: leave --netns out";
  },
  async begin(target, random) {
    const road = random.pick(ROADS);
    const places = [...nodePlaces(target), ...target.network.clientPlaces];
    const slowed = random.sample(nodePlaces(target), random.integer(1, target.nodes.length));
    const isBoth = random.chance(0.5);
    const pairs: Cut[] = slowed.flatMap((node) =>
      places
        .filter((place) => place !== node)
        .flatMap((place) => cutsOf([place, node], isBoth ? "both" : "forth")),
    );
    const change = async (to: SlowRoad) => {
      for (const [one, other] of pairs) await target.network.slow(one, other, to);
    };
    await change(road);
    const how =
      road.bytesPerSecondMax === 0
        ? `${road.delayMs} ms late`
        : `${road.bytesPerSecondMax / 1_000} kB/s`;
    return {
      what: `links to ${isBoth ? "and from " : ""}${slowed.join(", ")} ${how}`,
      end: () => change(FAST_ROAD),
    };
  },
};

async function cutNetwork(target: Target, random: RandomStream, shape: Shape): Promise<Fault> {
  const isReset = random.chance(0.5);
  const { network } = target;
  for (const [from, to] of shape.cuts) await network.block(from, to);
  return {
    what: shape.what,
    async end() {
      for (const [from, to] of shape.cuts) await network.unblock(from, to, isReset);
    },
  };
}

function shapeOf(target: Target, random: RandomStream): Shape {
  const places = random.sample(nodePlaces(target), target.nodes.length);
  const leader = nodePlace(target.leaderId ?? target.nodes[0]?.id ?? 1);
  const others = places.filter((place) => place !== leader);
  const [first = leader, ...rest] = places;
  switch (random.pick(["leader", "leader", "halves", "bridge", "deaf", "mute", "ring"] as const)) {
    case "leader":
      return { what: `${leader} (leader) | ${others.join(" ")}`, cuts: between([leader], others) };
    case "halves": {
      const left = places.slice(0, target.minority);
      const right = places.slice(target.minority);
      return { what: `${left.join(" ")} | ${right.join(" ")}`, cuts: between(left, right) };
    }
    case "bridge": {
      const half = Math.ceil(rest.length / 2);
      const [left, right] = [rest.slice(0, half), rest.slice(half)];
      const what = `${left.join(" ")} | ${right.join(" ")}, ${first} sees both`;
      return { what, cuts: between(left, right) };
    }
    case "deaf":
      return {
        what: `${first} hears no other node`,
        cuts: rest.map((place) => [place, first] as const),
      };
    case "mute":
      return {
        what: `no other node hears ${first}`,
        cuts: rest.map((place) => [first, place] as const),
      };
    case "ring":
      return ringOf(places);
  }
}

/** Each node hears only the one before it. */
function ringOf(places: readonly Place[]): Shape {
  const cuts = places.flatMap((from, index) => {
    const next = places[(index + 1) % places.length];
    return places.filter((to) => to !== from && to !== next).map((to) => [from, to] as const);
  });
  return { what: `a ring: ${places.join(" → ")} → ${places[0]}`, cuts };
}

function between(left: readonly Place[], right: readonly Place[]): Cut[] {
  return left.flatMap((one) => right.flatMap((other) => cutsOf([one, other], "both")));
}

function cutsOf([one, other]: Cut, ways: "both" | "forth" | "back"): Cut[] {
  if (ways === "forth") return [[one, other]];
  return ways === "back"
    ? [[other, one]]
    : [
        [one, other],
        [other, one],
      ];
}

function wordsOf(ways: "both" | "forth" | "back"): string {
  if (ways === "both") return "both ways";
  return ways === "forth" ? "requests only" : "answers only";
}

function nodePlaces(target: Target): Place[] {
  return target.nodes.map(({ id }) => nodePlace(id));
}
