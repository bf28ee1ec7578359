/** The replicated settings of the table, and the quotas that they set. */
import { setFlagsFromString } from "node:v8";
import { describe, expect, test } from "vitest";
import { ERROR_NUMBERS } from "../../src/errors/index.js";
import type { TableSettings } from "../../src/lockfsm/index.js";
import { resolveTableSettings, withSetting } from "../../src/lockfsm/settings.js";
import { OP, STATUS, WAIT_FOREVER } from "../../src/protocol/index.js";
import { ClusterLog, exclusive, resultOf, shared } from "./plans/cluster-log.js";

const ok = { status: STATUS.ok };
const queued = { status: STATUS.queued };
const quota = { status: ERROR_NUMBERS.QUOTA };
const invalid = { status: ERROR_NUMBERS.INVALID_ARGUMENT };

const settingOf = (log: ClusterLog, name: keyof TableSettings) =>
  log.table.settings().find((setting) => setting.name === name)?.value;

describe("a setting of the table", () => {
  test("is read by its place in an object, not looked up in a hash table, since every command reads some", () => {
    setFlagsFromString("--allow-natives-syntax");
    const isHashTable = new Function("object", "return !%HasFastProperties(object)");
    setFlagsFromString("--no-allow-natives-syntax");
    const settings = resolveTableSettings({ waitersMax: 7 });
    expect(isHashTable(settings)).toBe(false);
    expect(isHashTable(withSetting(settings, "waitersMax", 8))).toBe(false);
  });

  test("is shown with its default, and every one is", () => {
    const settings = new ClusterLog({ waitersMax: 7 }).table.settings();
    expect(settings.find(({ name }) => name === "waitersMax")).toEqual({
      name: "waitersMax",
      value: 7,
      defaultValue: 100_000,
      least: 1,
      most: 10_000_000,
    });
    expect(settings.filter(({ value, defaultValue }) => value !== defaultValue)).toHaveLength(1);
    expect(settings.length).toBeGreaterThanOrEqual(10);
  });

  test("changes by a command, for the commands behind it in its entry too, and back", () => {
    const log = new ClusterLog();
    const [a, b, c] = [log.open("a"), log.open("b"), log.open("c")];
    a.take();
    a.sequence += 1;
    const head = { sequence: a.sequence, mark: 1, acknowledged: [] };
    const name = "waitersMax";
    const said = log.apply(
      a.make({ op: OP.changeSetting, ...head, name, value: 1 }),
      b.acquiring(),
      c.acquiring(),
    );
    expect(said.flatMap((message) => ("result" in message ? [message.result] : []))).toEqual([
      ok,
      queued,
      { status: ERROR_NUMBERS.QUEUE_FULL },
    ]);
    expect(resultOf(a.changeSetting(name, undefined))).toEqual(ok);
    expect(settingOf(log, name)).toBe(100_000);
    expect(c.acquire()).toEqual(queued);
  });

  test("takes nothing from those who have it already", () => {
    const log = new ClusterLog();
    const [a, b, c] = [log.open("a"), log.open("b"), log.open("c")];
    a.take();
    b.acquire();
    c.acquire();
    a.changeSetting("waitersMax", 1);
    expect(log.line("k")).toEqual(["a", "|", "b", "c"]);
  });

  test("must be known and within its range", () => {
    const log = new ClusterLog();
    const a = log.open("a");
    for (const [name, value] of [
      ["noSuchSetting", 1],
      ["toString", 1],
      ["waitersMax", 0],
      ["waitersMax", 10_000_001],
      ["priorityStepMs", 3_600_001],
      ["holdsPerStepMax", 2 ** 53 - 1],
      ["noSuchSetting", undefined],
    ] as const) {
      expect(resultOf(a.changeSetting(name, value)), name).toEqual(invalid);
    }
    expect(resultOf(a.changeSetting("priorityStepMs", 0))).toEqual(ok);
  });
});

describe("a quota", () => {
  test("of sessions refuses another one, and not the one that is there already", () => {
    const log = new ClusterLog({ sessionsMax: 1 });
    const a = log.open("a");
    const opening = { op: OP.open, attempt: 2, ttlMs: 1_000, name: "", metadata: "" } as const;
    log.apply({ session: 0, epoch: 0, command: { ...opening, nonce: "other" } });
    expect(log.attached.at(-1)).toMatchObject({ ...quota, session: 0 });
    log.apply({ session: 0, epoch: 0, command: { ...opening, nonce: a.nonce } });
    expect(log.attached.at(-1)).toMatchObject({ status: STATUS.ok, session: a.session });
    a.epoch = 2;
    a.changeSetting("sessionsMax", 2);
    expect(log.open("b").session).toBeGreaterThan(a.session);
  });

  test("of holds refuses another acquire of that session, whether or not it would be granted", () => {
    const log = new ClusterLog({ holdsPerSessionMax: 2 });
    const [a, b] = [log.open("a"), log.open("b")];
    const hold = a.take(exclusive("x"));
    a.take(shared("y"), { task: 2 });
    expect(a.acquire(exclusive("z"), WAIT_FOREVER, { task: 3 })).toEqual(quota);
    expect(b.acquire(exclusive("z"))).toMatchObject({ status: STATUS.granted });
    a.end(hold);
    expect(a.acquire(exclusive("x"))).toMatchObject({ status: STATUS.granted });
  });

  test("of waits refuses another one, be it an upgrade, and not what is granted at once", () => {
    const log = new ClusterLog({ waitsPerSessionMax: 1 });
    const [a, b] = [log.open("a"), log.open("b")];
    b.take(exclusive("k"));
    b.take(shared("up"), { task: 2 });
    const hold = a.take(shared("up"), { task: 2 });
    expect(a.acquire()).toEqual(queued);
    expect(a.acquire(exclusive("k"), 900, { task: 3 })).toEqual(quota);
    expect(a.upgrade(hold, "up")).toEqual(quota);
    const alone = a.take(shared("alone"), { task: 4 });
    expect(a.upgrade(alone, "alone")).toMatchObject({ status: STATUS.upgraded });
    expect(a.acquire(exclusive("free"), 900, { task: 3 })).toMatchObject({
      status: STATUS.granted,
    });
    expect(a.acquire(exclusive("k"), 0, { task: 3 })).toMatchObject({
      status: ERROR_NUMBERS.LOCK_HELD,
    });
  });
});

test("the step of a head start counts for those who come after it changed", () => {
  const log = new ClusterLog();
  const [a, b, c, d] = [log.open("a"), log.open("b"), log.open("c"), log.open("d")];
  a.take();
  b.acquire();
  log.stamp += 5_000;
  const asking = { options: { priority: 1 } };
  c.acquire(exclusive("k"), WAIT_FOREVER, asking);
  expect(log.line("k")).toEqual(["a", "|", "b", "c"]);
  a.changeSetting("priorityStepMs", 10_000);
  d.acquire(exclusive("k"), WAIT_FOREVER, asking);
  expect(log.line("k")).toEqual(["a", "|", "d", "b", "c"]);
});
