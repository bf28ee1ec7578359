/** The law of what failed calls say of themselves complains about those that are not true, and about no others. */
import { beforeEach, describe, expect, test } from "vitest";
import { OP, type Result, STATUS } from "../../src/protocol/index.js";
import { ToldFates, wishOf } from "./checks/locks/told-fates.js";

const HOST = 4;
const SESSION = 1;
const HAND_OVER = wishOf(SESSION, { op: OP.handOver, target: 66 });
const MOVED: Result = { status: STATUS.leased, tokens: [2], endsAt: 9, slots: [] };

let fates: ToldFates;
let complaint: string | undefined;
let calls = 0;
beforeEach(() => {
  complaint = undefined;
  fates = new ToldFates((_rule, message) => {
    complaint ??= message;
  });
});

function execute(): void {
  calls += 1;
  fates.onExecuted(HOST, `call ${calls}`, HAND_OVER);
  fates.onResult(`call ${calls}`, MOVED);
}

function fail(): void {
  fates.onMade(HOST, HAND_OVER);
  fates.onDenied(HOST, HAND_OVER);
}

describe("nothing is said against", () => {
  test("the second of two calls, when the first says that it was not carried out", () => {
    fail();
    fates.onMade(HOST, HAND_OVER);
    execute();
    expect(complaint).toBeUndefined();
  });

  test("a session that hands everything over when the hand-over of one hold has failed", () => {
    fail();
    fates.onAllHandedOver(HOST, SESSION);
    execute();
    expect(complaint).toBeUndefined();
  });
});

describe("it is found", () => {
  test("that a call was carried out which says that it was not", () => {
    fail();
    execute();
    expect(complaint).toMatch(/of 1 calls 1 say that they were not carried out, and 1 were/);
  });

  test("that a call was carried out after all, when its session hands everything over", () => {
    fail();
    fates.onAllHandedOver(HOST, SESSION);
    execute();
    execute();
    expect(complaint).toMatch(/of 2 calls 1 say that they were not carried out, and 2 were/);
  });

  test("that a call was carried out after all, when another session hands everything over", () => {
    fail();
    fates.onAllHandedOver(HOST, SESSION + 1);
    execute();
    expect(complaint).toMatch(/of 1 calls 1 say/);
  });
});
