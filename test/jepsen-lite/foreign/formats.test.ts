import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { checkHistory, type HistoryEvent } from "../../../jepsen-lite/checker/index.js";
import {
  CHECK_EXIT,
  modelNamed,
  readHistory,
  runCheck,
} from "../../../jepsen-lite/foreign/index.js";

const JSON_LINES = [
  '{"process":0,"type":"invoke","f":"write","value":1}',
  '{"process":0,"type":"ok","f":"write","value":1}',
  '{"process":1,"type":"invoke","f":"read","value":null}',
  '{"process":1,"type":"ok","f":"read","value":1}',
];

/** The fields that every notation carries. */
function essence(events: readonly HistoryEvent[]): unknown[] {
  return events.map(({ process, type, f, key, value }) => ({ process, type, f, key, value }));
}

describe("one history in every notation", () => {
  const expected = essence(readHistory(JSON_LINES.join("\n")).events);

  it("JSON lines, with or without a last newline, blank lines, CRLF and a byte order mark", () => {
    const windows = `\uFEFF${JSON_LINES.join("\r\n")}\r\n\r\n`;
    expect(essence(readHistory(windows).events)).toEqual(expected);
  });

  it("a JSON array, on one line or laid out", () => {
    expect(essence(readHistory(`[${JSON_LINES.join(",")}]`).events)).toEqual(expected);
    const laidOut = readHistory(`[\n  ${JSON_LINES.join(",\n  ")}\n]\n`);
    expect(laidOut.notation).toBe("json-array");
    expect(laidOut.events.map(({ line }) => line)).toEqual([2, 3, 4, 5]);
  });

  it("EDN maps in a vector, in a list, or one after the other, with comments and tags", () => {
    const maps = [
      "{:process 0, :type :invoke, :f :write, :value 1}",
      "{:process 0 :type :ok :f :write :value 1, :time 12, :error [:some thing]}",
      "#jepsen.history.Op{:process 1, :type :invoke, :f :read, :value nil}",
      "{:process 1, :type :ok, :f :read, :value 1 #_ {:left :out} ; done\n }",
    ];
    for (const text of [
      `; a comment\n[${maps.join("\n ")}]`,
      `(${maps.join("\n")})`,
      maps.join("\n"),
    ]) {
      const history = readHistory(text);
      expect(history.notation).toBe("edn");
      expect(essence(history.events)).toEqual(expected);
    }
  });

  it("EDN strings with escapes, keys, pairs, and a nemesis", () => {
    const { events } = readHistory(
      '{:process 3, :type :invoke, :f :put, :key "a\\"b", :value "x\\n{y}"}\n' +
        "{:type :info, :f :start, :process :nemesis, :time 5326396898, :index 169}\n" +
        '{:process 3, :type :info, :f :put, :key "a\\"b", :value :timed-out}',
    );
    expect(essence(events)[0]).toMatchObject({ key: 'a"b', value: "x\n{y}" });
    expect(events[1]).toMatchObject({ process: "nemesis", index: 169, timeNs: 5326396898 });
    expect(checkHistory(events, { model: modelNamed("kv") }).valid).toBe(true);
    const [pair] = readHistory("{:process 1 :type :invoke :f :cas :value [1 [2 #{3}]]}").events;
    expect(pair?.value).toEqual([1, [2, [3]]]);
  });

  it("keywords that kept their colon, and times that are text", () => {
    const lines = [
      '{"process":":nemesis","type":":info","f":":start","value":["n1","n2"]}',
      '{"process":0,"type":":invoke","f":":write","value":1,"time":"1700000000000000001"}',
      '{"process":0,"type":":ok","f":":write","value":1,"time":"1700000000000000009"}',
      "",
      '{"process":1,"type":"invoke","f":"read","value":null,"index":null,"time":null}',
      '{"process":1,"type":"ok","f":"read","value":1,"error":null}',
    ];
    const { events } = readHistory(lines.join("\n"));
    expect(essence(events.slice(1))).toEqual(expected);
    expect(checkHistory(events, { model: modelNamed("register") }).valid).toBe(true);
  });

  it("the console log of Jepsen, among other lines, and history.txt", () => {
    const lines = [
      "0\t:invoke\t:write\t1",
      "0\t:ok\t:write\t1",
      "1\t:invoke\t:read\tnil",
      "1\t:ok\t:read\t1",
    ];
    const log = lines.map((line) => `INFO  jepsen.util - ${line}`);
    const { notation, events } = readHistory(
      ["INFO  jepsen.core - Running", ...log, ""].join("\n"),
    );
    expect(notation).toBe("jepsen-log");
    expect(essence(events)).toEqual(expected);
    expect(essence(readHistory(lines.join("\n")).events)).toEqual(expected);
  });
});

const INDEPENDENT = ["--model", "register", "--independent"];

describe("the command", () => {
  let directory = "";
  beforeAll(() => {
    directory = mkdtempSync(join(tmpdir(), "checker-"));
  });
  afterAll(() => rmSync(directory, { recursive: true, force: true }));

  function run(
    content: string | undefined,
    ...argv: string[]
  ): { code: number; out: string; err: string } {
    const file = join(directory, "history");
    if (content !== undefined) writeFileSync(file, content);
    const said = { out: "", err: "" };
    const code = runCheck([...argv, ...(content === undefined ? [] : [file])], {
      out: (text) => {
        said.out += `${text}\n`;
      },
      err: (text) => {
        said.err += `${text}\n`;
      },
      isTerminal: false,
    });
    return { code, ...said };
  }

  it("exits by the verdict and prints it as JSON or as text", () => {
    const valid = run(JSON_LINES.join("\n"), "--model", "register", "--json");
    expect(valid.code).toBe(CHECK_EXIT.valid);
    expect(JSON.parse(valid.out)).toMatchObject({ valid: true, model: "register" });
    const stale = JSON_LINES.join("\n").replace(/1}$/, "7}");
    const invalid = run(stale, "--model=register");
    expect(invalid.code).toBe(CHECK_EXIT.invalid);
    expect(invalid.out).toMatch(/^INVALID/);
    expect(invalid.out).toContain("line 4: process 1 gets: read 7");
    const first = run(
      '{"process":0,"type":"invoke","f":"read"}\n{"process":0,"type":"ok","f":"read","value":5}',
      "--model",
      "register",
      "--init",
      "5",
    );
    expect(first.code).toBe(CHECK_EXIT.valid);
  });

  it("--independent takes the key out of the value, as jepsen.independent puts it in", () => {
    const history = `[{:process 0, :type :invoke, :f :write, :value [7 1]}
      {:process 1, :type :invoke, :f :write, :value ["x" [1 2]]}
      {:process 0, :type :ok, :f :write, :value [7 1]}
      {:process :nemesis, :type :info, :f :start, :value nil}
      {:process 1, :type :info, :f :write, :value :timed-out}
      {:process 0, :type :invoke, :f :read, :value [7 nil]}
      {:process 0, :type :ok, :f :read, :value [7 1]}
      {:process 0, :type :invoke, :f :read, :value ["x" nil]}
      {:process 0, :type :ok, :f :read, :value ["x" [1 2]]}]`;
    const { code, out } = run(history, "--model", "register", "--independent", "--json");
    expect(code).toBe(CHECK_EXIT.valid);
    expect(JSON.parse(out)).toMatchObject({ counts: { parts: 2, operations: 4 } });
    const stale = run(
      history.replace(":read, :value [7 1]", ":read, :value [7 2]"),
      ...INDEPENDENT,
    );
    expect(stale.code).toBe(CHECK_EXIT.invalid);
    const plain = run(JSON_LINES.join("\n"), ...INDEPENDENT);
    expect(plain.code).toBe(CHECK_EXIT.usage);
    expect(plain.err).toMatch(/line 1: "value" is not \[key, value\]/);
  });

  it("--init stands for what is there before the first write, which may still read as null", () => {
    const read = (value: string) => [
      '{"process":0,"type":"invoke","f":"read"}',
      `{"process":0,"type":"ok","f":"read","value":${value}}`,
    ];
    const check = (...lines: string[]) =>
      run(lines.join("\n"), "--model", "cas-register", "--init", "0").code;
    expect(check(...read("null"), ...read("0"), ...read("null"))).toBe(CHECK_EXIT.valid);
    expect(check(...read("1"))).toBe(CHECK_EXIT.invalid);
    const write = JSON_LINES.slice(0, 2);
    expect(check(...read("null"), ...write, ...read("1"))).toBe(CHECK_EXIT.valid);
    expect(check(...write, ...read("null"))).toBe(CHECK_EXIT.invalid);
    const cas = write.map((line) => line.replace("write", "cas").replace(/1}$/, "[0,1]}"));
    expect(check(...cas, ...read("1"))).toBe(CHECK_EXIT.valid);
    expect(check(...cas, ...cas)).toBe(CHECK_EXIT.invalid);
  });

  it("exits with 3 when the budget runs out", () => {
    const lines = ['{"process":"w","type":"invoke","f":"write","value":0}'];
    for (let pair = 0; pair < 25; pair += 1) {
      const value = `[${pair % 5},${Math.floor(pair / 5)}]`;
      lines.push(`{"process":${pair},"type":"invoke","f":"cas","value":${value}}`);
    }
    for (let process = 0; process < 25; process += 1)
      lines.push(`{"process":${process},"type":"ok","f":"cas"}`);
    lines.push('{"process":0,"type":"invoke","f":"read"}', '{"process":0,"type":"ok","f":"read"}');
    const text = lines.join("\n");
    const { code, out } = run(text, "--model", "cas-register", "--json", "--steps", "20000");
    expect(code).toBe(CHECK_EXIT.unknown);
    expect(JSON.parse(out)).toMatchObject({ valid: "unknown" });
  });

  const invoke = '{"process":0,"type":"invoke","f":"write","value":1}';
  const refused: [string, string, RegExp][] = [
    ["a truncated file", `${invoke}\n{"process":0,"type":"o`, /line 2: the file is truncated/],
    ["a truncated array", `[${invoke},\n{"process":0`, /line 2: the file is truncated/],
    ["truncated EDN", "[{:process 0 :type :invoke\n :f :write", /line 1: the file is truncated/],
    ["what is not JSON", `${invoke}\n{type: ok}`, /line 2: not JSON/],
    [
      "an array with a bad element",
      `[\n${invoke},\n{type: ok}\n]`,
      /line 3: not JSON: "\{type: ok/,
    ],
    ["an array without a comma", `[\n${invoke}\n${invoke}]`, /line 3: not JSON: expected a comma/],
    ["an array with more behind it", `[${invoke}]\n]`, /line 2: not JSON: text after the array/],
    ["what is not a history at all", "hello\nworld", /line 1: neither JSON nor EDN/],
    ["an empty file", "", /the file is empty/],
    [
      "a line that is not an object",
      `${invoke}\n[1]`,
      /line 2: expected an object, found an array/,
    ],
    [
      "an ok without an invoke",
      '{"process":4,"type":"ok","f":"read"}',
      /line 1: "ok" without an invoke: process 4/,
    ],
    [
      "an answer to something else",
      `${invoke}\n{"process":0,"type":"ok","f":"read"}`,
      /line 2: process 0 completes read/,
    ],
    [
      "two at once",
      `${invoke}\n${invoke}`,
      /line 2: process 0 invokes write while its write of line 1/,
    ],
    [
      "an operation the model does not have",
      '{"process":0,"type":"invoke","f":"reed"}',
      /line 1: the model has no operation "reed"/,
    ],
    ["a type there is not", '{"process":0,"type":"done","f":"read"}', /line 1: "type" is "done"/],
    ["no process", '{"type":"invoke","f":"read"}', /line 1: "process" is missing/],
  ];
  for (const [what, content, message] of refused) {
    it(`refuses ${what} in one line`, () => {
      const { code, out, err } = run(content, "--model", "register");
      expect(code).toBe(CHECK_EXIT.usage);
      expect(out).toBe("");
      expect(err.trimEnd().split("\n")).toHaveLength(1);
      expect(err).toMatch(message);
    });
  }

  it("refuses an unknown model, a wrong --init, a missing file and a directory in one line", () => {
    const cases: [string[], RegExp][] = [
      [["--model", "registr", "x"], /registr.*lock, register, cas-register, mutex, kv/],
      [["--model", "register", "--init", "{", "x"], /expected JSON/],
      [["--model", "register", join(directory, "none")], /no such file/],
      [["--model", "register", directory], /directory/],
      [["--model", "register"], /missing required argument/],
      [["x"], /required option '--model/],
    ];
    for (const [argv, message] of cases) {
      const { code, err } = run(undefined, ...argv);
      expect(code).toBe(CHECK_EXIT.usage);
      expect(err.trimEnd().split("\n")).toHaveLength(1);
      expect(err).toMatch(message);
    }
  });

  it("--help is not an error and shows examples", () => {
    const { code, out } = run(undefined, "--help");
    expect(code).toBe(0);
    expect(out).toContain("Examples:");
  });
});
