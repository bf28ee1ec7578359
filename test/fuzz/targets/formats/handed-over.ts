/** Holds that a process hands to another one in JSON, and the commands that adopt them. */

import { requireHandedOver } from "../../../../src/client/options/hand-over-options.js";
import { HoldfastError } from "../../../../src/errors/index.js";
import { OP } from "../../../../src/protocol/index.js";
import { decodeCommand, encodeCommand } from "../../../protocol/command-bytes.js";
import { mutateJson } from "../../engine/json-mutators.js";
import { demand, type FuzzTarget } from "../../engine/target.js";

const CLUSTER_ID = "c0ffee00c0ffee00c0ffee00c0ffee00";

export const handedOver: FuzzTarget = {
  name: "handed-over",
  about: "holds that were handed over, in JSON, and the commands that adopt them",
  corpus: () => {
    const head = { version: 1, clusterId: CLUSTER_ID, confirmed: true };
    const hold = { keys: ["orders/1"], secret: "5e".repeat(16), task: 1 };
    const several = { keys: ["a", "b"], secret: "00".repeat(16), task: 2 ** 40, more: 1 };
    const samples = [
      { ...head, holds: [hold] },
      { ...head, confirmed: false, holds: [hold, several] },
      { ...head, holds: [] },
      { ...head, clusterId: "another", holds: [hold] },
    ];
    return samples.map((handed) => Buffer.from(JSON.stringify(handed)));
  },
  mutators: [mutateJson],
  bytesMax: 1_024,
  steps: { fixed: 5_000, perByte: 20 },
  run(input) {
    let holds: ReturnType<typeof requireHandedOver>["holds"];
    try {
      ({ holds } = requireHandedOver(JSON.parse(Buffer.from(input).toString()), CLUSTER_ID));
    } catch (error) {
      // The caller's own: no JSON.
      if (error instanceof SyntaxError) return "refused";
      const isOurs = error instanceof HoldfastError && error.code === "INVALID_ARGUMENT";
      const isPlain = error instanceof TypeError || error instanceof RangeError;
      if (!isOurs && !isPlain) throw error;
      demand(!/5e5e5e5e/.test(String(error)), () => `the secret stands in: ${String(error)}`);
      return "refused";
    }
    for (const { keys, secret } of holds) {
      const head = { sequence: 1, mark: 1, acknowledged: [], task: 1 };
      const command = { op: OP.adopt, ...head, key: keys[0] ?? "", secret } as const;
      demand(decodeCommand(encodeCommand(command)) !== undefined, () => "no command to adopt it");
    }
    return "taken";
  },
};
