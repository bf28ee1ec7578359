/** Reads of the table are bounded: what one of them returns does not grow with the table. */
import { describe, expect, test } from "vitest";
import { QUERY_PAGE_MAX } from "../../../src/protocol/index.js";
import { ClusterLog, shared } from "../plans/cluster-log.js";

describe("a page of keys", () => {
  test("ends with the key that reaches a thousand holds and waiters, and the next goes on", () => {
    const log = new ClusterLog();
    for (const name of ["a", "b", "c", "d"]) {
      const client = log.open(name);
      for (let task = 1; task <= 400; task += 1) {
        client.acquire(shared("k1"), 0, { task });
        client.acquire(shared(`k2/${name}`), 0, { task: task + 400 });
      }
    }
    const seen: string[] = [];
    let after: string | undefined;
    do {
      const { keys, next } = log.table.query("", after, QUERY_PAGE_MAX);
      const before = keys.slice(0, -1).reduce((sum, { holds }) => sum + holds.length, 0);
      expect(before).toBeLessThan(1_000);
      for (const { key } of keys) seen.push(key);
      after = next ?? undefined;
    } while (after !== undefined);
    expect(seen).toEqual(["k1", "k2/a", "k2/b", "k2/c", "k2/d"]);
  });
});

describe("pages of sessions", () => {
  test("show every live session once, in the order of their numbers", () => {
    const log = new ClusterLog({ sessionsMax: 10_000 });
    const expected: number[] = [];
    for (let number = 0; number < 5_000; number += 1) {
      const client = log.open(`s${number}`, number % 10 === 0 ? 1_000 : 15_000);
      if (number % 10 !== 0) expected.push(client.session);
    }
    log.pass(1_000);
    const seen: number[] = [];
    for (let after = 0; ; ) {
      const { sessions, next } = log.table.listSessions(after, QUERY_PAGE_MAX);
      expect(sessions.length).toBeLessThanOrEqual(QUERY_PAGE_MAX);
      for (const { session } of sessions) seen.push(session);
      if (next === null) break;
      after = next;
    }
    expect(seen).toEqual(expected);
    expect(log.table.listSessions(0, 3).sessions.map(({ session }) => session)).toEqual(
      expected.slice(0, 3),
    );
  });
});
