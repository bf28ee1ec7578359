/** What the table of a node's options promises to all that is made from it. */
import { describe, expect, test } from "vitest";
import { OptionError } from "../../src/errors/index.js";
import {
  demandGiven,
  demandRelations,
  demandValues,
  listeningAddresses,
  NODE_OPTION_ROWS,
  NODE_TUNING_DEFAULTS,
  tuningOf,
  withDefaults,
} from "../../src/node-options/index.js";

const HERE = { host: "127.0.0.1", port: 7_411 };
const rows = [...NODE_OPTION_ROWS];

/** `undefined`: it was not refused. */
function refusalOf(check: () => void): OptionError | undefined {
  try {
    check();
  } catch (error) {
    if (error instanceof OptionError && error.code === "INVALID_ARGUMENT") return error;
    throw error;
  }
  return undefined;
}

function refusal(check: () => void): OptionError {
  const error = refusalOf(check);
  if (error === undefined) throw new Error("was not refused");
  return error;
}

describe("the table", () => {
  test("names in each row only options that exist", () => {
    for (const [name, { needs, excludes, atMost = [] }] of rows) {
      const others = [...(needs?.options ?? []), ...atMost.map(({ option }) => option)];
      if (excludes !== undefined) others.push(excludes.option);
      for (const other of others) expect([name, NODE_OPTION_ROWS.has(other)]).toEqual([name, true]);
    }
  });

  test("gives each option that people may set a flag of its own and words", () => {
    const shown = rows.filter(([, { isInternal }]) => isInternal !== true);
    const flags = shown.map(([name, { flag = name }]) => flag);
    expect(new Set(flags).size).toBe(shown.length);
    // People write the unit with the value.
    for (const flag of flags) expect(flag).not.toMatch(/(Ms|Bytes)$/);
    for (const [name, { words }] of shown) expect([name, words === ""]).toEqual([name, false]);
  });

  test("has defaults that are of their kinds and fit together", () => {
    for (const [name, { kind, defaultValue }] of rows) {
      if (defaultValue === undefined) continue;
      expect([name, kind.problemOf(name, defaultValue, String)]).toEqual([name, undefined]);
    }
    expect(tuningOf({})).toEqual(NODE_TUNING_DEFAULTS);
    expect(() => demandRelations({ ...NODE_TUNING_DEFAULTS })).not.toThrow();
  });
});

describe("what the table demands", () => {
  test("a required option has a value, and each value is of its kind", () => {
    const { message } = refusal(() => demandValues({ id: 1 }));
    expect(message).toBe("dataDirectory is missing");
    const unknown = { id: 1, dataDirectory: "n1", electionTimeoutMs: 600 };
    expect(refusal(() => demandValues(unknown)).message).toBe(
      "there is no option electionTimeoutMs",
    );
    const wrong = { id: 1, dataDirectory: "n1", insecure: "yes" };
    expect(refusal(() => demandValues(wrong)).message).toBe("insecure must be true or false");
    expect(withDefaults({ id: 1, dataDirectory: "n1" })).toMatchObject({
      ...{ id: 1, listen: HERE, insecure: false, clusterName: "holdfast" },
    });
  });

  test("a program in JavaScript learns which option has a value of a wrong type", () => {
    const strange = [
      null,
      0,
      7n,
      "",
      "x",
      true,
      Symbol("s"),
      () => 0,
      {},
      [],
      [null],
      new Array(1),
    ];
    const nested = [{ host: 1, port: 1 }, [{ id: 1 }], [{ id: 1, address: null }], [[]], { a: {} }];
    for (const [name, { kind, isTuning }] of rows) {
      for (const value of [...strange, ...nested, Object.create(null)]) {
        const given = { [name]: value };
        const error = refusalOf(() => (isTuning === true ? tuningOf(given) : demandGiven(given)));
        const problem = `${name} must be ${kind.shape.words}`;
        if (kind.shape.fits(value)) expect(error?.message).not.toBe(problem);
        else expect(error?.message).toBe(problem);
      }
    }
  });

  test.each([
    [{ redisFair: true }, "redisFair without redisListen: nothing is served to Redis"],
    [
      { redisListen: HERE, redisFair: true, redisRedlock: true },
      "redisFair and redisRedlock exclude each other: a waiter has one place, not one at each node",
    ],
    [
      { listen: HERE, healthListen: HERE },
      "listen and healthListen are both 127.0.0.1:7411: each needs its own address",
    ],
    [
      { electionTimeoutMs: 100, heartbeatIntervalMs: 51 },
      "heartbeatIntervalMs 51 is more than half of electionTimeoutMs 100: " +
        "followers would not wait that long",
    ],
  ])("%o does not fit together", (given, message) => {
    expect(refusal(() => demandRelations(given)).message).toBe(message);
  });

  test("a switch that is off needs nothing, and the system gives each free port once", () => {
    const free = { host: "127.0.0.1", port: 0 };
    const given = { redisFair: false, listen: free, peerListen: free };
    expect(() => demandRelations(given)).not.toThrow();
    expect(listeningAddresses(given).map(([name]) => name)).toEqual(["listen", "peerListen"]);
  });

  test("an error says the options as its reader calls them", () => {
    const error = refusal(() => demandRelations({ auditKeepMs: 60_000 }));
    const say = (name: string, value?: unknown): string =>
      `<${name}${value === undefined ? "" : ` of ${value}`}>`;
    expect(error.messageIn(say)).toBe(
      "<auditKeepMs of 60000> without <audit>: there is nothing to keep",
    );
  });
});
