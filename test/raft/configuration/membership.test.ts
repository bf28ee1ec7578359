/** Changes of members as the thesis describes them (chapter 4): one by one, joint, leaving. */
import { describe, expect, it } from "vitest";
import { type Configuration, isJoint } from "../../../src/raft/index.js";
import { Cluster } from "../cluster/cluster.js";
import { members, textOf } from "../cluster/configurations.js";

/** Voters 1 … size under a leader that may change members at once; spares run, and are nobody. */
function ready(size: number, spares: number): { cluster: Cluster; leader: number } {
  const cluster = new Cluster({ size, spares });
  cluster.startAll();
  const { id } = cluster.electLeader();
  cluster.advance(50);
  return { cluster, leader: id };
}

/** Asks for the change, and has it accepted and carried through. */
function changeTo(cluster: Cluster, voters: number[], learners: number[] = []): void {
  const { id, accepted } = cluster.electLeader();
  const request = cluster.change(id, voters, learners);
  expect(accepted.at(-1)?.id, cluster.describe()).toBe(request);
  cluster.advance(200);
  expectMembers(cluster, members(voters, learners));
}

function expectMembers(cluster: Cluster, configuration: Configuration): void {
  const { raft } = cluster.electLeader();
  expect(textOf(raft.configuration)).toBe(textOf(configuration));
  expect(raft.configurationIndex).toBeLessThanOrEqual(raft.commitIndex);
}

function refusalOf(cluster: Cluster, id: number, voters: number[], learners: number[] = []) {
  const request = cluster.change(id, voters, learners);
  return cluster.node(id).refused.find((refusal) => refusal.id === request)?.reason;
}

const others = (cluster: Cluster, ...ids: number[]) =>
  cluster.ids.filter((id) => !ids.includes(id));

describe("a cluster that grows", () => {
  it("takes in servers one by one, learners first, and shrinks again, under load", () => {
    const { cluster } = ready(1, 4);
    let commands = 0;
    const command = () => {
      const { id, accepted } = cluster.electLeader();
      const request = cluster.propose(id);
      commands += 1;
      expect(accepted.at(-1)?.id).toBe(request);
    };
    for (const joining of [2, 3, 4, 5]) {
      const voters = Array.from({ length: joining - 1 }, (_, at) => at + 1);
      command();
      changeTo(cluster, voters, [joining]);
      command();
      changeTo(cluster, [...voters, joining]);
    }
    for (const leaving of [5, 4, 3, 2]) {
      command();
      changeTo(
        cluster,
        Array.from({ length: leaving - 1 }, (_, at) => at + 1),
      );
    }
    command();
    cluster.settle();
    const applied = cluster.electLeader().applied.filter(({ kind }) => kind === "command");
    expect(applied.length).toBe(commands);
  });

  it("lets a learner catch up, and counts it for nothing", () => {
    const { cluster, leader } = ready(3, 1);
    for (let count = 0; count < 30; count += 1) cluster.propose(leader);
    cluster.settle();
    changeTo(cluster, [1, 2, 3], [4]);
    expect(cluster.node(4).table).toBe(cluster.node(leader).table);
    const [second, third] = others(cluster, leader, 4) as [number, number];
    cluster.isolate(second);
    cluster.isolate(third);
    cluster.propose(leader);
    cluster.settle();
    // The leader and the learner hold it, which is nobody's majority.
    expect(cluster.raft(4).lastIndex).toBe(cluster.raft(leader).lastIndex);
    expect(cluster.raft(leader).commitIndex).toBe(cluster.raft(leader).lastIndex - 1);
    cluster.advance(150);
    expect(cluster.raft(leader).role).not.toBe("leader");
    cluster.advance(1_000);
    expect([cluster.raft(4).role, cluster.raft(4).leader]).toEqual(["follower", leader]);
  });

  it("makes nobody a voter who is not caught up", () => {
    const { cluster, leader } = ready(3, 1);
    expect(refusalOf(cluster, leader, [1, 2, 3, 4])).toBe("notCaughtUp");
    cluster.isolate(4);
    cluster.change(leader, [1, 2, 3], [4]);
    cluster.advance(50);
    expect(refusalOf(cluster, leader, [1, 2, 3, 4])).toBe("notCaughtUp");
    cluster.unblockAll();
    cluster.advance(50);
    changeTo(cluster, [1, 2, 3, 4]);
  });
});

describe("joint consensus", () => {
  /** Leads voters 1, 2, 3 with learners 4 and 5, and begins the change to itself, 4 and 5. */
  function changing(): { cluster: Cluster; leader: number; old: number[] } {
    const { cluster, leader } = ready(3, 2);
    changeTo(cluster, [1, 2, 3], [4, 5]);
    const old = others(cluster, leader, 4, 5);
    return { cluster, leader, old };
  }

  it("counts from its entry on, and needs a majority of the new voters", () => {
    const { cluster, leader, old } = changing();
    cluster.block(leader, 4);
    cluster.block(leader, 5);
    cluster.change(leader, [leader, 4, 5]);
    expect(isJoint(cluster.raft(leader).configuration)).toBe(true);
    cluster.settle();
    for (const id of old) expect(isJoint(cluster.raft(id).configuration)).toBe(true);
    expect(cluster.raft(leader).commitIndex).toBe(cluster.raft(leader).lastIndex - 1);
    cluster.unblockAll();
    cluster.settle();
    expectMembers(cluster, members([leader, 4, 5]));
  });

  it("needs a majority of the old voters as well", () => {
    const { cluster, leader, old } = changing();
    for (const id of old) cluster.block(leader, id);
    cluster.change(leader, [leader, 4, 5]);
    cluster.settle();
    expect(isJoint(cluster.raft(5).configuration)).toBe(true);
    expect(cluster.raft(leader).commitIndex).toBe(cluster.raft(leader).lastIndex - 1);
    cluster.unblockAll();
    cluster.settle();
    expectMembers(cluster, members([leader, 4, 5]));
  });

  it("is ended by the next leader", () => {
    const { cluster, leader } = changing();
    cluster.change(leader, [leader, 4, 5]);
    for (const link of cluster.network.links) if (link.from === leader) cluster.deliver(link);
    for (const id of cluster.ids) cluster.persist(id);
    // Everybody has it, and the leader dies before it reads as much.
    cluster.crash(leader);
    for (const id of others(cluster, leader)) {
      expect(isJoint(cluster.raft(id).configuration)).toBe(true);
    }
    cluster.advance(1_000);
    expectMembers(cluster, members([leader, 4, 5]));
  });

  it("is undone when its entry reached nobody who was elected", () => {
    const { cluster, leader, old } = changing();
    for (const id of others(cluster, leader)) cluster.block(leader, id);
    cluster.change(leader, [leader, 4, 5]);
    cluster.persist(leader);
    cluster.crash(leader);
    cluster.advance(1_000);
    const next = cluster.electLeader();
    expect(old).toContain(next.id);
    cluster.unblockAll();
    cluster.start(leader);
    expect(isJoint(cluster.raft(leader).configuration)).toBe(true);
    cluster.advance(100);
    expect(textOf(cluster.raft(leader).configuration)).toBe(textOf(members([1, 2, 3], [4, 5])));
  });
});

describe("a leader that is not in the new configuration", () => {
  it("leads until that is committed, does not count itself, and steps down at once", () => {
    const { cluster, leader } = ready(3, 1);
    changeTo(cluster, [1, 2, 3], [4]);
    const rest = others(cluster, leader);
    const [slow] = rest as [number];
    cluster.change(leader, rest);
    while (isJoint(cluster.raft(leader).configuration)) {
      for (const link of cluster.network.links) {
        cluster.deliver(link, 1);
        if (!isJoint(cluster.raft(leader).configuration)) break;
      }
      for (const id of cluster.ids) cluster.persist(id);
    }
    // Its final entry is in its log alone, and one more disk of three is not enough.
    expect(cluster.raft(leader).role).toBe("leader");
    for (const id of rest) if (id !== slow) cluster.block(leader, id);
    cluster.settle();
    const { commitIndex, lastIndex } = cluster.raft(leader);
    expect(cluster.raft(slow).lastIndex).toBe(lastIndex);
    expect(commitIndex).toBe(lastIndex - 1);
    cluster.unblockAll();
    cluster.settle();
    expect(cluster.raft(leader).commitIndex).toBe(lastIndex);
    expect(cluster.raft(leader).role).toBe("follower");
    expect(rest).toContain(cluster.electLeader().id);
  });

  it("hands over, so that nobody waits for an election timeout", () => {
    const { cluster, leader } = ready(3, 0);
    const rest = others(cluster, leader);
    const { nowMs } = cluster;
    cluster.change(leader, rest);
    cluster.settle();
    const next = cluster.electLeader();
    expect(rest).toContain(next.id);
    expect(cluster.nowMs - nowMs).toBeLessThanOrEqual(20);
    cluster.advance(1_000);
    expect([cluster.raft(leader).role, next.raft.role]).toEqual(["follower", "leader"]);
  });
});

describe("a server that was removed", () => {
  it("learns it, and stays quiet", () => {
    const { cluster, leader } = ready(3, 0);
    const [gone] = others(cluster, leader) as [number];
    changeTo(cluster, others(cluster, gone));
    expect(cluster.raft(gone).configuration.voters).not.toContain(gone);
    const sent = cluster.sent.length;
    cluster.advance(2_000);
    expect(cluster.sent.slice(sent).filter(({ from }) => from === gone)).toEqual([]);
  });

  it("rule 11: disturbs nobody when it does not know (pre-vote and loyalty)", () => {
    const { cluster, leader } = ready(3, 0);
    const [gone] = others(cluster, leader) as [number];
    cluster.isolate(gone);
    changeTo(cluster, others(cluster, gone));
    const { term } = cluster.raft(leader);
    // Everybody hears it again, but the leader sends it nothing.
    cluster.unblockAll();
    cluster.block(leader, gone);
    cluster.advance(2_000);
    expect(cluster.raft(gone).configuration.voters).toContain(gone);
    expect(cluster.raft(gone).role).toBe("preCandidate");
    const asked = cluster.sent.filter(({ type, from }) => type === "preVote" && from === gone);
    expect(asked.length).toBeGreaterThan(5);
    expect([cluster.raft(leader).role, cluster.raft(leader).term]).toEqual(["leader", term]);
  });

  it("rule 11: is not even believed when it raises its term", () => {
    const { cluster, leader } = ready(3, 0);
    const [gone, kept] = others(cluster, leader) as [number, number];
    cluster.isolate(gone);
    changeTo(cluster, others(cluster, gone));
    const { term } = cluster.raft(leader);
    for (const to of [leader, kept]) {
      cluster.turn(to, {
        type: "message",
        message: {
          type: "vote",
          from: gone,
          to,
          term: term + 5,
          epoch: 1,
          lastLogIndex: 99,
          lastLogTerm: term,
          isTransfer: false,
        },
      });
    }
    cluster.advance(100);
    expect([cluster.raft(leader).role, cluster.raft(leader).term]).toEqual(["leader", term]);
  });

  it("comes back with an empty disk, and is asked again for what it holds (rule 25)", () => {
    const { cluster, leader } = ready(3, 0);
    const [gone] = others(cluster, leader) as [number];
    for (let count = 0; count < 5; count += 1) cluster.propose(leader);
    cluster.settle();
    const rest = others(cluster, gone);
    changeTo(cluster, rest);
    cluster.wipe(gone);
    cluster.start(gone);
    changeTo(cluster, rest, [gone]);
    expect(cluster.node(gone).table).toBe(cluster.node(leader).table);
    changeTo(cluster, [1, 2, 3]);
  });
});

describe("a dead node", () => {
  it("is replaced by a new one, in one change", () => {
    const { cluster, leader } = ready(3, 1);
    const [dead, alive] = others(cluster, leader, 4) as [number, number];
    cluster.crash(dead);
    cluster.advance(150);
    changeTo(cluster, [1, 2, 3], [4]);
    changeTo(cluster, [leader, alive, 4]);
    // One more of the three may die.
    cluster.crash(alive);
    cluster.propose(leader);
    cluster.advance(50);
    expect(cluster.raft(leader).commitIndex).toBe(cluster.raft(leader).lastIndex);
    // The old one comes back, is not a member, and disturbs nobody.
    cluster.start(dead);
    cluster.advance(1_000);
    expect(cluster.raft(leader).role).toBe("leader");
  });

  it("is not a voter that a change could do without noticing", () => {
    const { cluster, leader } = ready(3, 2);
    const [dead, alive] = others(cluster, leader, 4, 5) as [number, number];
    changeTo(cluster, [1, 2, 3], [4, 5]);
    cluster.crash(dead);
    cluster.advance(150);
    // 1 of 2 would decide nothing.
    expect(refusalOf(cluster, leader, [leader, dead], [4, 5])).toBe("wouldLoseQuorum");
    expect(refusalOf(cluster, leader, [dead], [4, 5])).toBe("wouldLoseQuorum");
    changeTo(cluster, [leader, alive], [4, 5]);
  });
});

describe("a change that cannot be", () => {
  it("is refused with the reason, and nothing happens", () => {
    const { cluster, leader } = ready(3, 1);
    const [follower] = others(cluster, leader, 4) as [number];
    const { lastIndex } = cluster.raft(leader);
    expect(refusalOf(cluster, follower, [1, 2])).toBe("notLeader");
    expect(refusalOf(cluster, leader, [])).toBe("invalid");
    expect(refusalOf(cluster, leader, [1, 2, 3])).toBe("invalid");
    expect(refusalOf(cluster, leader, [1, 2, 2])).toBe("invalid");
    expect(refusalOf(cluster, leader, [1, 2, 3], [3])).toBe("invalid");
    expect(refusalOf(cluster, leader, [1, 2, 3], [-4])).toBe("invalid");
    const bare = { voters: [1, 2, 3], learners: [4], addresses: [] };
    cluster.turn(leader, { type: "changeMembership", id: 999, target: bare });
    expect(cluster.node(leader).refused.at(-1)).toEqual({ id: 999, reason: "invalid" });
    expect(cluster.raft(leader).lastIndex).toBe(lastIndex);
  });

  it("may concern an address alone", () => {
    const { cluster, leader } = ready(3, 0);
    const { addresses } = cluster.raft(leader).configuration;
    const moved = addresses.map((each) => (each.id === 3 ? { id: 3, address: "new:1" } : each));
    const target = { voters: [1, 2, 3], learners: [], addresses: moved };
    cluster.turn(leader, { type: "changeMembership", id: 999, target });
    cluster.advance(50);
    for (const node of cluster.nodes) {
      expect(node.raft.configuration).toEqual({ ...target, outgoing: [] });
      expect(node.configurations.at(-1)).toEqual({ ...target, outgoing: [] });
    }
  });
});
