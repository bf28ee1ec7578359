import { describe, expect, it } from "vitest";
import { checkHistory, lockModel } from "../../../jepsen-lite/checker/index.js";
import { modelNamed, readHistory } from "../../../jepsen-lite/foreign/index.js";
import { validHistory, validLockHistory } from "./histories.js";

const OPTIONS = { operations: 20_000, keys: 200, processes: 40, seed: 11, unknownShare: 0.02 };

describe("long histories that a real object made", () => {
  for (const model of ["register", "cas-register", "kv"] as const) {
    it(`of ${model} are valid`, () => {
      const { events } = readHistory(validHistory(model, OPTIONS).join("\n"));
      const result = checkHistory(events, { model: modelNamed(model) });
      expect(result.valid).toBe(true);
      expect(result.counts.operations).toBe(OPTIONS.operations);
    });
  }

  it("of locks are valid by every check, and one token exchanged is found", () => {
    const lines = validLockHistory({ ...OPTIONS, processes: 600 });
    const result = checkHistory(readHistory(lines.join("\n")).events, { model: lockModel });
    expect(result.checks.filter(({ valid }) => valid !== true)).toEqual([]);
    const at = lines.findLastIndex((line) => line.includes('"type":"ok","f":"acquire"'));
    const spoilt = lines.with(at, (lines[at] as string).replace(/"token":\d+/, '"token":1'));
    const found = checkHistory(readHistory(spoilt.join("\n")).events, { model: lockModel });
    expect(found.valid).toBe(false);
  });

  it("on a single key neither the length nor the depth of the search is a problem", () => {
    const one = { ...OPTIONS, keys: 1, processes: 8, unknownShare: 0 };
    const { events } = readHistory(validHistory("cas-register", one).join("\n"));
    expect(checkHistory(events, { model: modelNamed("cas-register") }).valid).toBe(true);
  });

  it("fifty clients at once on a single key can be checked, too", () => {
    const crowd = { ...OPTIONS, operations: 5_000, keys: 1, processes: 50, unknownShare: 0.01 };
    const { events } = readHistory(validHistory("register", crowd).join("\n"));
    const budget = { steps: 5_000_000 };
    expect(checkHistory(events, { model: modelNamed("register"), budget }).valid).toBe(true);
  });
});
