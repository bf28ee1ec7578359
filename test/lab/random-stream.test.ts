import { expect, test } from "vitest";
import { RandomStream } from "../../lab/random-stream.js";

function numbers(seed: number, end: number, count: number): number[] {
  const random = new RandomStream(seed);
  return Array.from({ length: count }, () => random.below(end));
}

test("a seed always gives the same numbers, another one others", () => {
  expect(numbers(1, 1_000, 20)).toEqual(numbers(1, 1_000, 20));
  expect(numbers(1, 1_000, 20)).not.toEqual(numbers(2, 1_000, 20));
});

test("every number below the end comes about equally often, and no other", () => {
  const counts = new Array<number>(10).fill(0);
  for (const value of numbers(1, 10, 100_000)) counts[value] = (counts[value] ?? 0) + 1;
  expect(counts).toHaveLength(10);
  for (const count of counts) expect(Math.abs(count - 10_000)).toBeLessThan(500);
});

test("distinct numbers are, also when all there are are wanted", () => {
  const random = new RandomStream(1);
  for (let count = 1; count <= 4; count += 1) {
    const chosen = random.distinct(count, 4);
    expect(new Set(chosen).size).toBe(count);
    for (const value of chosen) expect([0, 1, 2, 3]).toContain(value);
  }
});
