/** Claims as a line of text, in the header of a request to a guarded resource. */
import { isDeepStrictEqual } from "node:util";
import { HoldfastError } from "../../../../src/errors/index.js";
import type { Claim } from "../../../../src/fence/claim.js";
import { FENCE_HEADER, formatClaim, parseClaim } from "../../../../src/fence/claim-text.js";
import { answerTo, claimOfRequest } from "../../../../src/fence/http.js";
import { wordMutator } from "../../engine/mutators.js";
import { demand, demandEqual, type FuzzTarget } from "../../engine/target.js";

const LINES = [
  "exclusive 3710851743744001",
  "shared 1",
  "permits 9007199254740991 slots=0,2,999999",
  `permits 7 slots=${Array.from({ length: 1_024 }, (_, slot) => slot).join(",")}`,
];

export const fenceHeaders: FuzzTarget = {
  name: "fence-headers",
  about: "the header by which a holder shows its claim to a resource",
  corpus: () => LINES.map((line) => Buffer.from(line)),
  mutators: [wordMutator(["exclusive ", "permits ", " slots=", ",", "0", "9".repeat(16), ", "])],
  bytesMax: 9_000,
  steps: { fixed: 5_000, perByte: 30 },
  run(input) {
    const line = Buffer.from(input).toString("latin1");
    let claim: Claim;
    try {
      claim = parseClaim(line);
    } catch (error) {
      if (!(error instanceof HoldfastError)) throw error;
      demandEqual(error.code, "INVALID_ARGUMENT", "the code of a line that is not a claim");
      demandEqual(answerTo(error)?.status, 400, "the answer to a line that is not a claim");
      demand(error.message.length < 600, () => error.message);
      return "refused";
    }
    const { token, mode, slots = [] } = claim;
    demand(Number.isSafeInteger(token) && token > 0, () => `token ${token}`);
    demandEqual(mode === "permits", slots.length > 0, "permits have slots");
    demand(line.includes(String(token)) && line.startsWith(`${mode} `), () => `${line} is ${mode}`);
    const written = formatClaim(claim);
    demand(isDeepStrictEqual(parseClaim(written), claim), () => `${written} for ${line}`);
    const twice = { headers: { [FENCE_HEADER]: [line, line] } };
    demand(
      isRefused(() => claimOfRequest(twice)),
      () => `taken twice: ${line}`,
    );
    return "taken";
  },
};

function isRefused(action: () => unknown): boolean {
  try {
    action();
    return false;
  } catch {
    return true;
  }
}
