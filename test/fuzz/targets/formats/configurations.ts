/** Members of the cluster as bytes: in entries, in offers of snapshots, in hints of other nodes. */
import {
  type Configuration,
  decodeConfiguration,
  encodeConfiguration,
} from "../../../../src/raft/index.js";
import { wordMutator } from "../../engine/mutators.js";
import { demand, demandSameBytes, type FuzzTarget } from "../../engine/target.js";

export const configurations: FuzzTarget = {
  name: "configurations",
  about: "members of the cluster as bytes",
  corpus: () => CONFIGURATIONS.map(encodeConfiguration),
  mutators: [wordMutator([":1", "[::1]:65535", Uint8Array.of(0, 0, 0, 1, 3, 0x61, 0x3a, 0x31)])],
  bytesMax: 8_192,
  steps: { fixed: 10_000, perByte: 100 },
  run(input) {
    const configuration = decodeConfiguration(input);
    if (configuration === undefined) return "refused";
    demandSameBytes(encodeConfiguration(configuration), input, "members, written again");
    const { voters, outgoing, learners } = configuration;
    const ids = [...voters, ...outgoing, ...learners];
    demand(
      ids.every((id) => id > 0),
      () => `members ${ids.join()}`,
    );
    demand(
      learners.every((id) => !voters.includes(id)),
      () => `both at once: ${ids.join()}`,
    );
    return "taken";
  },
};

const addressesOf = (ids: readonly number[]) => ids.map((id) => ({ id, address: `n${id}:1` }));
const CONFIGURATIONS: readonly Configuration[] = [
  { voters: [], outgoing: [], learners: [], addresses: [] },
  { voters: [1], outgoing: [], learners: [], addresses: addressesOf([1]) },
  { voters: [1, 2, 3], outgoing: [], learners: [4], addresses: addressesOf([1, 2, 3, 4]) },
  { voters: [1, 2, 4], outgoing: [1, 2, 3], learners: [], addresses: addressesOf([1, 2, 3, 4]) },
  {
    ...{ voters: [7, 2 ** 32 - 1], outgoing: [], learners: [] },
    addresses: [
      { id: 7, address: "[::1]:65535" },
      { id: 2 ** 32 - 1, address: `${"h".repeat(249)}:65535` },
    ],
  },
];
