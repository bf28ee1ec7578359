/** What a workload records of a lock: only what the cluster has said counts as its answer. */
import { expect, test } from "vitest";
import type { HoldfastError } from "../../jepsen-lite/sdk.js";
import { release } from "../../jepsen-lite/workloads/lock-operations.js";
import type { HeldLock, PlainWorker } from "../../jepsen-lite/workloads/workload.js";

/** What was recorded of a release with this result: the answer, or the code of the failure. */
async function recorded(result: Awaited<ReturnType<HeldLock["release"]>>): Promise<unknown> {
  let answer: unknown;
  const record = async (_operation: unknown, act: () => Promise<unknown>) => {
    answer = await act().catch((error: HoldfastError) => [error.code, error.details]);
  };
  const lock = { token: 5, release: async () => result } as Partial<HeldLock> as HeldLock;
  await release({ record } as Partial<PlainWorker> as PlainWorker, lock, "k");
  return answer;
}

test("a release that found the hold ended by others is an answer", async () => {
  expect(await recorded({ released: true })).toEqual({ released: true });
  expect(await recorded({ released: false, reason: "stolen" })).toEqual({
    released: false,
    reason: "stolen",
  });
});

// The client gives such a hold up by its own clock, and the table may show it for a while.
test.each(["unknown", "expired", "maxHold", "revoked"] as const)(
  "a release of a hold that the client had given up as %s says nothing of the table",
  async (reason) => {
    const answer = await recorded({ released: false, reason });
    expect(answer).toEqual(["UNAVAILABLE", { indeterminate: true }]);
  },
);
