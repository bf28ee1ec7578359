import { describe, expect, test } from "vitest";
import {
  type Configuration,
  encodeConfiguration,
  type MemberAddress,
} from "../../../src/raft/index.js";
import { Members } from "../../../src/server/driver/members.js";

function configurationOf(...voters: number[]): Configuration {
  const addresses = voters.map((id) => ({ id, address: `node-${id}:1` }));
  return { voters, outgoing: [], learners: [], addresses };
}

describe("whom a node talks to", () => {
  function membersOfNode2() {
    const told: number[][] = [];
    const onPeers = (peers: readonly MemberAddress[]) => void told.push(peers.map(({ id }) => id));
    const members = new Members(2, 100, onPeers, () => {});
    members.onEffective(configurationOf(1, 2, 3), 0);
    members.onApplied(configurationOf(1, 2, 3));
    members.onIndex(10);
    return { members, told };
  }

  // Without this a node that was away refused the connection of a leader that had joined meanwhile,
  // and only a leader could have told it. Found by seed 26763 of the simulator.
  test("are members that others named, until its own log has come so far", () => {
    const { members, told } = membersOfNode2();
    members.onHint(3, 20, configurationOf(1, 2, 3, 5));
    expect(told.at(-1)).toEqual([1, 2, 3, 5]);
    members.onHint(3, 15, configurationOf(1, 2, 3));
    expect(told.at(-1)).toEqual([1, 2, 3, 5]);
    members.onEffective(configurationOf(1, 2, 3, 5), 0);
    members.onIndex(20);
    expect(told.at(-1)).toEqual([1, 2, 3, 5]);
    members.onEffective(configurationOf(2, 3, 5), 50);
    members.dropRemovedPeers(50 + 1_000);
    expect(told.at(-1)).toEqual([2, 3, 5]);
  });

  test("are told to others with the index at which they were applied", () => {
    const sent: [number, object][] = [];
    const send = (peer: number, message: object) => void sent.push([peer, message]);
    const members = new Members(2, 100, () => {}, send);
    members.tell([1, 3], { index: 20, configuration: configurationOf(1, 2, 3, 5) });
    const configuration = encodeConfiguration(configurationOf(1, 2, 3, 5));
    const message = { type: "members", index: 20, configuration };
    expect(sent).toEqual([1, 3].map((peer) => [peer, message]));
    members.tell([1], { index: 0, configuration: configurationOf() });
    expect(sent).toHaveLength(2);
  });

  test("are not changed by what its own log knows better, or by what makes no sense", () => {
    const { members, told } = membersOfNode2();
    const before = told.length;
    members.onHint(3, 10, configurationOf(2, 7));
    members.onHint(3, 30, undefined);
    expect(told).toHaveLength(before);
  });
});

test("a peer is gone when its removal is applied, unless it is a member again", () => {
  const nothing = (): void => {};
  const members = new Members(1, 100, nothing, nothing);
  expect(members.isGone(3)).toBe(false);
  members.onEffective(configurationOf(1, 2, 3), 0);
  members.onApplied(configurationOf(1, 2, 3));
  members.onEffective(configurationOf(1, 2), 0);
  expect(members.isGone(3)).toBe(false);
  members.onApplied(configurationOf(1, 2));
  expect([1, 2, 3].map((id) => members.isGone(id))).toEqual([false, false, true]);
  members.onHint(2, 20, configurationOf(1, 2, 3));
  expect(members.isGone(3)).toBe(false);
  members.onIndex(20);
  expect(members.isGone(3)).toBe(true);
  members.onEffective(configurationOf(1, 2, 3), 50);
  expect(members.isGone(3)).toBe(false);
});

describe("what a removed node said of members", () => {
  const UNREACHED = 2 ** 50;

  function leavingNode3() {
    let told: readonly number[] = [];
    const onPeers = (peers: readonly MemberAddress[]) => {
      told = peers.map(({ id }) => id);
    };
    const members = new Members(1, 100, onPeers, () => {});
    members.onEffective(configurationOf(1, 2, 3), 0);
    members.onApplied(configurationOf(1, 2, 3));
    return {
      members,
      told: () => told,
      remove() {
        members.onEffective(configurationOf(1, 2), 50);
        members.onApplied(configurationOf(1, 2));
        members.onIndex(10);
      },
    };
  }

  test("keeps neither itself nor others in, by whatever entry it was", () => {
    const { members, told, remove } = leavingNode3();
    members.onHint(3, UNREACHED, configurationOf(1, 2, 3, 9));
    members.onHint(9, UNREACHED + 1, configurationOf(3, 9));
    expect(told()).toEqual([1, 2, 3, 9]);
    remove();
    expect([3, 9].map((id) => members.isGone(id))).toEqual([true, true]);
    members.dropRemovedPeers(50 + 1_000);
    expect(told()).toEqual([1, 2]);
  });

  test("hides nothing that members say, and does not come back with it", () => {
    const { members, told, remove } = leavingNode3();
    members.onHint(3, UNREACHED, configurationOf(1, 2, 3, 9));
    members.onHint(2, 20, configurationOf(1, 2, 5));
    remove();
    members.dropRemovedPeers(50 + 1_000);
    expect(told()).toEqual([1, 2, 5]);
    members.onEffective(configurationOf(1, 2, 3), 2_000);
    members.onApplied(configurationOf(1, 2, 3));
    members.onIndex(20);
    expect(told()).toEqual([1, 2, 3]);
  });

  test("counts if members name it: a node that was away follows a chain of changes", () => {
    const { members, told } = leavingNode3();
    members.onHint(3, 20, configurationOf(1, 3, 4));
    members.onHint(4, 30, configurationOf(1, 4, 5));
    expect(told()).toEqual([1, 2, 3, 4, 5]);
    members.onIndex(30);
    expect(told()).toEqual([1, 2, 3]);
  });
});

// Found by seed 506928 of the simulator: the leader died before it committed what brought a node back,
// and the node, which had that entry, ended itself because of its earlier removal.
test("a node that its newest entry makes a member again is not removed, committed or not", () => {
  const members = new Members(
    2,
    100,
    () => {},
    () => {},
  );
  members.onApplied(configurationOf(1, 2, 3));
  members.onEffective(configurationOf(1, 3), 0);
  members.onApplied(configurationOf(1, 3));
  expect(members.isRemoved).toBe(true);
  members.onEffective(configurationOf(1, 2, 3), 50);
  expect(members.isRemoved).toBe(false);
  members.onEffective(configurationOf(1, 3), 60);
  expect(members.isRemoved).toBe(true);
});

// Found by seed 970021219 of the simulator: the leader died while a node that it had added again was
// catching up, and the node, which had only come to its earlier removal, ended itself. Its vote was needed.
test("a node that others know as a member again is not removed while it catches up", () => {
  const members = new Members(
    1,
    100,
    () => {},
    () => {},
  );
  members.onEffective(configurationOf(1, 2), 0);
  members.onApplied(configurationOf(1, 2));
  members.onHint(2, 53, configurationOf(1, 2));
  members.onEffective(configurationOf(2), 50);
  members.onApplied(configurationOf(2));
  members.onIndex(29);
  expect(members.isRemoved).toBe(false);
  members.onIndex(53);
  expect(members.isRemoved).toBe(true);
});
