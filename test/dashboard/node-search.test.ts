/** The search of the page for a node that answers: the first answer counts, and nobody is waited for. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { firstToAnswer } from "../../dashboard/connection/node-search.js";

interface Attempt {
  readonly node: number;
  readonly signal: AbortSignal;
  readonly resolve: (found: string) => void;
  readonly reject: (error: unknown) => void;
}

let attempts: Attempt[] = [];
const discarded: string[] = [];
const ending = new AbortController();

beforeEach(() => {
  vi.useFakeTimers();
  attempts = [];
});
afterEach(() => {
  vi.useRealTimers();
});

function search(nodes: readonly number[], signal = ending.signal) {
  return firstToAnswer({
    nodes,
    attempt: (node, either) =>
      new Promise<string>((resolve, reject) => {
        attempts.push({ node, signal: either, resolve, reject });
      }),
    discard: (found) => discarded.push(found),
    isFinal: (error) => error === "final",
    onAsked: () => {},
    signal,
  });
}

const asked = (): number[] => attempts.map(({ node }) => node);

test("a node that fails is followed by the next at once", async () => {
  const found = search([1, 2]);
  expect(asked()).toEqual([1]);
  attempts[0]?.reject(new Error("refused"));
  await vi.advanceTimersByTimeAsync(0);
  expect(asked()).toEqual([1, 2]);
  attempts[1]?.resolve("second");
  expect(await found).toEqual({ node: 2, found: "second" });
});

test("a silent node is not waited for, and its late answer counts if it comes first", async () => {
  const found = search([1, 2, 3]);
  await vi.advanceTimersByTimeAsync(1_500);
  expect(asked()).toEqual([1, 2]);
  attempts[0]?.resolve("first");
  expect(await found).toEqual({ node: 1, found: "first" });
  expect(attempts[1]?.signal.aborted).toBe(true);
  attempts[1]?.resolve("too late");
  await vi.advanceTimersByTimeAsync(5_000);
  expect([asked(), discarded]).toEqual([[1, 2], ["too late"]]);
});

test("nobody answers only when all have failed; a refusal of the viewer ends it", async () => {
  const nobody = search([1]);
  attempts[0]?.reject(new Error("refused"));
  expect(await nobody).toBeUndefined();
  const refused = search([1, 2]);
  attempts[1]?.reject("final");
  await expect(refused).rejects.toBe("final");
  const over = new AbortController();
  const given = search([1], over.signal);
  over.abort("over");
  await expect(given).rejects.toBe("over");
  expect(attempts.at(-1)?.signal.aborted).toBe(true);
});
