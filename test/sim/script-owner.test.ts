/** What owners that lock by scripts complain of, and what they take for an answer. */
import { describe, expect, test } from "vitest";
import { RandomStreams } from "../../lab/random-stream.js";
import type { DoorLaws } from "./checks/locks/door-laws.js";
import type { ClientWatch } from "./clients/client-watch.js";
import { ScriptOwner } from "./clients/doors/script-owner.js";
import { Simulation } from "./engine/simulation.js";
import type { DoorMix, DoorOwnerPlan, ScriptForm } from "./plan/doors-plan.js";
import type { ClientNetwork } from "./world/network/client-network.js";
import type { LineEnd } from "./world/network/network-line.js";
import { BROKEN } from "./world/network/node-socket.js";

const NEVER: DoorMix = {
  ...{ waits: 0, several: 0, shared: 0, late: 0, leave: 0, halfClose: 0, again: 0, repeat: 0 },
  ...{ extend: 0, giveBack: 0, otherTtl: 0, copy: 0, persist: 0, forget: 0, other: 0, pause: 0 },
  ...{ write: 0, early: 0, look: 0, atOnce: 0, stale: 0, behind: 0 },
};
const PLAN = {
  ...{ host: 4_001, constant: "", nodes: [1, 2], startMs: 0, actions: 1_000 },
  ...{ thinkMs: 20, ttlMs: 4_000, waitMs: 0, pollMs: 500, keyCount: 1, meetsClients: false },
} as const;

/** What the door replies to a script, as bytes; `undefined`: it closes the connection. */
type Replies = (what: "take" | "release" | "look" | "move") => string | undefined;

/** What the last owner complained of, and keys of which everything was refused to it. */
let complaints: string[] = [];
let refused: string[] = [];

function kindOf(text: string): Parameters<Replies>[0] {
  if (text.includes("exists', KEYS[3]")) return "move";
  if (text.includes("pttl") || text.includes("hget")) return "look";
  return text.includes("return -1") ? "release" : "take";
}

function listOf(...items: readonly (string | number)[]): string {
  const parts = items.map((item) =>
    typeof item === "number" ? `:${item}\r\n` : `$${item.length}\r\n${item}\r\n`,
  );
  return `*${items.length}\r\n${parts.join("")}`;
}

/** An owner at a door that replies so. */
async function run(
  form: ScriptForm,
  mix: Partial<DoorMix>,
  replies: Replies,
  isCalm = true,
): Promise<void> {
  const simulation = new Simulation();
  [complaints, refused] = [[], []];
  const network = {
    connectRedis: (_node: number, client: LineEnd<Uint8Array>) => {
      simulation.after(1, () => client.onOpen());
      const send = (bytes: Uint8Array): void => {
        const [, , , , text = ""] = Buffer.from(bytes).toString("latin1").split("\r\n");
        const reply = replies(kindOf(text));
        simulation.after(1, () => {
          if (reply === undefined) client.onClosed(BROKEN);
          else client.onFrame(Buffer.from(reply, "latin1"));
        });
      };
      return { send, leave: () => {} };
    },
  } as unknown as ClientNetwork;
  const watch = {
    ...{ onNote: () => {}, onSeen: () => {}, onBelief: () => {}, isTorn: () => false },
    onBroken: (_client: unknown, rule: string, what: string) => complaints.push(`${rule}: ${what}`),
  } as unknown as ClientWatch;
  const laws = {
    ...{ term: 1, settledTerm: () => 1, tokenOf: () => 7, onLooking: () => () => {} },
    onRefusedAll: (key: string) => refused.push(key),
  } as unknown as DoorLaws;
  const around = { simulation, network, watch, keys: [], isFair: false, laws: () => laws };
  const plan: DoorOwnerPlan = {
    ...PLAN,
    speaks: "scripts",
    forms: [form],
    mix: { ...NEVER, ...mix },
  };
  const owner = new ScriptOwner(plan, { ...around, streams: new RandomStreams(1) });
  if (isCalm) owner.calm([1, 2], 1_000);
  owner.start();
  await simulation.run(3_000);
}

describe("a lock that counts", () => {
  const mix = { repeat: 0.6, giveBack: 0.5, look: 0.3 };

  /** Answers as Redis does, and counts what `step` says of a take. */
  function counting(step = 1): Replies {
    let count = 0;
    return (what) => {
      if (what === "look") return `$${String(count).length}\r\n${count}\r\n`;
      if (what === "take") count += step;
      else if (count > 0) count -= 1;
      return `:${count}\r\n`;
    };
  }

  test("is right when it counts as it is taken and released", async () => {
    await run("count", mix, counting());
    expect(complaints).toEqual([]);
  });

  test("is wrong when a take has counted twice", async () => {
    await run("count", mix, counting(2));
    expect(complaints[0]).toMatch(/held as often as it was taken: h4001.1 is held 2 times/);
  });

  test("counts a take that was not answered once or not at all", async () => {
    for (const effect of [0, 1, 2]) {
      let count = 0;
      let takes = 0;
      const replies: Replies = (what) => {
        if (what !== "take") return undefined;
        takes += 1;
        count += takes === 2 ? effect : 1;
        return takes === 2 ? undefined : `:${count}\r\n`;
      };
      await run("count", { repeat: 1 }, replies, false);
      expect(takes).toBeGreaterThan(2);
      expect(complaints.length > 0, `${effect} effects`).toBe(effect > 1);
    }
  });

  test("is not refused to its holder, and not answered by an error in a calm", async () => {
    let takes = 0;
    await run("count", { repeat: 1 }, () => {
      takes += 1;
      return takes === 1 ? ":1\r\n" : ":0\r\n";
    });
    expect(complaints[0]).toMatch(/one answer: holds h4001.1 1 times, and is refused/);
    await run("count", {}, () => "-NOHOLDFAST this lock script is not answered\r\n");
    expect(complaints[0]).toMatch(/scripts of locks are answered/);
    await run("count", {}, () => "-TRYAGAIN the keys change too often\r\n");
    expect(complaints).toEqual([]);
  });

  test("that is refused or answered by an error must be nowhere in the table", async () => {
    await run("count", {}, () => ":0\r\n");
    expect(new Set(refused)).toEqual(new Set(["~redis/0/h"]));
    await run("count", {}, () => "-OOM\r\n");
    expect(new Set(refused)).toEqual(new Set(["~redis/0/h"]));
  });
});

describe("a look at the keys of pairs", () => {
  async function seen(...shown: readonly (string | number)[]): Promise<readonly string[]> {
    await run("pair", { look: 1 }, (what) => {
      return what === "look" ? listOf(...shown) : ":0\r\n";
    });
    return complaints;
  }

  test("is right with both keys of a holder, and with values of others", async () => {
    expect(await seen("a/0", 500, "a/1", 500, "other", 9)).toEqual([]);
    expect(await seen("a/0", 500, "other", 500, "a/2", 500)).toEqual([]);
    expect(await seen("", 500, "other", -1, "", -2)).toEqual([]);
  });

  test("is right with one key of a holder whose time is over", async () => {
    expect(await seen("a/0", 1, "", -2, "", -2)).toEqual([]);
  });

  test("is wrong with one key of a holder, or with three, or with the wrong two", async () => {
    expect((await seen("a/0", 500, "b/1", 500, "b/2", 500))[0]).toMatch(/a has keys 0 of a pair/);
    expect((await seen("a/0", 500, "a/1", 500, "a/2", 500))[0]).toMatch(/a has keys 0,1,2/);
    expect((await seen("", -2, "a/1", 500, "a/2", 500))[0]).toMatch(/a has keys 1,2 of a pair/);
  });
});
