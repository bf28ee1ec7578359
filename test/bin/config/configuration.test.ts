import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Command } from "commander";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parseConfigFile } from "../../../bin/config/config-file.js";
import { Configuration } from "../../../bin/config/configuration.js";
import type { Environment } from "../../../bin/config/environment.js";
import { addOptions } from "../../../bin/config/flags.js";
import { JsonProblem, keysIn } from "../../../bin/config/json-places.js";
import { EXIT } from "../../../bin/exit/exit-codes.js";
import { Failure } from "../../../bin/exit/failure.js";
import { option } from "../../../bin/options/option-definition.js";
import { type OptionKind, ValueProblem } from "../../../bin/options/option-kind.js";
import { textKind } from "../../../bin/options/option-kinds.js";
import {
  CLUSTER_OPTIONS,
  CONNECTION_OPTIONS,
  FILE_OPTIONS,
  RUN_OPTIONS,
  SERVER_OPTIONS,
} from "../../../bin/options/option-table.js";

let directory = "";
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), "holdfast-config-"));
});
afterAll(() => rmSync(directory, { recursive: true }));

let files = 0;
function fileOf(content: unknown): string {
  files += 1;
  const path = join(directory, `${files}.json`);
  writeFileSync(path, typeof content === "string" ? content : JSON.stringify(content));
  return path;
}

/** As a command with these options would be called. */
function configured(
  options: Parameters<typeof addOptions>[1],
  args: readonly string[],
  environment: Environment = {},
): Configuration {
  const command = new Command().exitOverride().configureOutput({ writeErr: () => undefined });
  addOptions(command, FILE_OPTIONS);
  addOptions(command, options);
  command.parse([...args], { from: "user" });
  const typed = (name: string): unknown =>
    command.getOptionValueSource(name) === "cli" ? command.getOptionValue(name) : undefined;
  return Configuration.from(typed, environment);
}

function refusal(action: () => unknown): string {
  try {
    action();
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    expect(error.exitCode).toBe(EXIT.usage);
    return error.message;
  }
  throw new Error("it was not refused");
}

describe("a value", () => {
  test("comes from the flag, else the environment, else the file, else the default", () => {
    const path = fileOf({ ttl: "40s" });
    const environment = { HOLDFAST_TTL: "30s" };
    const cases: readonly [readonly string[], Environment, number, string][] = [
      [["--ttl", "20s", "--config", path], environment, 20_000, "flag"],
      [["--config", path], environment, 30_000, "environment"],
      [["--config", path], { HOLDFAST_TTL: "" }, 40_000, "file"],
      [[], { HOLDFAST_CONFIG: path }, 40_000, "file"],
      [[], {}, 15_000, "default"],
    ];
    for (const [args, variables, value, source] of cases) {
      const [setting] = configured(RUN_OPTIONS, args, variables).settings({ ttl: RUN_OPTIONS.ttl });
      expect(setting).toMatchObject({ value, source });
    }
  });

  test("says from which flag, variable or file it came", () => {
    const path = fileOf({ killGrace: "1s" });
    const configuration = configured(RUN_OPTIONS, ["-q", "--config", path], { HOLDFAST_TTL: "9s" });
    const origins = configuration
      .settings(RUN_OPTIONS)
      .flatMap(({ name, origin }) => (origin === undefined ? [] : [[name, origin]]));
    expect(origins).toEqual([
      ["ttl", "HOLDFAST_TTL"],
      ["killGrace", path],
      ["quiet", "--quiet"],
    ]);
  });

  test("is the same in all three spellings", () => {
    const address = { host: "h", port: 1 };
    const cases: readonly [keyof typeof SERVER_OPTIONS, string, string, unknown, unknown][] = [
      ["id", "7", "HOLDFAST_ID", 7, 7],
      ["listen", "[::1]:80", "HOLDFAST_LISTEN", "[::1]:80", { host: "::1", port: 80 }],
      ["join", "a:1,wss://b:2", "HOLDFAST_JOIN", ["a:1", "wss://b:2"], ["ws://a:1", "wss://b:2"]],
      ["initialCluster", "2=h:1", "HOLDFAST_INITIAL_CLUSTER", { 2: "h:1" }, [{ id: 2, address }]],
      ["snapshotLogSize", "2MiB", "HOLDFAST_SNAPSHOT_LOG_SIZE", "2MiB", 2 << 20],
      ["auditKeep", "1.5h", "HOLDFAST_AUDIT_KEEP", "1.5h", 5_400_000],
      ["auditMaxSize", "1MiB", "HOLDFAST_AUDIT_MAX_SIZE", "1MiB", 1 << 20],
      ["logFormat", "json", "HOLDFAST_LOG_FORMAT", "json", "json"],
    ];
    for (const [name, text, variable, json, value] of cases) {
      const flag = `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
      const options = { [name]: SERVER_OPTIONS[name] };
      const valueFrom = (args: readonly string[], environment: Environment = {}) =>
        configured(SERVER_OPTIONS, args, environment).settings(options)[0]?.value;
      expect(valueFrom([flag, text])).toEqual(value);
      expect(valueFrom([], { [variable]: text })).toEqual(value);
      expect(valueFrom(["--config", fileOf({ [name]: json })])).toEqual(value);
    }
  });

  test("of a switch can be taken back by a flag, and of -w by -n and by forever", () => {
    const path = fileOf({ insecure: true, wait: "5s" });
    const server = { insecure: SERVER_OPTIONS.insecure };
    expect(configured(server, ["--config", path]).settle(server)).toEqual({ insecure: true });
    expect(configured(server, ["--no-insecure", "--config", path]).settle(server)).toEqual({
      insecure: false,
    });
    expect(configured(server, [], { HOLDFAST_INSECURE: "No" }).settle(server).insecure).toBe(false);
    const run = { wait: RUN_OPTIONS.wait };
    const waitOf = (...args: string[]) =>
      configured(run, [...args, "--config", path]).settle(run).wait;
    expect([waitOf(), waitOf("-n"), waitOf("-w", "1s"), waitOf("-w", "forever")]).toEqual([
      5_000,
      false,
      1_000,
      Number.POSITIVE_INFINITY,
    ]);
  });

  test("that is not right is refused with the place where it stands", () => {
    const path = fileOf({ ttl: 15, endpoints: ["ftp://a"], nodes: 8 });
    const settle = (options: Parameters<typeof addOptions>[1], environment: Environment = {}) =>
      refusal(() => configured(options, ["--config", path], environment).settle(options));
    expect(settle({ ttl: RUN_OPTIONS.ttl })).toBe(`${path}:1: ttl: a string is required`);
    expect(settle({ nodes: CLUSTER_OPTIONS.nodes })).toBe(
      `${path}:1: nodes=8: a whole number from 1 to 7 is required`,
    );
    expect(settle({ endpoints: CONNECTION_OPTIONS.endpoints })).toContain('"ftp://a" must begin');
    const { ttl } = RUN_OPTIONS;
    expect(settle({ ttl }, { HOLDFAST_TTL: "15" })).toMatch(/^HOLDFAST_TTL=15: a duration needs a/);
    expect(settle({ ttl }, { HOLDFAST_TTL: "1ms" })).toBe(
      "HOLDFAST_TTL=1ms: a duration from 1s to 10m is required",
    );
  });

  test("that is required is missed by name, whatever could have set it", () => {
    expect(refusal(() => configured(SERVER_OPTIONS, []).settle(SERVER_OPTIONS))).toBe(
      "required option '--id <n>' not specified (nor HOLDFAST_ID, nor id in a file)",
    );
  });

  test("that describes one call is taken from the flag alone", () => {
    const options = { permits: RUN_OPTIONS.permits };
    const environment = { HOLDFAST_PERMITS: "3" };
    expect(configured(options, [], environment).settle(options)).toEqual({ permits: undefined });
    expect(configured(options, ["--permits", "2"], environment).settle(options).permits).toBe(2);
    expect(refusal(() => configured(options, ["--config", fileOf({ permits: 3 })]))).toContain(
      "permits cannot be set in a file",
    );
  });
});

test("a secret has no flag, comes from outside the command line, and no refusal repeats it", () => {
  const kind: OptionKind<string> = {
    ...textKind("text"),
    parse: (text) => {
      if (text.length >= 8) return text;
      throw new ValueProblem(`${text} is too short`);
    },
  };
  const options = { secret: option(kind, "what only two know", { reach: "secret" }) };
  const command = new Command().exitOverride().configureOutput({ writeErr: () => undefined });
  addOptions(command, options);
  expect(() => command.parse(["--secret", "on the line"], { from: "user" })).toThrow(
    /unknown option/,
  );
  const typed = (name: string) => (name === "secret" ? "on the line" : undefined);
  const settle = (secret: string) =>
    new Configuration(typed, { HOLDFAST_SECRET: secret }, undefined).settle(options);
  expect(settle("from outside")).toEqual({ secret: "from outside" });
  expect(refusal(() => settle("hush"))).toBe("HOLDFAST_SECRET: invalid value (not shown)");
});

describe("a name that nobody knows", () => {
  test("is an error in a file, with what was meant", () => {
    const cases = [
      ["endpoint", 'unknown key "endpoint"; did you mean "endpoints"?'],
      ["kill-grace", 'unknown key "kill-grace"; did you mean "killGrace"?'],
      ["--peer-listen", 'unknown key "--peer-listen"; did you mean "peerListen"?'],
      ["colour", 'unknown key "colour"'],
    ] as const;
    for (const [name, problem] of cases) {
      expect(refusal(() => parseConfigFile("f", JSON.stringify({ [name]: 1 })))).toBe(
        `f:1: ${problem}`,
      );
    }
  });

  test("is an error in the environment when it looks like a slip, and no business of ours otherwise", () => {
    const from = (environment: Environment) => () =>
      Configuration.from(() => undefined, environment);
    expect(refusal(from({ HOLDFAST_ENDPOINT: "x" }))).toContain("did you mean HOLDFAST_ENDPOINTS?");
    expect(refusal(from({ HOLDFAST_KIL_GRACE: "x" }))).toContain(
      "did you mean HOLDFAST_KILL_GRACE?",
    );
    const others = {
      HOLDFAST_ENDPOINT: "",
      HOLDFAST_IMAGE_TAG: "v1",
      HOLDFAST_TOKEN: "1",
      HOLDFAST_SERVICE_HOST: "10.0.0.1",
      HOLDFAST_SERVICE_PORT: "7411",
      HOLDFAST_PORT: "tcp://10.0.0.1:7411",
      HOLDFAST_PORT_7411_TCP: "tcp://10.0.0.1:7411",
      HOLDFAST_PORT_7411_TCP_ADDR: "10.0.0.1",
    };
    const { port } = CLUSTER_OPTIONS;
    // What Kubernetes sets for a service called holdfast is not a port.
    expect(Configuration.from(() => undefined, others).settle({ port })).toEqual({ port: 7_411 });
  });
});

test("a file that cannot be read or is not an object gives a message of one line", () => {
  const from = (config: string) => () => Configuration.from(() => config, {});
  expect(refusal(from(join(directory, "none")))).toContain("none cannot be read: there is no such");
  expect(refusal(from(directory))).toContain("cannot be read: it is a directory");
  expect(refusal(from(fileOf("[]")))).toContain("it must be one object");
});

test("what is wrong in a file is reported with its line, and without what else stands there", () => {
  const told = (...lines: string[]) => refusal(() => parseConfigFile("f", lines.join("\n")));
  expect(told("{", '  "ttl": "15s",', '  "colour": 1', "}")).toBe('f:3: unknown key "colour"');
  expect(told("{", '  "permits": 3', "}")).toContain("f:2: permits cannot be set in a file");
  expect(told("{", '  "ttl": "15s",', '  "wait": "5s",', '  "ttl": "20s"', "}")).toBe(
    "f:4: ttl is already in line 2",
  );
  expect(told("{", '  "ttl": "15s"', '  "value": "geheim"', "}")).toBe(
    'f:3:3: invalid JSON: "," or "}" was expected',
  );
  expect(told("{", '  "ttl": "15s",', "}")).toBe(
    "f:3:1: invalid JSON: a key in double quotes was expected",
  );
  expect(told("")).toBe("f:1:1: invalid JSON: a value was expected, but the text ends");
  expect(told('{"ttl": "15s')).toContain("f:1:9: invalid JSON: a string without its closing quote");
  expect(told("geheim=1")).toBe("f:1:1: invalid JSON: a value was expected");
  expect(told('{"ttl":'.repeat(300))).toContain("more than 200 levels");
});

test("a text is refused with a place exactly if it is not JSON", () => {
  const isJson = (text: string): boolean => {
    try {
      JSON.parse(text);
      return true;
    } catch {
      return false;
    }
  };
  const isScanned = (text: string): boolean => {
    try {
      keysIn(text);
      return true;
    } catch (error) {
      if (!(error instanceof JsonProblem)) throw error;
      return false;
    }
  };
  const cut = fc
    .tuple(fc.json({ maxDepth: 3 }), fc.nat(), fc.nat(3), fc.string({ maxLength: 2 }))
    .map(([text, at, count, put]) => {
      const from = at % (text.length + 1);
      return text.slice(0, from) + put + text.slice(from + count);
    });
  fc.assert(
    fc.property(fc.oneof(fc.json(), cut), (text) => {
      expect(isScanned(text)).toBe(isJson(text));
    }),
    { numRuns: 2_000 },
  );
  const object = { a: 1, 'b"': [{ c: 2 }], "ü\n": { a: null } };
  for (const indent of [0, 2]) {
    const keys = keysIn(JSON.stringify(object, null, indent)).map(({ name }) => name);
    expect(keys).toEqual(Object.keys(object));
  }
});
