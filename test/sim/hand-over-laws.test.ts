/** The laws of hand-overs complain about logs and answers that break them, and about no others. */
import { beforeEach, describe, expect, test } from "vitest";
import { ERROR_NUMBERS } from "../../src/errors/index.js";
import { OP, type Result, type SequencedCommand, STATUS } from "../../src/protocol/index.js";
import { HandOverLaws } from "./checks/locks/hand-over-laws.js";

const HEAD = { sequence: 1, mark: 0, acknowledged: [] };
const MOVED: Result = { status: STATUS.leased, tokens: [2], endsAt: 9, slots: [] };
const ADOPTED: Result = {
  ...{ status: STATUS.adopted, token: 3, items: [], value: "" },
  ...{ grantedAt: 1, endsAt: 0 },
};
const GIVER = "session 1 of client 1";
const HEIR = "session 2 of client 2";
const TWIN = "session 3 of client 2";

const data = (confirmed: boolean, ...secrets: readonly string[]) => ({
  ...{ version: 1, clusterId: "c", confirmed },
  holds: secrets.map((secret) => ({ keys: [`key ${secret}`], secret, task: 1 })),
});

let laws: HandOverLaws;
let complaint: string | undefined;
let calls = 0;
beforeEach(() => {
  complaint = undefined;
  laws = new HandOverLaws((_rule, message) => {
    complaint ??= message;
  });
});

function execute(by: string, command: SequencedCommand, result: Result): void {
  calls += 1;
  laws.onExecuted(`call ${calls}`, by, command);
  laws.onResult(`call ${calls}`, result);
}

function move(to: string, result = MOVED): void {
  const own = { op: OP.handOver, target: 1, to, isBearer: true, ttlMs: 1_000 } as const;
  execute(GIVER, { ...own, ...HEAD }, result);
}

function adopt(by: string, secret: string, result = ADOPTED): void {
  execute(by, { op: OP.adopt, key: "k", secret, task: 1, ...HEAD }, result);
}

describe("nothing is said against", () => {
  test("an heir that goes on with everything, and a twin that comes too late", () => {
    const asked = laws.onAsked(GIVER, undefined);
    move("a");
    move("b");
    laws.onClosed(GIVER, []);
    asked.given(data(true, "a", "b"));
    adopt(HEIR, "a");
    adopt(TWIN, "a", { status: ERROR_NUMBERS.NOT_HELD });
    adopt(HEIR, "b");
    expect(complaint).toBeUndefined();
  });

  test("holds of two hand-overs that two go on with", () => {
    const asked = [laws.onAsked(GIVER, 1), laws.onAsked(GIVER, 2)];
    move("a");
    move("b");
    asked[0]?.given(data(true, "a"));
    asked[1]?.given(data(true, "b"));
    adopt(HEIR, "a");
    adopt(TWIN, "b");
    expect(complaint).toBeUndefined();
  });

  test("data of what is executed later, or never", () => {
    laws.onAsked(GIVER, undefined).given(data(false, "a", "b"));
    move("a");
    expect(complaint).toBeUndefined();
  });

  test("a hand-over that is refused, and a session that is closed with its holds after that", () => {
    const asked = laws.onAsked(GIVER, undefined);
    move("a", { status: ERROR_NUMBERS.QUOTA });
    asked.refused(false);
    laws.onClosed(GIVER, [1]);
    expect(complaint).toBeUndefined();
  });

  test("a session that is closed with what a call of its own did not hand over", () => {
    const alone = [1, 2, 3].map((target) => laws.onAsked(GIVER, target));
    laws.onAsked(GIVER, undefined);
    move("a", { status: ERROR_NUMBERS.FORBIDDEN });
    alone[1]?.given(data(false, "b"));
    alone[2]?.refused(true);
    laws.onClosed(GIVER, [1, 2, 3]);
    expect(complaint).toBeUndefined();
  });

  test("what is executed for a process that is gone, or for a client of the protocol", () => {
    laws.onAsked(GIVER, undefined);
    move("a");
    const own = { op: OP.handOver, target: 1, to: "b", isBearer: true, ttlMs: 1_000 } as const;
    execute(HEIR, { ...own, ...HEAD }, MOVED);
    expect(complaint).toBeUndefined();
  });
});

describe("the laws are broken by", () => {
  test("a call that fails, and is executed before or behind that", () => {
    const asked = laws.onAsked(GIVER, undefined);
    move("a");
    expect(complaint).toBeUndefined();
    asked.refused(false);
    expect(complaint).toContain("nobody can adopt them");
    complaint = undefined;
    laws.onAsked(TWIN, 1).refused(true);
    const own = { op: OP.handOver, target: 1, to: "b", isBearer: true, ttlMs: 1_000 } as const;
    execute(TWIN, { ...own, ...HEAD }, MOVED);
    expect(complaint).toContain("nobody can adopt them");
  });

  test("data without a hold that was handed over", () => {
    const asked = laws.onAsked(GIVER, undefined);
    move("a");
    move("b");
    asked.given(data(true, "a"));
    expect(complaint).toContain("1 holds of session 1 of client 1");
  });

  test("a hand-over that is confirmed, and was not executed", () => {
    laws.onAsked(GIVER, undefined).given(data(true, "a"));
    expect(complaint).toContain("is confirmed, and was not executed");
  });

  test("two that share what was one's", () => {
    const asked = laws.onAsked(GIVER, undefined);
    move("a");
    move("b");
    asked.given(data(true, "a", "b"));
    adopt(HEIR, "a");
    adopt(TWIN, "b");
    expect(complaint).toContain("adopts some of what session 2 of client 2 goes on with");
  });

  test("a session that is closed before what it has is handed over", () => {
    laws.onAsked(GIVER, undefined);
    laws.onClosed(GIVER, [1]);
    expect(complaint).toContain("is closed with 1");
  });

  test("a session that is closed with what the log was not asked for, or still has a holder", () => {
    laws.onAsked(GIVER, 1);
    laws.onAsked(GIVER, 2).refused(false);
    laws.onAsked(GIVER, undefined);
    laws.onClosed(GIVER, [1, 2]);
    expect(complaint).toContain("is closed with 1,2");
  });

  test("a hand-over of everything that is refused for one hold, which the session keeps", () => {
    laws.onAsked(GIVER, undefined);
    move("a", { status: ERROR_NUMBERS.FORBIDDEN });
    laws.onClosed(GIVER, [1]);
    expect(complaint).toContain("is closed with 1");
  });
});
