/**
 * A nemesis for jepsen-lite: a node flickers. It is stopped and continued many times a second, as
 * on an overloaded machine. Run it with
 *
 *   npm run jepsen -- --workload mutex --nemesis ./examples/jepsen-nemesis.ts
 */
import { setTimeout as delay } from "node:timers/promises";
import type { Nemesis } from "../jepsen-lite/index.js";

const STOPPED_MS = 120;
const RUNNING_MS = 40;

export const nemesis: Nemesis = {
  name: "flicker",
  about: "one node is stopped three quarters of the time, in short pieces",
  async begin(target, random) {
    const node = random.pick(target.nodes);
    let isOver = false;
    const flickering = (async () => {
      while (!isOver && !target.signal.aborted) {
        node.pause();
        await delay(STOPPED_MS);
        node.resume();
        await delay(RUNNING_MS);
      }
    })();
    return {
      what: `node ${node.id} flickers`,
      async end() {
        isOver = true;
        await flickering;
      },
    };
  },
};
