/** What the messages of a wait say: holders as holders, waiters as waiters, and cooldowns. */
import { expect, test } from "vitest";
import { obstacleText, refusedText } from "../../../bin/run/wait-words.js";
import type { Blocker, KeyView } from "../../../src/index.js";

const NOW_MS = new Date(2026, 10, 28, 14, 3, 22).getTime();

function blocker(
  sessionName: string,
  token: number,
  holder: Blocker["holder"] = token === 0 ? null : "session",
): Blocker {
  const lock = { key: "jobs/c", mode: "exclusive", token } as const;
  const session = holder === "owner" || holder === "bearer" ? 0 : 3;
  return { ...lock, sessionName, identity: "anonymous", session, holder };
}

function hold(sessionName: string, heldMs: number): KeyView["holds"][number] {
  return {
    ...{
      sessionName,
      session: 3,
      identity: "anonymous",
      holder: "session" as const,
      leaseOwner: "",
    },
    ...{ heldMs, ttlMs: 10_000, leaseMs: 5_000, mode: "exclusive", token: 7 },
  } as unknown as KeyView["holds"][number];
}

function view(parts: Partial<KeyView>): KeyView {
  const nothing = { holds: [], waiters: [], cooldowns: [], kind: "lock", limit: 0 };
  return { key: "jobs/c", ...nothing, ...parts } as unknown as KeyView;
}

const waiter = (session: number) => ({ session }) as KeyView["waiters"][number];
const cooldown = (endsInMs: number, identity = "anonymous") =>
  ({ endsInMs, identity }) as KeyView["cooldowns"][number];

test("a refusal names holders as holders, and waiters as waiters", () => {
  const both = [blocker("A", 7), blocker("B", 0)];
  const said = (blockedBy: string, blockers: readonly Blocker[]) =>
    refusedText("jobs/c", { blockedBy, blockers }, []);
  expect(said("holders", both)).toBe("jobs/c is held by A; B waits for it");
  expect(said("holders", [...both, blocker("C", 0)])).toBe("jobs/c is held by A; B, C wait for it");
  expect(said("holders", both.slice(0, 1))).toBe("jobs/c is held by A");
  expect(said("holders", [blocker("", 7)])).toBe("jobs/c is held by another");
  expect(said("holders", [blocker("", 7, "owner")])).toBe("jobs/c is held by a lease");
  expect(said("holders", [blocker("A", 7, "bearer")])).toBe("jobs/c is handed over by A");
  expect(said("waiters", both.slice(1))).toBe("jobs/c is waited for by B");
  expect(said("holders", [blocker("a\u001b[31m", 7)])).toBe("jobs/c is held by a\\u{1b}[31m");
});

test("a key that cools down says for how long", () => {
  const refused = { blockedBy: "cooldown", blockers: [blocker("", 0)] };
  expect(refusedText("jobs/c", refused, [view({ cooldowns: [cooldown(28_000)] })])).toBe(
    "jobs/c is cooling down for 28s more (--min-hold or --lock-delay of its last holder)",
  );
  expect(refusedText("jobs/c", refused, [view({ cooldowns: [cooldown(28_000, "")] })])).toBe(
    "jobs/c is cooling down for 28s more " +
      "(its holder before the cluster was restored may still rely on it)",
  );
  expect(refusedText("jobs/c", refused, [])).toMatch(/^jobs\/c is cooling down \(--min-hold/);
});

test("a wait says its place, who holds it and since when", () => {
  const held = view({ holds: [hold("A", 250_000)], waiters: [waiter(8), waiter(9)] });
  expect(obstacleText([held], 9, NOW_MS)).toBe("place 2 of 2, held by A since 13:59:12 (4m 10s)");
  expect(obstacleText([held], 5, NOW_MS)).toBe("held by A since 13:59:12 (4m 10s)");
  const handedOver = {
    ...held,
    holds: held.holds.map((one) => ({ ...one, holder: "bearer" as const })),
  };
  expect(obstacleText([handedOver], 5, NOW_MS)).toBe("handed over by A since 13:59:12 (4m 10s)");
  const two = [held, view({ key: "other", waiters: [waiter(9)] })];
  expect(obstacleText(two, 9, NOW_MS)).toBe(
    "place 2 of 2 for jobs/c, place 1 of 1 for other, held by A since 13:59:12 (4m 10s)",
  );
  const many = view({ holds: ["A", "B", "C", "D", "E"].map((name) => hold(name, 1_000)) });
  expect(obstacleText([many], 9, NOW_MS)).toMatch(/held by A .*, B .*, C .* and 2 more$/);
  const closed = view({ cooldowns: [cooldown(5_000)] });
  expect(obstacleText([closed], 9, NOW_MS)).toMatch(/^cooling down for 5s more/);
  expect(obstacleText([view({})], 9, NOW_MS)).toBe("");
});
