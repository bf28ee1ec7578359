/**
 * How long a cluster has no leader, with production settings. Time is simulated, so the figure
 * depends on nothing but the seed. Each bound follows from the settings and from the delays of
 * links and disks.
 */
import { describe, expect, it } from "vitest";
import { NODE_TUNING_DEFAULTS } from "../../src/server/options.js";
import { runsOf } from "../runs.js";
import { TimedCluster, type Weather } from "./cluster/timed-cluster.js";

const RUNS = runsOf(5);
/** In few of them a candidate falls silent after it was refused. */
const CANDIDATES = runsOf(48);
const { electionTimeoutMs, closedPeerDelayMs } = NODE_TUNING_DEFAULTS;
const WEATHER: Readonly<Record<string, Weather>> = {
  "quick disks": { linkMs: [0.1, 0.5], diskMs: [0.5, 1.5] },
  "slow disks": { linkMs: [0.1, 0.5], diskMs: [3, 8] },
  "slow disks and links": { linkMs: [0.5, 5], diskMs: [1, 20] },
};
const LIMIT_MS = 20_000;

/** From the death of a busy leader to the first entry that another one committed. */
function failoverMs(size: number, isSilent: boolean, weather: Weather, seed: number): number {
  const timed = new TimedCluster({ size, seed, weather });
  timed.runUntil(() => timed.servingLeader !== undefined, LIMIT_MS);
  const { servingLeader: first, cluster, random } = timed;
  if (first === undefined) throw new Error("no leader to begin with");
  let isAlive = true;
  const propose = (): void => {
    if (!isAlive) return;
    cluster.propose(first.id);
    timed.after(0.2 + 2 * random(), propose);
  };
  propose();
  timed.runUntil(() => false, 200 + 100 * random());
  isAlive = false;
  if (isSilent) cluster.isolate(first.id);
  else cluster.crash(first.id);
  return timed.runUntil(() => ![undefined, first].includes(timed.servingLeader), LIMIT_MS);
}

/**
 * A delay until one stands; twice, if the votes are split, two until it is repeated; and each time
 * ballots and, once, a first entry over links and disks.
 */
function boundMs(isSilent: boolean, { linkMs, diskMs }: Weather): number {
  const roundMs = 4 * linkMs[1] + 3 * diskMs[1];
  const closedMs = closedPeerDelayMs + 2 * (2 * closedPeerDelayMs + roundMs) + roundMs;
  return closedMs + (isSilent ? 2 * electionTimeoutMs : 0);
}

/**
 * A leader dies, one stands, another asks whether it may while some are bound by their votes, and the
 * candidate falls silent. From then to the first entry that was committed; `undefined` where it did
 * not come so, or where somebody else stood too, who may yet have the vote of the silent one.
 */
function secondFailoverMs(weather: Weather, seed: number): number | undefined {
  const timed = new TimedCluster({ size: 5, seed, weather });
  timed.runUntil(() => timed.servingLeader !== undefined, LIMIT_MS);
  const { servingLeader: first, cluster } = timed;
  if (first === undefined) throw new Error("no leader to begin with");
  timed.runUntil(() => false, 2 * electionTimeoutMs);
  cluster.crash(first.id);
  const others = cluster.nodes.filter((node) => node !== first);
  const candidates = () => others.filter(({ raft }) => raft.role === "candidate");
  const isContested = () => {
    const { id, term } = candidates()[0]?.raft ?? { id: 0, term: 0 };
    const bound = others.filter(({ raft }) => raft.term === term && raft.vote === id);
    return bound.length > 1 && others.some(({ raft }) => raft.role === "preCandidate");
  };
  timed.runUntil(() => isContested() || timed.servingLeader !== undefined, LIMIT_MS);
  const [second] = candidates();
  if (second === undefined || !isContested()) return undefined;
  cluster.isolate(second.id);
  // Until the nodes that asked have their answers.
  const answeredMs = timed.runUntil(() => false, 2 * weather.linkMs[1]);
  if (others.some(({ raft }) => raft.vote === raft.id && raft.id !== second.id)) return undefined;
  const isOver = () => ![undefined, second].includes(timed.servingLeader);
  return answeredMs + timed.runUntil(isOver, LIMIT_MS);
}

describe.each([3, 5])("of %i voters", (size) => {
  describe.each(Object.entries(WEATHER))("with %s", (_, weather) => {
    it.each([
      ["closes its connections", false],
      ["falls silent", true],
    ])("a leader that %s is followed by another one soon", (_how, isSilent) => {
      const allMs = Array.from({ length: RUNS }, (_each, at) =>
        failoverMs(size, isSilent, weather, at + 1),
      );
      const longestMs = Math.max(...allMs);
      const seed = allMs.indexOf(longestMs) + 1;
      expect(longestMs, `seed ${seed}`).toBeLessThan(boundMs(isSilent, weather));
    });
  });
});

describe.each(Object.entries(WEATHER))("of 5 voters with %s", (_, weather) => {
  it("a candidate that falls silent is followed by one that was refused for it", () => {
    const allMs = Array.from({ length: CANDIDATES }, (_each, at) => {
      return secondFailoverMs(weather, at + 1) ?? 0;
    });
    const longestMs = Math.max(...allMs);
    expect(longestMs).toBeGreaterThan(0);
    expect(longestMs, `seed ${allMs.indexOf(longestMs) + 1}`).toBeLessThan(boundMs(false, weather));
  });
});

it.each([3, 5, 7])(
  "a first leader comes soon although messages take a quarter of an election timeout, of %i voters",
  (size) => {
    const linkMs = [0.23 * electionTimeoutMs, 0.27 * electionTimeoutMs] as const;
    const allMs = Array.from({ length: 2 * RUNS }, (_each, at) => {
      const timed = new TimedCluster({
        size,
        seed: at + 1,
        weather: { linkMs, diskMs: [0.5, 1.5] },
      });
      return timed.runUntil(() => timed.servingLeader !== undefined, LIMIT_MS);
    });
    const longestMs = Math.max(...allMs);
    // Every delay of a candidate up to the longest comes once, and nobody loses after that.
    const seed = allMs.indexOf(longestMs) + 1;
    expect(longestMs, `seed ${seed}`).toBeLessThan(12 * electionTimeoutMs);
  },
);
