/**
 * Faults of node processes: kills, restarts, stops as by a scheduler, a processor that is too slow, and
 * a lack of memory.
 */
import { execFile } from "node:child_process";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";
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

export const pauseKill: Nemesis = {
  name: "pause-kill",
  about: "one node is stopped, killed while it is, and started again at the end",
  isForPeers: true,
  async begin(target, random) {
    const [node] = chooseNodes(target, random, ["one", "leader"]);
    if (node === undefined) throw new Error("there is no node to stop");
    const what = `SIGSTOP and then kill -9 of ${namesOf(target, [node])}`;
    node.pause();
    const stopped = new AbortController();
    // What others send it meanwhile vanishes with it.
    const signal = AbortSignal.any([stopped.signal, target.signal]);
    const killing = delay(random.integer(...STOPPED_MS), undefined, { signal })
      .catch(() => undefined)
      .then(() => node.kill());
    return {
      what,
      async end() {
        stopped.abort();
        await killing;
        node.start();
      },
    };
  },
};

const STOPPED_MS = [300, 2_500] as const;

export const slowCpu: Nemesis = {
  name: "slow-cpu",
  about: "nodes get a third to a tenth of their time, in slices, by SIGSTOP and SIGCONT",
  isForPeers: true,
  async begin(target, random) {
    const nodes = chooseNodes(target, random, ["one", "leader", "leader", "minority", "all"]);
    const runMs = random.integer(...SLICE_MS);
    const stopMs = runMs * random.integer(2, 9);
    let isOver = false;
    const slowed = nodes.map(async (node) => {
      while (!isOver && !target.signal.aborted) {
        await node.pauseBriefly(stopMs);
        await delay(runMs);
      }
    });
    const share = `${runMs} of ${runMs + stopMs} ms`;
    return {
      what: `${namesOf(target, nodes)} run for ${share}`,
      async end() {
        isOver = true;
        await Promise.all(slowed);
      },
    };
  },
};

const SLICE_MS = [5, 20] as const;

const run = promisify(execFile);

export const outOfMemory: Nemesis = {
  name: "out-of-memory",
  about: "nodes get no more memory from the kernel until they end, and are started again",
  isUnusual: true,
  async refusal() {
    const isThere = await run("prlimit", ["--version"]).then(
      () => true,
      () => false,
    );
    return isThere ? undefined : "prlimit of util-linux is needed, on Linux";
  },
  async begin(target, random) {
    const nodes = chooseNodes(target, random, ["one", "leader", "minority"]);
    const what = `no more memory for ${namesOf(target, nodes)}`;
    const ends = nodes.map((node) => node.letEnd());
    for (const { pid, isRunning } of nodes) {
      // Less than it has: whatever it asks for from now on is refused.
      const words = [`--pid=${pid}`, `--as=${MEMORY_BYTES}`];
      if (isRunning) await run("prlimit", words).catch(() => undefined);
    }
    return {
      what,
      async end() {
        // One that has asked for nothing since is as short of memory as the others.
        await Promise.all(nodes.map((node) => node.kill()));
        for (const node of nodes) node.start();
        for (const end of ends) end();
      },
    };
  },
};

const MEMORY_BYTES = 1 << 20;
