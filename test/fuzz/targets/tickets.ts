/** Tickets, which a process hands to another one in JSON, and the claim that they become. */
import { resolveClaim, type Ticket } from "../../../src/client/options/lock-options.js";
import { decodeCommand, encodeCommand, OP } from "../../../src/protocol/index.js";
import { mutateJson } from "../engine/json-mutators.js";
import { demand, type FuzzTarget } from "../engine/target.js";

export const tickets: FuzzTarget = {
  name: "tickets",
  about: "a ticket in JSON, and the claim that it becomes",
  corpus: () => {
    const samples = [
      { token: 7, secret: "5e".repeat(16) },
      { token: 2 ** 53 - 1, secret: "00".repeat(16), more: 1 },
    ];
    return samples.map((ticket) => Buffer.from(JSON.stringify(ticket)));
  },
  mutators: [mutateJson],
  bytesMax: 1_024,
  steps: { fixed: 5_000, perByte: 20 },
  run(input) {
    let claim: Ticket;
    try {
      claim = resolveClaim(JSON.parse(Buffer.from(input).toString()) as Ticket);
    } catch (error) {
      // The caller's own: no JSON.
      if (error instanceof SyntaxError) return "refused";
      if (!(error instanceof TypeError || error instanceof RangeError)) throw error;
      demand(!/5e5e5e5e/.test(String(error)), () => `the secret stands in: ${String(error)}`);
      return "refused";
    }
    const head = { sequence: 1, mark: 1, acknowledged: [], owner: 1 };
    const command = { op: OP.claim, ...head, ...claim } as const;
    demand(decodeCommand(encodeCommand(command)) !== undefined, () => "a claim that is none");
    return "taken";
  },
};
