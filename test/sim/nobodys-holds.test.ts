/** The check that finds holds that no handle and no caller has. */
import { describe, expect, test } from "vitest";
import { NobodysHolds } from "./clients/sdk/nobodys-holds.js";

const STRAY = 7;

function checkOf(numbers: readonly number[]): NobodysHolds {
  return new NobodysHolds(() => numbers);
}

describe("a hold that is nobody's", () => {
  test("is found when a keepalive is answered that was sent after it was", () => {
    const check = checkOf([STRAY]);
    check.onKeepalive(1, 100);
    expect(check.onAnswered(1)).toBeUndefined();
    check.onKeepalive(2, 200);
    expect(check.onAnswered(2)).toBe(STRAY);
  });

  test("is being given back if it was somebody's until the turn of the keepalive", () => {
    const check = checkOf([STRAY]);
    check.onKeepalive(1, 100);
    check.onKeepalive(2, 100);
    expect(check.onAnswered(1) ?? check.onAnswered(2)).toBeUndefined();
  });

  test("is not a fault if it has ended, or is somebody's again", () => {
    const numbers = [STRAY];
    const check = checkOf(numbers);
    check.onKeepalive(1, 100);
    check.onKeepalive(2, 200);
    numbers.pop();
    expect(check.onAnswered(2)).toBeUndefined();
    check.onKeepalive(3, 300);
    numbers.push(STRAY);
    check.onKeepalive(4, 400);
    expect(check.onAnswered(4)).toBeUndefined();
  });

  test("is excused when the node refused something", () => {
    const check = checkOf([STRAY]);
    check.onKeepalive(1, 100);
    check.onKeepalive(2, 200);
    check.onRefused();
    expect(check.onAnswered(2)).toBeUndefined();
  });
});
