/** How limits of clients are written on a command line and in a file. */
import { expect, test } from "vitest";
import { nodeOptions } from "../../../bin/commands/running/server.js";
import { clientLimitsKind } from "../../../bin/options/client-limits-kind.js";
import { formatValue, textOfJson, ValueProblem } from "../../../bin/options/option-kind.js";

const { parse, merge } = clientLimitsKind;

test("limits are named, and none and 0 mean that there is none", () => {
  expect(parse("connections=500, commands=none,reads=0,watches=7,unfinished=16MiB")).toEqual({
    connectionsMax: 500,
    commandsPerSecondMax: 0,
    readCostPerSecondMax: 0,
    watchesMax: 7,
    unfinishedBytesMax: 16 << 20,
  });
  expect(parse("unfinished=none")).toEqual({ unfinishedBytesMax: 0 });
  expect(parse("unfinished=0")).toEqual({ unfinishedBytesMax: 0 });
});

test("a repeated flag adds to the one before, and replaces a limit of the same name", () => {
  const both = merge?.(parse("commands=1,reads=2"), parse("reads=3,watches=4"));
  expect(both).toEqual({ commandsPerSecondMax: 1, readCostPerSecondMax: 3, watchesMax: 4 });
});

test("a file has an object, which is shown as it can be written again", () => {
  const text = textOfJson(clientLimitsKind, { commands: "2000", unfinished: "16MiB" });
  expect(text).toBe("commands=2000,unfinished=16MiB");
  for (const written of ["commands=2000,unfinished=16MiB", "connections=5,watches=none"]) {
    expect(formatValue(clientLimitsKind, parse(written))).toBe(written);
  }
});

test.each([
  ["", "name=value is required, with one of the names connections, commands, reads, watches"],
  ["500", "name=value is required"],
  ["sessions=5", "name=value is required"],
  ["__proto__=5", "name=value is required"],
  ["commands=", "commands is a whole number from 0 to 1000000000, or none"],
  ["commands=-1", "commands is a whole number"],
  ["commands=1.5", "commands is a whole number"],
  ["commands=1000000001", "commands is a whole number"],
  ["unfinished=16", "unfinished is a size with a unit, such as 16MiB, or none"],
])("what is not a limit is refused with what would be one: %s", (text, problem) => {
  expect(() => parse(text)).toThrow(ValueProblem);
  expect(() => parse(text)).toThrow(problem);
});

test("limits reach the options of the node under its own names", () => {
  const address = { host: "127.0.0.1", port: 7_511 };
  const flags = {
    ...{ id: 4, data: "n4", listen: { host: "127.0.0.1", port: 7_411 } },
    ...{
      logFormat: "text" as const,
      logLevel: "info" as const,
      initialCluster: [{ id: 4, address }],
    },
  };
  const options = nodeOptions({
    ...flags,
    limits: "observe",
    identityLimit: parse("commands=10"),
    addressLimit: parse("watches=none"),
  });
  expect(options).toMatchObject({
    limits: "observe",
    identityLimits: { commandsPerSecondMax: 10 },
    addressLimits: { watchesMax: 0 },
  });
  expect(nodeOptions(flags)).not.toHaveProperty("identityLimits");
});
