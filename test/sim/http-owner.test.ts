/** What owners at the HTTP door complain of, and what they take for an answer. */
import { beforeEach, describe, expect, test } from "vitest";
import { RandomStreams } from "../../lab/random-stream.js";
import type { DoorLaws } from "./checks/locks/door-laws.js";
import type { ClientWatch } from "./clients/client-watch.js";
import { HttpOwner } from "./clients/doors/http-owner.js";
import { Simulation } from "./engine/simulation.js";
import type { DoorMix, DoorOwnerPlan } from "./plan/doors-plan.js";
import type { HttpTold, HttpWords } from "./world/doors/served-exchange.js";
import type { ClientNetwork } from "./world/network/client-network.js";
import type { LineEnd } from "./world/network/network-line.js";

const NEVER: DoorMix = {
  ...{ waits: 0, several: 0, shared: 0, late: 0, leave: 0, halfClose: 0, again: 0, repeat: 0 },
  ...{ extend: 0, giveBack: 0, otherTtl: 0, copy: 0, persist: 0, forget: 0, other: 0, pause: 0 },
  ...{ write: 0, early: 0, look: 0, atOnce: 0, stale: 0, behind: 0 },
};
const PLAN: DoorOwnerPlan = {
  ...{
    host: 4_001,
    speaks: "http",
    forms: [],
    constant: "",
    nodes: [1, 2],
    startMs: 0,
    actions: 1_000,
    thinkMs: 20,
  },
  ...{ mix: NEVER, ttlMs: 4_000, waitMs: 0, pollMs: 500, keyCount: 1, meetsClients: false },
};

/** What the door answers, and after how long; `undefined`: nothing yet. */
type Answers = (words: HttpWords) => { told: HttpTold; afterMs: number } | undefined;

let complaints: string[];
beforeEach(() => {
  complaints = [];
});

function told(status: number, body: object): HttpTold {
  return { status, text: JSON.stringify(body) };
}

/** An owner in a calm cluster, at a door that answers so. */
async function run(plan: Partial<DoorOwnerPlan>, answers: Answers): Promise<void> {
  const simulation = new Simulation();
  const network = {
    connectHttp: (_node: number, client: LineEnd<HttpTold>) => {
      simulation.after(1, () => client.onOpen());
      const ask = (words: HttpWords): void => {
        const answer = answers(words);
        if (answer === undefined) return;
        simulation.after(answer.afterMs, () => client.onFrame(answer.told));
      };
      return { ask, askNoMore: () => {}, leave: () => {} };
    },
  } as unknown as ClientNetwork;
  const watch = {
    onNote: () => {},
    onSeen: () => {},
    onBroken: (_client: unknown, rule: string, what: string) => complaints.push(`${rule}: ${what}`),
  } as unknown as ClientWatch;
  const laws = {
    ...{ term: 1, settledTerm: () => 1, onWaiting: () => {}, onLeft: () => {} },
    demandNothing: () => {},
  } as unknown as DoorLaws;
  const around = { simulation, network, watch, keys: [], isFair: false, laws: () => laws };
  const owner = new HttpOwner({ ...PLAN, ...plan }, { ...around, streams: new RandomStreams(1) });
  owner.calm([1, 2], 1_000);
  owner.start();
  await simulation.run(10_000);
}

describe("a take that is refused with NOT_HELD", () => {
  const refused = (reason: string): Answers => {
    const body = { code: "NOT_HELD", details: { key: "k", reason } };
    return () => ({ told: told(409, body), afterMs: 1 });
  };

  test("is right when its lease was over before the answer", async () => {
    await run({}, refused("expired"));
    await run({}, refused("revoked"));
    expect(complaints).toEqual([]);
  });

  test("is wrong when it says that the request was given back, and it was not", async () => {
    await run({}, refused("released"));
    expect(complaints[0]).toMatch(/is told that it gave its request back, and did not/);
  });
});

describe("a give-back of what waits that finds nothing", () => {
  const mix = { ...NEVER, waits: 1, persist: 1, early: 1 };
  const WAITING = { mix, waitMs: 1_500, pollMs: 2_000 };

  /** One poll ends in the queue, its repeat is not answered, and nothing is left to be given back. */
  function foundNothing(afterMs: number): Answers {
    let takes = 0;
    return ({ method }) => {
      if (method === "DELETE") {
        return { told: told(200, { released: false, leftQueue: false }), afterMs };
      }
      takes += 1;
      return takes === 1 ? { told: told(202, { queued: true }), afterMs: 1 } : undefined;
    };
  }

  test("is right when the wait may have timed out", async () => {
    await run(WAITING, foundNothing(1_600));
    expect(complaints).toEqual([]);
  });

  test("is wrong before that", async () => {
    await run(WAITING, foundNothing(1));
    expect(complaints[0]).toMatch(/gives back what it waits for, and has nothing/);
  });
});
