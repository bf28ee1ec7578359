/**
 * Who is taken for the node that was seen under its number before: every order in which directories
 * of a node can be made, started, lost and found again, against what each of them can know.
 */
import fc from "fast-check";
import { expect, test } from "vitest";
import { PEER_CLOSE } from "../../../src/net/peers/hello.js";
import { INCARNATION_JUMP_MAX, KnownPeers } from "../../../src/net/peers/known-peers.js";
import type { PeerIdentity } from "../../../src/net/types.js";
import {
  decodeKnownPeers,
  encodeKnownPeers,
  type KnownPeers as StoredPeers,
  withPeer,
} from "../../../src/storage/mark/known-peers.js";
import { birthOf, CLUSTER } from "./node.js";

interface Directory {
  readonly birth: string;
  readonly origin: PeerIdentity["origin"];
  incarnation: number;
}

type Step =
  /** The node is started on one of its directories, often until it says hello. */
  | { readonly do: "start"; readonly which: number; readonly times: number }
  /** Its directory is wiped: the next start makes one as the first start did. */
  | { readonly do: "wipe"; readonly origin: PeerIdentity["origin"] }
  /** `holdfast recover`, as high as it can know to go. */
  | { readonly do: "recover" }
  /** The one who judges is started again, with what is on its disk. */
  | { readonly do: "restart" };

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant("start" as const),
      which: fc.nat(4),
      times: fc.constantFrom(1, 1, 1, 9),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant("wipe" as const),
      origin: fc.constantFrom("initial" as const, "joined" as const),
    }),
  },
  { weight: 2, arbitrary: fc.constant({ do: "recover" as const }) },
  { weight: 1, arbitrary: fc.constant({ do: "restart" as const }) },
);

function identityOf({ birth, origin, incarnation }: Directory): PeerIdentity {
  return { nodeId: 2, clusterId: CLUSTER, birth, origin, incarnation, advertise: "ws://b:1" };
}

test("a directory that was never let in is let in only if it is later and was made to receive everything, and one that was replaced never is", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      let stored: StoredPeers = new Map();
      let known = new KnownPeers(stored);
      const directories: Directory[] = [{ birth: birthOf(1), origin: "initial", incarnation: 0 }];
      /** In the order in which they were let in first. */
      const admitted: Directory[] = [];
      let highest = 0;
      for (const one of steps) {
        if (one.do === "wipe") {
          const birth = birthOf(1 + directories.length);
          directories.push({ birth, origin: one.origin, incarnation: 0 });
        } else if (one.do === "recover") {
          const incarnation = 1 + Math.max(highest, directories.at(-1)?.incarnation ?? 0);
          const birth = birthOf(1 + directories.length);
          directories.push({ birth, origin: "joined", incarnation });
        } else if (one.do === "restart") {
          stored = decodeKnownPeers(encodeKnownPeers(stored)) ?? new Map();
          known = new KnownPeers(stored);
        } else {
          const directory = directories.at(-1 - (one.which % directories.length));
          if (directory === undefined) throw new Error("there is always one");
          directory.incarnation += one.times;
          const identity = identityOf(directory);
          const isLatest = admitted.length === 0 || admitted.at(-1) === directory;
          const isSuccessor =
            !admitted.includes(directory) &&
            directory.origin === "joined" &&
            directory.incarnation > highest;
          const isIn = known.refusalOf(identity) === undefined;
          // Started in this order, a directory that is not followed never falls behind.
          expect(isIn).toBe(isLatest || isSuccessor);
          if (!isIn) continue;
          if (!admitted.includes(directory)) admitted.push(directory);
          highest = directory.incarnation;
          known.note(identity);
          stored = withPeer(stored, identity);
        }
      }
    }),
  );
});

test("an old copy of the same directory is refused, and the process that is seen again is not", () => {
  const birth = birthOf(1);
  const known = new KnownPeers(new Map([[2, { incarnation: 5, births: [birth] }]]));
  const refusals = [4, 5, 6].map((incarnation) =>
    known.refusalOf(identityOf({ birth, origin: "joined", incarnation })),
  );
  expect(refusals[0]?.detail).toMatch(/came as incarnation 4 after 5, an old copy/);
  expect(refusals.slice(1)).toEqual([undefined, undefined]);
});

test("a number of starts that a node cannot have reached since is refused, on any directory", () => {
  const birth = birthOf(1);
  const known = new KnownPeers(new Map([[2, { incarnation: 5, births: [birth] }]]));
  const codeOf = (incarnation: number, of: string): number | undefined =>
    known.refusalOf(identityOf({ birth: of, origin: "joined", incarnation }))?.code;
  for (const of of [birth, birthOf(9)]) {
    expect(codeOf(5 + INCARNATION_JUMP_MAX, of)).toBeUndefined();
    for (const incarnation of [6 + INCARNATION_JUMP_MAX, Number.MAX_SAFE_INTEGER]) {
      expect(codeOf(incarnation, of)).toBe(PEER_CLOSE.farIncarnation);
    }
  }
  const stranger = { ...identityOf({ birth, origin: "initial", incarnation: 2 ** 40 }), nodeId: 7 };
  expect(known.refusalOf(stranger)?.code).toBe(PEER_CLOSE.farIncarnation);
});
