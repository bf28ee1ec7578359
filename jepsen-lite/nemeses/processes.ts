/** Faults of node processes: kills, restarts, and stops as by a scheduler. */
import { chooseNodes, namesOf } from "./chosen-nodes.js";
import type { Nemesis } from "./nemesis.js";

export const kill: Nemesis = {
  name: "kill",
  about: "kill -9 of one node, the leader, a minority, a majority or all; started again at the end",
  isForPeers: true,
  async begin(target, random) {
    const extents = ["one", "leader", "leader", "minority", "majority", "all"] as const;
    const nodes = chooseNodes(target, random, extents);
    const what = `kill -9 of ${namesOf(target, nodes)}`;
    await Promise.all(nodes.map((node) => node.kill()));
    return {
      what,
      async end() {
        for (const node of nodes) node.start();
      },
    };
  },
};

export const restart: Nemesis = {
  name: "restart",
  about: "a rolling restart: each node in turn is stopped in order and started again",
  isForPeers: true,
  async begin(target, random) {
    const nodes = random.sample(target.nodes, target.nodes.length);
    let isOver = false;
    const rolling = (async () => {
      for (const node of nodes) {
        if (isOver || target.signal.aborted) return;
        await node.stop();
        node.start();
        // Another fault may have stopped it again; the next one is restarted nevertheless.
        await node.answers(target.signal).catch(() => undefined);
      }
    })();
    return {
      what: `rolling restart of nodes ${nodes.map(({ id }) => id).join(", ")}`,
      async end() {
        isOver = true;
        await rolling;
      },
    };
  },
};

export const pause: Nemesis = {
  name: "pause",
  about: "SIGSTOP of one node, the leader, a minority or a majority; continued at the end",
  isForPeers: true,
  async begin(target, random) {
    const nodes = chooseNodes(target, random, ["one", "leader", "leader", "minority", "majority"]);
    const paused = nodes.filter((node) => node.isRunning && !node.isPaused);
    const what = `SIGSTOP of ${namesOf(target, paused)}`;
    for (const node of paused) node.pause();
    return {
      what: paused.length === 0 ? "SIGSTOP of no node: the chosen ones are down or stopped" : what,
      async end() {
        for (const node of paused) node.resume();
      },
    };
  },
};
