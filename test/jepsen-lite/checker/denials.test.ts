/**
 * Operations that were said not to have happened: what is seen of them is an anomaly of its own, and
 * nothing else is concluded from it.
 */
import { describe, expect, it } from "vitest";
import { checkHistory } from "../../../jepsen-lite/checker/index.js";
import { modelNamed } from "../../../jepsen-lite/foreign/index.js";
import { historyOf, type Line } from "./histories.js";

const onA = { key: "a" };
const DENIED = { key: "a", error: "UNAVAILABLE", denied: true };

function check(lines: readonly Line[], model = "lock") {
  return checkHistory(historyOf(lines), { model: modelNamed(model) });
}

/** The names of the checks that found something. */
function broken(lines: readonly Line[], model?: string): string[] {
  return check(lines, model)
    .checks.filter(({ valid }) => valid === false)
    .map((finding) => finding.check);
}

function acquired(process: number, token: number, argument: object = {}): Line[] {
  return [
    [process, "invoke", "acquire", argument, onA],
    [process, "ok", "acquire", { token }, onA],
  ];
}

const inspected = (...holds: object[]): Line[] => [
  [9, "invoke", "inspect", undefined, onA],
  [9, "ok", "inspect", { holds }, onA],
];

const lost = (process: number, token: number, reason: string): Line => [
  process,
  "info",
  "lost",
  { token, reason },
  onA,
];

describe("an acquire that was refused", () => {
  const refused = (how: object): Line[] => [
    [0, "invoke", "acquire", { mark: "m1" }, onA],
    [0, "fail", "acquire", undefined, { ...onA, ...how }],
  ];

  it("and whose hold others see is found by its mark, no matter who refused it", () => {
    for (const how of [{ error: "LOCK_HELD" }, { error: "BUSY", denied: true }]) {
      const lines = [...refused(how), ...inspected({ token: 7, mark: "m1" })];
      expect(broken(lines)).toEqual(["denials"]);
      expect(broken([...refused(how), ...inspected()])).toEqual([]);
    }
  });

  it("is found in a watch as well", () => {
    const seen: Line = [
      9,
      "info",
      "change",
      { watch: "w", revision: 1, kind: "granted", key: "a", token: 7, mark: "m1" },
      onA,
    ];
    expect(broken([...refused({ error: "LOCK_TIMEOUT" }), seen])).toEqual(["denials"]);
  });

  it("explains a hold of nobody if only its client denies it, and not if the table does", () => {
    const holds = inspected({ token: 7 });
    expect(broken([...refused(DENIED), ...holds])).toEqual(["denials"]);
    expect(broken([...refused({ error: "LOCK_HELD" }), ...holds])).toEqual(["linearizable"]);
  });
});

describe("an end of a hold that was refused", () => {
  const revoke = (type: "ok" | "fail" | "info", error?: string): Line[] => [
    [1, "invoke", "revoke", { now: true }, onA],
    [1, type, "revoke", undefined, error === undefined ? onA : { ...onA, error }],
  ];

  it("is found by the loss that its holder learned of", () => {
    const lines = (...middle: Line[]) => [
      ...acquired(0, 5),
      ...middle,
      lost(0, 5, "revoked"),
      ...acquired(2, 9),
    ];
    expect(broken(lines(...revoke("fail", "FORBIDDEN")))).toEqual(["denials"]);
    expect(broken(lines(...revoke("ok")))).toEqual([]);
    expect(broken(lines(...revoke("fail", "FORBIDDEN"), ...revoke("info")))).toEqual([]);
  });

  it("is found for steals as well", () => {
    const steal: Line[] = [
      [1, "invoke", "acquire", { steal: true }, onA],
      [1, "fail", "acquire", undefined, { ...onA, error: "FORBIDDEN" }],
    ];
    expect(broken([...acquired(0, 5), ...steal, lost(0, 5, "stolen")])).toEqual(["denials"]);
  });
});

describe("where only the client denies it", () => {
  const downgrade = (how: object): Line[] => [
    [0, "invoke", "downgrade", { token: 5 }, onA],
    [0, "fail", "downgrade", undefined, { ...onA, ...how }],
  ];
  const shared = acquired(1, 9, { mode: "shared" });

  it("what nothing else explains is blamed on the denial alone", () => {
    const lines = [...acquired(0, 5), ...downgrade(DENIED), ...shared];
    expect(broken(lines)).toEqual(["denials"]);
    const [violation] =
      check(lines).checks.find((each) => each.check === "denials")?.violations ?? [];
    expect(violation?.kind).toBe("denied command took effect");
    expect(violation?.text).toMatch(
      /^process 0 was told that its downgrade `a` token 5 was not carried out \(UNAVAILABLE\); if/,
    );
    expect(violation?.lines).toEqual(expect.arrayContaining([3, 4, 6]));
  });

  it("nothing is blamed on a refusal by the table, or on a denial that explains nothing", () => {
    const byTheTable = [...acquired(0, 5), ...downgrade({ error: "NOT_HELD" }), ...shared];
    expect(broken(byTheTable)).toEqual(["linearizable", "exclusion"]);
    const two = [...acquired(0, 5), ...downgrade(DENIED), ...acquired(1, 9)];
    expect(broken(two)).toContain("linearizable");
    expect(broken(two)).not.toContain("denials");
  });

  it("a denial that is true is compared, and says nothing", () => {
    const { valid, checks } = check([...acquired(0, 5), ...downgrade(DENIED)]);
    expect(valid).toBe(true);
    expect(checks.find((each) => each.check === "denials")?.compared).toBe(1);
  });

  it("a write of any model counts as one that may have happened", () => {
    const lines = (how: Readonly<Record<string, unknown>>): Line[] => [
      [0, "invoke", "write", 3],
      [0, "fail", "write", 3, how],
      [1, "invoke", "read"],
      [1, "ok", "read", 3],
    ];
    expect(broken(lines({ denied: true }), "register")).toEqual(["denials"]);
    expect(broken(lines({}), "register")).toEqual(["linearizable"]);
  });
});
