/** Options from a file of JSON, for every command that reads one. */
import { isDeepStrictEqual } from "node:util";
import { parseConfigFile } from "../../../../bin/config/config-file.js";
import { Configuration } from "../../../../bin/config/configuration.js";
import { EXIT } from "../../../../bin/exit/exit-codes.js";
import { Failure } from "../../../../bin/exit/failure.js";
import { formatValue } from "../../../../bin/options/option-kind.js";
import { OPTION_TABLE } from "../../../../bin/options/option-table.js";
import { mutateJson } from "../../engine/json-mutators.js";
import { wordMutator } from "../../engine/mutators.js";
import { demand, demandEqual, type FuzzTarget } from "../../engine/target.js";

const PATH = "holdfast.json";
const NAMES = OPTION_TABLE.flatMap(({ options }) => Object.keys(options));

export const configFiles: FuzzTarget = {
  name: "config-files",
  about: "a configuration file of the command line, and the options of every command in it",
  corpus: () => [samples(), {}, [], 1].map((value) => Buffer.from(JSON.stringify(value, null, 1))),
  mutators: [
    mutateJson,
    wordMutator([...NAMES, '{"', '":', '\\u0000"', "\ufeff", "[".repeat(250)]),
  ],
  bytesMax: 8_192,
  // A key that is not known is compared with every name, letter by letter.
  steps: { fixed: 50_000, perByte: 3_000 },
  run(input) {
    const text = Buffer.from(input).toString();
    let isRefused = false;
    const attempt = <T>(action: () => T): T | undefined => {
      try {
        return action();
      } catch (error) {
        if (!(error instanceof Failure)) throw error;
        demandEqual(error.exitCode, EXIT.usage, "the exit code of a wrong configuration");
        demand(error.message.includes(PATH), () => `no place in: ${error.message}`);
        isRefused = true;
        return undefined;
      }
    };
    const file = attempt(() => parseConfigFile(PATH, text));
    if (file === undefined) return "refused";
    demand(isDeepStrictEqual(namesIn(text), [...file.values.keys()].sort()), () => "other keys");
    const configuration = new Configuration(() => undefined, {}, file);
    for (const { options } of OPTION_TABLE) {
      for (const [name, definition] of Object.entries(options)) {
        const [setting] = attempt(() => configuration.settings({ [name]: definition })) ?? [];
        if (setting?.source !== "file") continue;
        const { kind } = definition;
        const again = kind.parse(formatValue(kind, setting.value));
        demand(isDeepStrictEqual(again, setting.value), () => `${name} is not read as it is shown`);
      }
    }
    return isRefused ? "refused" : "taken";
  },
};

function namesIn(text: string): string[] {
  return Object.keys(JSON.parse(text.replace(/^\uFEFF/, "")) as object).sort();
}

/** The default of each option that may stand in a file, or something of the right type. */
function samples(): Record<string, unknown> {
  const values: Record<string, unknown> = {};
  for (const { options } of OPTION_TABLE) {
    for (const [name, { kind, reach, defaultValue }] of Object.entries(options)) {
      if (reach !== "everywhere") continue;
      values[name] =
        defaultValue === undefined || defaultValue === null
          ? kind.words?.[0]
          : kind.toJson(defaultValue);
    }
  }
  const rest = { id: 1, initialCluster: { "1": "127.0.0.1:7511" }, dataDir: "/tmp/x", name: "n" };
  const known = Object.entries({ ...values, ...rest });
  return Object.fromEntries(known.filter(([name]) => NAMES.includes(name)));
}
