import { expect, test } from "vitest";
import { Zipf } from "../../../bench/load/zipf.js";
import { RandomStream } from "../../../lab/random-stream.js";

const KEYS = 100;
const DRAWS = 100_000;

test("the n-th number is drawn 1/n as often as the first", () => {
  const zipf = new Zipf(KEYS, new RandomStream(7));
  const counts = new Array<number>(KEYS).fill(0);
  for (let draw = 0; draw < DRAWS; draw += 1) {
    const key = zipf.draw();
    counts[key] = (counts[key] ?? 0) + 1;
  }
  const harmonic = counts.reduce((sum, _, index) => sum + 1 / (index + 1), 0);
  for (const rank of [1, 2, 3, 10]) {
    const expected = DRAWS / harmonic / rank;
    const found = counts[rank - 1] ?? 0;
    expect(Math.abs(found - expected), `rank ${rank}`).toBeLessThan(6 * Math.sqrt(expected));
  }
});

test("numbers are whole and below the end, one key included", () => {
  for (const keys of [1, 2, 3, 1_000]) {
    const zipf = new Zipf(keys, new RandomStream(keys));
    for (let draw = 0; draw < 1_000; draw += 1) {
      const key = zipf.draw();
      expect(Number.isInteger(key) && key >= 0 && key < keys).toBe(true);
    }
  }
});
